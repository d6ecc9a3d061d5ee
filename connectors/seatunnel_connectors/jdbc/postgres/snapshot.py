"""The one moment that all readers of a table see: a snapshot that one connection holds and others join.

Rules. (1) It lives as long as the keeper's transaction, so the server is told to leave that alone however long it is
idle. (2) A server that was started again counts its snapshots from the beginning, so that a dead one's name may be
that of another: a generation is the name and when the server was started, and whoever joins compares both. (3) One that
cannot be joined is gone, and what was read under it is worth nothing (GenerationLost).
"""

from __future__ import annotations

import threading
from typing import Any

import psycopg

from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.postgres.session import Statements, connect, explained, literal, quote
from seatunnel_connectors.jdbc.source import hints_of
from seatunnel_connectors.jdbc.splits import Probe
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import GenerationLost, SourceTable

_STARTED = "extract(epoch FROM pg_postmaster_start_time())::text"
_NO_END = (
    "SELECT set_config(name, '0', false) FROM pg_settings "
    "WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"  # the second is younger than some
)
_GONE = ("22023", "42704")  # an invalid name, or one of nobody

# ---------------------------------------------------------------- joining


def join_snapshot(generation: str) -> str:
    """Statements that begin a transaction which sees what the exported snapshot saw."""
    name, _, started = generation.partition("@")
    begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT {literal(name)}"
    if not started:
        return begin  # an older version did not say
    gone = literal(f"the server has been started again since {name}")
    same = f"IF {_STARTED} <> {literal(started)} THEN RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = {gone}; END IF"
    return f"{begin}; DO $$BEGIN {same}; END$$"


def check_snapshot(error: Exception, generation: str, table: SourceTable) -> None:
    """GenerationLost if the error says that the snapshot is gone."""
    name = generation.partition("@")[0]
    if name and name in str(error) and getattr(error, "sqlstate", "") in _GONE:
        raise GenerationLost(
            f"table {table.schema.path}: the snapshot {name} that it is read under is gone: "
            "the connection that held it has ended",
            "run the job again; the table is then read from its beginning",
            generation,
        ) from error


# ---------------------------------------------------------------- holding


class _Keeper:
    """The connection that an exported snapshot lives in. All enumerators of a process that read one database at
    the same time share it: hundreds of tables then need one connection, and are of one moment."""

    def __init__(self, address: Address) -> None:
        self.users = 0
        self.lock = threading.Lock()
        self.db: Statements = connect(address)
        self.db.execute(_NO_END.encode())
        self.db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = self.db.execute(f"SELECT pg_export_snapshot() || '@' || {_STARTED}".encode()).fetchone()
        assert row is not None
        self.generation = str(row[0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with self.lock:
            return self.db.execute(sql.encode()).fetchall()

    def holds(self) -> bool:
        """Whether it can still be joined. A connection that the server has ended does not know that yet."""
        try:
            return bool(self.ask("SELECT 1"))
        except psycopg.Error:
            return False


_keepers: dict[tuple[object, ...], _Keeper] = {}
_keepers_lock = threading.Lock()


class PostgresSnapshot(Snapshot):
    """A share in a keeper."""

    def __init__(self, address: Address) -> None:
        self.identity = address.identity
        with _keepers_lock, explained(f"opening a snapshot of {address.display}"):
            keeper = _keepers.get(self.identity)
            if keeper is None or not keeper.holds():
                keeper = _keepers[self.identity] = _Keeper(address)
            keeper.users += 1
            self.keeper = keeper
        self.generation = keeper.generation

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _KeyProbe(self.keeper, table, column)

    def count(self, table: SourceTable) -> int:
        with explained(f"counting the rows of table {table.schema.path}"):
            return int(self.keeper.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def close(self) -> None:
        with _keepers_lock:
            self.keeper.users -= 1
            if self.keeper.users == 0:
                if _keepers.get(self.identity) is self.keeper:
                    del _keepers[self.identity]
                self.keeper.db.close()


class _KeyProbe(Probe):
    """What the planning of splits asks about a key column, answered under the snapshot."""

    def __init__(self, keeper: _Keeper, table: SourceTable, column: str) -> None:
        self.keeper = keeper
        self.table = table
        self.hints = hints_of(table)
        self.column = quote(column)

    def bounds(self) -> tuple[Any, Any]:
        low, high = self._ask(f"SELECT min({self.column}), max({self.column}) FROM {self.hints.source}")[0]
        return low, high

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        """Sampled from whole blocks, about a thousand rows a split; exact where sampling is not allowed."""
        source, rows_known = self.hints.relation, self.table.rows or 0
        wanted = parts * 1000
        if not exact and rows_known > wanted and self.hints.sampled:
            percent = max(0.01, min(100.0, 100.0 * wanted / rows_known))
            source += f" TABLESAMPLE SYSTEM ({percent:.4f}) REPEATABLE (1)"
        where = f"({self.hints.where}\n) AND " if self.hints.where else ""
        found = self._ask(
            f"SELECT min(k) FROM (SELECT {self.column} AS k, ntile({parts}) OVER (ORDER BY {self.column}) AS part "
            f"FROM {source} WHERE {where}{self.column} IS NOT NULL) AS sampled GROUP BY part ORDER BY part OFFSET 1"
        )
        return [value for (value,) in found]

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        with explained(f"dividing table {self.table.schema.path} by {self.column}"):
            return self.keeper.ask(sql)
