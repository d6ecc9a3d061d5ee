"""PostgreSQL behind the dialect port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from seatunnel_connectors.jdbc.dialect import Dialect, SinkRequest, Snapshot
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.postgres import read as reading
from seatunnel_connectors.jdbc.postgres.describe import Describer
from seatunnel_connectors.jdbc.postgres.passage import PostgresNativeReader, native_form
from seatunnel_connectors.jdbc.postgres.session import explained, statements
from seatunnel_connectors.jdbc.postgres.sink import PostgresSink
from seatunnel_connectors.jdbc.request import TableRequest
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, NativeForm, NativeReader, Position, Sink, SourceTable, Split


class PostgresDialect(Dialect):
    name: ClassVar[str] = "postgres"

    def describe(
        self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions
    ) -> list[SourceTable]:
        with explained(f"looking up tables of {address.display}"), statements(address) as db:
            return Describer(db, options).describe(requests)

    def snapshot(self, address: Address, *, shared: bool) -> Snapshot:
        return reading.PostgresSnapshot(address)

    def read(self, address: Address, table: SourceTable, split: Split, start: Position | None) -> Iterator[Batch]:
        return reading.read(address, table, split, start)

    def native_form(self, table: SourceTable) -> NativeForm | None:
        return native_form(table)

    def native_reader(self, address: Address, table: SourceTable) -> NativeReader:
        return PostgresNativeReader(address, table)

    def physical_splits(self, table: SourceTable, parts: int, generation: str) -> list[Split] | None:
        return reading.places(table, parts, generation)

    def sink(self, request: SinkRequest) -> Sink:
        return PostgresSink(request)


DIALECT = PostgresDialect()
