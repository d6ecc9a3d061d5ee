"""Implements the dialect port for SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from seatunnel_connectors.jdbc.dialect import SinkRequest, Snapshot, SourceDialect, TableSink
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.sqlite import reader as reading
from seatunnel_connectors.jdbc.sqlite.describe import SqliteDescriber
from seatunnel_connectors.jdbc.sqlite.session import explained, literal, quote, sessions
from seatunnel_connectors.jdbc.sqlite.target_dialect import TARGET
from seatunnel_connectors.jdbc.statements.sink import StatementSink
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, FatalError, JobRegistry, Position, Rejected, SourceTable, Split


class SqliteSourceDialect(SourceDialect):
    name: ClassVar[str] = "sqlite"

    def answer(self, address: Address, *, writing: bool) -> Mapping[str, str]:
        if writing and not Path(address.path).exists():
            if not Path(address.path).absolute().parent.is_dir():
                raise FatalError(f"there is no directory for the SQLite database {address.path}", "make it")
            return {"server": f"SQLite {sqlite3.sqlite_version}", "database": f"{address.path} (is made)"}
        with explained(f"opening {address.path}"), sessions(address, writing=False) as session:
            [(version, tables)] = session.ask(
                "SELECT sqlite_version(), count(*) FROM sqlite_master WHERE type = 'table'"
            )
        return {"server": f"SQLite {version}", "database": str(address.path), "tables": str(tables)}

    def describe(self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions) -> list[Found]:
        with explained(f"looking up tables of {address.path}"), sessions(address, writing=False) as session:
            return SqliteDescriber(session, options).describe(requests)

    def snapshot(self, address: Address, tables: Sequence[SourceTable], registry: JobRegistry) -> Snapshot:
        return reading.SqliteSnapshot(address)

    def read(
        self, address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
    ) -> Iterator[Batch | Rejected]:
        return reading.read(address, table, split, start, tolerant=tolerant)

    def physical_splits(self, table: SourceTable, parts: int, generation: str) -> list[Split] | None:
        return reading.row_id_ranges(table, parts)

    def is_one_of(self, column: str, values: Sequence[str]) -> str:
        return f"{quote(column)} IN ({', '.join(map(literal, values))})"

    def sink(self, request: SinkRequest) -> TableSink:
        return StatementSink(request, TARGET)


DIALECT = SqliteSourceDialect()
