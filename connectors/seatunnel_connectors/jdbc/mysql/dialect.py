"""MySQL and MariaDB behind the dialect port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from seatunnel_connectors.jdbc.dialect import Dialect, SinkRequest, Snapshot
from seatunnel_connectors.jdbc.mysql import read as reading
from seatunnel_connectors.jdbc.mysql.describe import Describer
from seatunnel_connectors.jdbc.mysql.flavor import FLAVOR
from seatunnel_connectors.jdbc.mysql.session import explained, sessions
from seatunnel_connectors.jdbc.mysql.write import MysqlSink
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.request import TableRequest
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, Position, Sink, SourceTable, Split


class MysqlDialect(Dialect):
    name: ClassVar[str] = "mysql"

    def describe(
        self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions
    ) -> list[SourceTable]:
        with explained(f"looking up tables of {address.display}"), sessions(address) as session:
            return Describer(session, address, options).describe(requests)

    def snapshot(self, address: Address, *, shared: bool) -> Snapshot:
        return reading.MysqlSnapshot(address)

    def read(self, address: Address, table: SourceTable, split: Split, start: Position | None) -> Iterator[Batch]:
        return reading.read(address, table, split, start)

    def sink(self, request: SinkRequest) -> Sink:
        return MysqlSink(request, FLAVOR)


DIALECT = MysqlDialect()
