"""Implements the dialect port for PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from seatunnel_connectors.jdbc.dialect import SinkRequest, Snapshot, SourceDialect, TableSink
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.postgres.connection import locks
from seatunnel_connectors.jdbc.postgres.connection.session import explained, literal, quote, statements
from seatunnel_connectors.jdbc.postgres.read import reader as reading
from seatunnel_connectors.jdbc.postgres.read.native_copy import PostgresNativeReader, native_form
from seatunnel_connectors.jdbc.postgres.read.snapshot import Keepers, PostgresSnapshot
from seatunnel_connectors.jdbc.postgres.write.sink import PostgresSink
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, JobRegistry, NativeForm, NativeReader, Position, Rejected, SourceTable, Split

_WHO = """
    SELECT 'PostgreSQL ' || current_setting('server_version'), current_user, current_database(),
           CASE WHEN (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) THEN 'yes' ELSE 'no' END,
           CASE WHEN pg_is_in_recovery() THEN 'yes' ELSE 'no' END,
           CASE WHEN current_schema() IS NULL THEN 'no schema on the search path'
                WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 'yes, in ' || current_schema()
                ELSE 'not in ' || current_schema() END,
           current_setting('wal_level')
"""


class PostgresSourceDialect(SourceDialect):
    name: ClassVar[str] = "postgres"

    def answer(self, address: Address, *, writing: bool) -> Mapping[str, str]:
        with explained(f"connecting to {address.display}"), statements(address) as db:
            found = db.execute(_WHO).fetchone()
        names = ("server", "user", "database", "encrypted", "standby", "may create tables", "wal_level")
        return dict(zip(names, map(str, found or ()), strict=True))

    def describe(self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions) -> list[Found]:
        from seatunnel_connectors.jdbc.postgres.read.describe import PostgresDescriber  # on the driver alone

        with explained(f"looking up tables of {address.display}"), statements(address) as db:
            return PostgresDescriber(db, options).describe(requests)

    def snapshot(self, address: Address, tables: Sequence[SourceTable], registry: JobRegistry) -> Snapshot:
        return PostgresSnapshot(address, tables, registry.get(Keepers))

    def read(
        self, address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
    ) -> Iterator[Batch | Rejected]:
        return reading.read(address, table, split, start, tolerant=tolerant)

    def native_form(self, table: SourceTable) -> NativeForm | None:
        return native_form(table)

    def native_reader(self, address: Address, table: SourceTable) -> NativeReader:
        return PostgresNativeReader(address, table)

    def physical_splits(self, table: SourceTable, parts: int, generation: str) -> list[Split] | None:
        return reading.places(table, parts, generation)

    def blocked_by(self, address: Address) -> Sequence[str]:
        return locks.blocked_by(address)

    def at_work(self, address: Address, seconds: float) -> Sequence[str]:
        return locks.at_work(address, seconds)

    def is_one_of(self, column: str, values: Sequence[str]) -> str:
        return f"{quote(column)} IN ({', '.join(map(literal, values))})"

    def sink(self, request: SinkRequest) -> TableSink:
        return PostgresSink(request)


DIALECT = PostgresSourceDialect()
