"""Implements the dialect port for MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from seatunnel_connectors.jdbc.dialect import SinkRequest, Snapshot, SourceDialect, TableSink
from seatunnel_connectors.jdbc.mysql.connection import locks
from seatunnel_connectors.jdbc.mysql.connection.session import explained, literal, quote, sessions
from seatunnel_connectors.jdbc.mysql.read import reader as reading
from seatunnel_connectors.jdbc.mysql.read.describe import MysqlDescriber
from seatunnel_connectors.jdbc.mysql.target_dialect import TARGET
from seatunnel_connectors.jdbc.mysql.write.sink import MysqlSink
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, JobRegistry, Position, Rejected, SourceTable, Split


class MysqlSourceDialect(SourceDialect):
    name: ClassVar[str] = "mysql"

    def answer(self, address: Address, *, writing: bool) -> Mapping[str, str]:
        with explained(f"connecting to {address.display}"), sessions(address) as session:
            [(version, user, database)] = session.ask("SELECT version(), current_user(), coalesce(database(), '')")
            [(_, cipher)] = session.ask("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
            [(binlog, row_format)] = session.ask("SELECT @@log_bin, @@binlog_format")
        kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
        log = f"on, {row_format}" if binlog else "off"
        encrypted = "yes" if cipher else "no"
        return {
            "server": f"{kind} {version}",
            "user": user,
            "database": database,
            "encrypted": encrypted,
            "binlog": log,
        }

    def describe(self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions) -> list[Found]:
        with explained(f"looking up tables of {address.display}"), sessions(address) as session:
            return MysqlDescriber(session, address, options).describe(requests)

    def snapshot(self, address: Address, tables: Sequence[SourceTable], registry: JobRegistry) -> Snapshot:
        return reading.MysqlSnapshot(address)

    def read(
        self, address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
    ) -> Iterator[Batch | Rejected]:
        return reading.read(address, table, split, start, tolerant=tolerant)

    def blocked_by(self, address: Address) -> Sequence[str]:
        return locks.blocked_by(address)

    def at_work(self, address: Address, seconds: float) -> Sequence[str]:
        return locks.at_work(address, seconds)

    def is_one_of(self, column: str, values: Sequence[str]) -> str:
        return f"{quote(column)} IN ({', '.join(map(literal, values))})"

    def sink(self, request: SinkRequest) -> TableSink:
        return MysqlSink(request, TARGET)


DIALECT = MysqlSourceDialect()
