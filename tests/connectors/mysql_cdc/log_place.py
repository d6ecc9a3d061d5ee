"""A database whose log is read: statements go in, changes of the library come out, and two ways to judge them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.jdbc.mysql.dialect import DIALECT
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.url import Address, parse_url
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession
from seatunnel_connectors.mysql_cdc.failures import TableLogError
from seatunnel_connectors.mysql_cdc.reading.changes import LogChange, LogTableChange, RowsBlock, TableBlock
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions, TableDefinition
from seatunnel_connectors.mysql_cdc.schema.from_catalog import definitions_of
from seatunnel_connectors.mysql_cdc.schema.history import TableHistory
from seatunnel_py.api import Batch, RowKind, SourceTable, Split, TablePath
from tests.servers.mariadb import MariadbServer

SERVER_ID = 4_000_001
DATABASE = "a"
Values = tuple[Any, ...]


@dataclass
class LogPlace:
    """``start`` is the log's end when the test began; ``wishes`` are the parameters of connections."""

    db: Any
    server: MariadbServer
    start: BinlogPosition
    database: str = DATABASE
    more: list[BinlogPosition] = field(default_factory=list)
    wishes: str = "useSSL=false"

    # ------------------------------------------------------------ the server

    @property
    def address(self) -> Address:
        return parse_url(f"jdbc:mysql://127.0.0.1:{self.server.port}/{self.database}?{self.wishes}")

    def run(self, *statements: str) -> None:
        with self.db.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def ask(self, sql: str) -> list[Values]:
        with self.db.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def end(self) -> BinlogPosition:
        [(file, position, *_)] = self.ask("SHOW MASTER STATUS")
        return BinlogPosition(file, int(position))

    def definitions(self, *tables: str) -> dict[Name, TableDefinition]:
        """As the catalog has them now."""
        session = MysqlSession(self.address)
        try:
            return dict(definitions_of(session, [(self.database, table) for table in tables]))
        finally:
            session.close()

    # ------------------------------------------------------------ the log

    def history(self, definitions: dict[Name, TableDefinition] | None = None) -> TableHistory:
        version = 101119
        return TableHistory(
            definitions or {}, lambda name: name[0] == self.database, mariadb=True, server_version=version
        )

    def request(self, start: BinlogPosition | None = None, **more: Any) -> DumpRequest:
        at = start or self.start
        return DumpRequest(SERVER_ID, at.file, at.offset, **{"bounded": True, **more})

    def changes(
        self, definitions: dict[Name, TableDefinition] | None = None, start: BinlogPosition | None = None, *,
        options: DecodeOptions | None = None, before: bool = True, request: DumpRequest | None = None,
        history: TableHistory | None = None, metadata: frozenset[str] = frozenset(),
    ) -> Iterator[LogChange]:  # fmt: skip
        """All changes since ``start``, up to the log's end. Names, types and charsets come from ``definitions``."""
        reader = LogReader(
            history or self.history(definitions), start or self.start, options=options, before=before, metadata=metadata
        )
        dump = DumpSession(self.address, request or self.request(start))
        try:
            while not dump.ended:
                yield from reader.read(dump.read(1.0))
        finally:
            dump.close()
        yield from reader.flush()

    # ------------------------------------------------------------ the judge

    def source(self, table: str, **options: Any) -> tuple[SourceTable, pa.Table]:
        """The table as the Jdbc source reads it now: its description, and its rows."""
        chosen = JdbcSourceOptions.model_validate(
            {"url": f"jdbc:mysql://x/{self.database}", "table_path": table, **options}
        )
        [found] = DIALECT.describe(self.address, [TableRequest("table_path", f"{self.database}.{table}", None)], chosen)
        assert isinstance(found, SourceTable), found
        split = Split("0", TablePath(self.database, "", table))
        batches = [one.data for one in DIALECT.read(self.address, found, split, None) if isinstance(one, Batch)]
        return found, pa.Table.from_batches(batches, schema=found.schema.arrow())


def cause_of(changes: Iterable[LogChange]) -> TableLogError:
    """The reason why a table is stopped."""
    [found] = [one.change.cause for one in changes if isinstance(one, LogTableChange) and one.change.cause]
    return found


def blocks(changes: Iterator[LogChange] | list[LogChange], table: str = "t") -> list[TableBlock]:
    return [
        block
        for change in changes
        if isinstance(change, RowsBlock)
        for block in change.tables
        if block.name[1] == table
    ]


def rows_of(found: list[TableBlock]) -> list[tuple[str, Values]]:
    """Each row with its kind."""
    return [
        (RowKind(kind).short, tuple(row.values()))
        for block in found
        for kind, row in zip(block.rows.kinds.to_pylist(), block.rows.data.to_pylist(), strict=True)
    ]


def replayed(found: list[TableBlock], key: Callable[[Values], Any] = lambda row: row[0]) -> dict[Any, Values]:
    """The table that rows with kinds end in. A row that is not there cannot be changed."""
    state: dict[Any, Values] = {}
    for kind, row in rows_of(found):
        if kind in ("+I", "+U"):
            assert kind == "+U" or key(row) not in state, row
            state[key(row)] = row
        else:
            assert state.pop(key(row), None) == row, (kind, row)
    return state
