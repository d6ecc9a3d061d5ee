"""The one moment that all readers of a table see: a snapshot that one connection holds and others join.

Rules. (1) It lives as long as the keeper's transaction, so the server is told to leave that alone however long it is
idle. (2) A server that was started again counts its snapshots from the beginning, so that a dead one's name may be that
of another: a generation is the name and when the server was started, and whoever joins compares both. (3) One that
cannot be joined is gone, and what was read under it is worth nothing (GenerationLost). (4) It is no word for tables
that are rewritten, truncated or made anew meanwhile: PostgreSQL then shows them *empty*, and says nothing. So whoever
joins locks what it will read, as reading does anyway, and asks whether each of it still lies where the snapshot knows
it. (5) The keeper itself locks nothing for longer than a question takes: a DDL statement that waited for it would keep
our own readers waiting behind itself, and everybody else's.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, connect, explained, literal, quote
from seatunnel_connectors.jdbc.source.source import hints_of, rows_planned
from seatunnel_connectors.jdbc.source.splits import Probe
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import GenerationLost, SourceTable

_STARTED = "extract(epoch FROM pg_postmaster_start_time())::text"
_NO_END = (
    "SELECT set_config(name, '0', false) FROM pg_settings "
    "WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"  # the second is younger than some
)
_GONE = ("22023", "42704")  # an invalid name, or one of nobody
_CHANGED = "ST001"  # a state of our own

# pg_class is read as the snapshot saw it, pg_relation_filenode() knows where the table lies now. Indexes may be made
# anew at any time, and a partition that is younger than the snapshot has no rows that it would see.
_ELSEWHERE = """
    SELECT FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND CASE
        WHEN c.oid IS NULL
        THEN pg_get_indexdef(l.relation) IS NULL AND pg_get_partition_constraintdef(l.relation) IS NULL
        ELSE c.relkind IN ('r', 'm') AND c.relfilenode <> 0
            AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid) END"""

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


def unchanged(select: str) -> str:
    """A statement that fails where the snapshot is no word for what this query reads; it leaves all of that locked."""
    what = f"RAISE EXCEPTION USING ERRCODE = '{_CHANGED}', MESSAGE = 'the snapshot does not show it any more'"
    body = f"BEGIN EXECUTE {literal(f'EXPLAIN {select}')}; IF EXISTS ({_ELSEWHERE}) THEN {what}; END IF; END"
    return f"DO {literal(body)}"


def check_snapshot(error: Exception, generation: str, table: SourceTable) -> None:
    """GenerationLost if the error says that the snapshot is gone, or no word for the table any more."""
    name = generation.partition("@")[0]
    if name and getattr(error, "sqlstate", "") == _CHANGED:
        raise GenerationLost(
            f"table {table.schema.path} was truncated, made anew, or rewritten by ALTER TABLE while it was read: the "
            f"snapshot {name} does not show its rows any more",
            "run the job again; the table is then read from its beginning",
            generation,
        ) from error
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
        """The rows of a query, whose locks end with it, as does what an error has spoilt."""
        with self.lock:
            self.db.execute("SAVEPOINT question")
            try:
                answer = self.db.execute(sql.encode())
                return answer.fetchall() if answer.description else []
            finally:
                with suppress(psycopg.OperationalError):  # a connection that is gone has said so
                    self.db.execute("ROLLBACK TO SAVEPOINT question")

    def holds(self) -> bool:
        """Whether it can still be joined. A connection that the server has ended does not know that yet."""
        try:
            return bool(self.ask("SELECT 1"))
        except psycopg.Error:
            return False

    def shows(self, tables: Sequence[SourceTable]) -> bool:
        """Whether these are still what the snapshot saw."""
        try:
            for table in tables:
                self.ask(unchanged(f"SELECT FROM {hints_of(table).source}"))
        except psycopg.Error as error:
            if error.sqlstate == _CHANGED:
                return False
            raise
        return True


class Keepers:
    """The snapshots that a job keeps open, one for each database. A worker gets none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[object, ...], _Keeper] = {}

    def __reduce__(self) -> tuple[type[Keepers], tuple[()]]:
        return Keepers, ()

    def join(self, address: Address, tables: Sequence[SourceTable]) -> _Keeper:
        """The one that is open, where it shows these tables as they are; else another one."""
        with self._lock, explained(f"opening a snapshot of {address.display}"):
            keeper = self._open.get(address.identity)
            if keeper is None or not keeper.holds() or not keeper.shows(tables):
                keeper = self._open[address.identity] = _Keeper(address)
            keeper.users += 1
            return keeper

    def leave(self, keeper: _Keeper) -> None:
        """The last one to leave closes it."""
        with self._lock:
            keeper.users -= 1
            if keeper.users == 0:
                self._open = {identity: one for identity, one in self._open.items() if one is not keeper}
                keeper.db.close()


class PostgresSnapshot(Snapshot):
    """A share in a keeper, for some tables: one that shows them."""

    def __init__(self, address: Address, tables: Sequence[SourceTable], keepers: Keepers) -> None:
        self.keepers = keepers
        self.keeper = keepers.join(address, tables)
        self.generation = self.keeper.generation

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _KeyProbe(self.keeper, table, column)

    def count(self, table: SourceTable) -> int:
        with explained(f"counting the rows of table {table.schema.path}"):
            return int(self.keeper.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def close(self) -> None:
        self.keepers.leave(self.keeper)


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
        source, rows_known = self.hints.relation, rows_planned(self.table) or 0
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
