"""Shares one snapshot among all readers of a table: one connection holds it and others join it.

Rules. (1) It lasts as long as the keeper's transaction, which may be idle without limit.
(2) A restarted server numbers its snapshots from the beginning, so a dead one's name may be reused: a generation is the
name and the server's start time, and a joining session compares both. (3) If a snapshot cannot be joined, it is lost,
and rows read under it are invalid (GenerationLostError). (4) It is invalid for tables that are rewritten, truncated or
created again meanwhile: PostgreSQL then silently shows them *empty*. So a joining session locks the tables that it will
read, as reading does anyway, and checks that each is still in the file that the snapshot knows. (5) The keeper itself
locks nothing for longer than one query: a DDL statement that waited for it would block all later readers, ours
included.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import psycopg

from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, connect, explained, literal, quote
from seatunnel_connectors.jdbc.source.source import hints_of, rows_planned
from seatunnel_connectors.jdbc.source.splits import Probe
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import GenerationLostError, SourceTable

_STARTED = "extract(epoch FROM pg_postmaster_start_time())::text"
_NO_END = (
    "SELECT set_config(name, '0', false) FROM pg_settings "
    # the second does not exist in older versions
    "WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"
)
_GONE = ("22023", "42704")  # an invalid name, or an unknown one
_CHANGED = "ST001"  # a state of our own

# pg_class shows the snapshot's state, pg_relation_filenode() the current file of the table. Indexes may be rebuilt at
# any time, and a partition younger than the snapshot has no rows visible in it.
_ELSEWHERE = """
    SELECT FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND CASE
        WHEN c.oid IS NULL
        THEN pg_get_indexdef(l.relation) IS NULL AND pg_get_partition_constraintdef(l.relation) IS NULL
        ELSE c.relkind IN ('r', 'm') AND c.relfilenode <> 0
            AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid) END"""

# ---------------------------------------------------------------- joining


def join_snapshot(generation: str) -> str:
    """Statements that begin a transaction with the exported snapshot's view."""
    name, _, started = generation.partition("@")
    begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT {literal(name)}"
    if not started:
        return begin  # an older version did not store it
    gone = literal(f"the server has been started again since {name}")
    same = f"IF {_STARTED} <> {literal(started)} THEN RAISE EXCEPTION USING ERRCODE = '42704', MESSAGE = {gone}; END IF"
    return f"{begin}; DO $$BEGIN {same}; END$$"


def unchanged(select: str) -> str:
    """Statement that fails if the snapshot is invalid for a table of this query; it leaves all of them locked."""
    what = f"RAISE EXCEPTION USING ERRCODE = '{_CHANGED}', MESSAGE = 'the snapshot does not show it any more'"
    body = f"BEGIN EXECUTE {literal(f'EXPLAIN {select}')}; IF EXISTS ({_ELSEWHERE}) THEN {what}; END IF; END"
    return f"DO {literal(body)}"


def check_snapshot(error: Exception, generation: str, table: SourceTable) -> None:
    """Raise GenerationLostError if the error shows that the snapshot is lost, or invalid for the table."""
    name = generation.partition("@")[0]
    if name and getattr(error, "sqlstate", "") == _CHANGED:
        raise GenerationLostError(
            f"table {table.schema.path} was truncated, created again, or rewritten by ALTER TABLE while it was read: "
            f"the snapshot {name} does not show its rows any more",
            "run the job again; the table is then read from its beginning",
            generation,
        ) from error
    if name and name in str(error) and getattr(error, "sqlstate", "") in _GONE:
        raise GenerationLostError(
            f"table {table.schema.path}: the snapshot {name} that it is read under is gone: "
            "the connection that held it has ended",
            "run the job again; the table is then read from its beginning",
            generation,
        ) from error


# ---------------------------------------------------------------- holding


class Keeper:
    """Connection that holds an exported snapshot. All enumerators of a process that read one database at the same time
    share it: hundreds of tables then need one connection, and are of the same moment. ``shown``: the exported snapshot
    that it shows; empty: the one of this moment. ``log_position``: the position of the log
    from which it lacks changes, if that is known."""

    def __init__(self, address: Address, shown: str = "", log_position: int = 0) -> None:
        self.log_position = log_position
        self.users = 0
        self.lock = threading.Lock()
        self.db: Statements = connect(address)
        self.db.execute(_NO_END.encode())
        self.db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if shown:
            self.db.execute(f"SET TRANSACTION SNAPSHOT {literal(shown)}".encode())
        row = self.db.execute(f"SELECT pg_export_snapshot() || '@' || {_STARTED}".encode()).fetchone()
        assert row is not None
        self.generation = str(row[0])

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query in a subtransaction, which releases its locks and undoes its errors."""
        with self.lock:
            self.db.execute("SAVEPOINT question")
            try:
                answer = self.db.execute(sql.encode())
                return answer.fetchall() if answer.description else []
            finally:
                with suppress(psycopg.OperationalError):  # a lost connection is reported already
                    self.db.execute("ROLLBACK TO SAVEPOINT question")

    @cached_property
    def oldest_hidden(self) -> int:
        """The oldest transaction, without its epoch, whose rows the snapshot may not show."""
        return int(self.ask("SELECT txid_snapshot_xmin(txid_current_snapshot())")[0][0]) & 0xFFFF_FFFF

    def holds(self) -> bool:
        """True if it can still be joined. A connection that the server has ended does not know that yet."""
        try:
            return bool(self.ask("SELECT 1"))
        except psycopg.Error:
            return False

    def shows(self, tables: Sequence[SourceTable]) -> bool:
        """True if these tables are still as the snapshot sees them."""
        try:
            for table in tables:
                self.ask(unchanged(f"SELECT FROM {hints_of(table).source}"))
        except psycopg.Error as error:
            if error.sqlstate == _CHANGED:
                return False
            raise
        return True


class Keepers:
    """The snapshots that a job keeps open, one for each database and ``share``. A worker gets none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[object, ...], Keeper] = {}

    def __reduce__(self) -> tuple[type[Keepers], tuple[()]]:
        return type(self), ()

    def make(self, address: Address) -> Keeper:
        """Open the session of another snapshot."""
        return Keeper(address)

    def join(self, address: Address, tables: Sequence[SourceTable], share: str = "") -> Keeper:
        """Return the open snapshot if it shows these tables as they are now; else open another one."""
        with self._lock, explained(f"opening a snapshot of {address.display}"):
            key = address.identity, share
            keeper = self._open.get(key)
            if keeper is None or not keeper.holds() or not keeper.shows(tables):
                keeper = self._open[key] = self.make(address)
            keeper.users += 1
            return keeper

    def leave(self, keeper: Keeper) -> None:
        """Leave a snapshot; the last user closes its session."""
        with self._lock:
            keeper.users -= 1
            if keeper.users == 0:
                self._open = {key: one for key, one in self._open.items() if one is not keeper}
                keeper.db.close()


class PostgresSnapshot(Snapshot):
    """A share in a keeper, for tables that its snapshot shows."""

    def __init__(self, address: Address, tables: Sequence[SourceTable], keepers: Keepers, share: str = "") -> None:
        self.keepers = keepers
        self.keeper = keepers.join(address, tables, share)
        self.generation = self.keeper.generation

    def probe(self, table: SourceTable, column: str) -> Probe:
        return _PostgresKeyProbe(self.keeper, table, column)

    def count(self, table: SourceTable) -> int:
        with explained(f"counting the rows of table {table.schema.path}"):
            return int(self.keeper.ask(f"SELECT count(*) FROM {hints_of(table).source}")[0][0])

    def close(self) -> None:
        self.keepers.leave(self.keeper)


class _PostgresKeyProbe(Probe):
    """Queries about a key column for planning splits, answered under the snapshot."""

    def __init__(self, keeper: Keeper, table: SourceTable, column: str) -> None:
        self.keeper = keeper
        self.table = table
        self.hints = hints_of(table)
        self.column = quote(column)

    def bounds(self) -> tuple[Any, Any]:
        low, high = self._ask(f"SELECT min({self.column}), max({self.column}) FROM {self.hints.source}")[0]
        return low, high

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        """Values sampled from whole blocks, about a thousand rows per split; exact ones if sampling is not allowed."""
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
