"""Connects to PostgreSQL: ADBC for rows, psycopg for statements.

Both connections come from the worker's pool. All sessions use UTF-8, UTC and standard strings, set at connect time, so
that a literal means the same everywhere and no round trip is needed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import adbc_driver_manager as adbc
import adbc_driver_postgresql
import psycopg
from psycopg.conninfo import make_conninfo

from seatunnel_connectors.jdbc.dialect import PLANNED_ANEW
from seatunnel_connectors.jdbc.postgres.connection.pinned import connection, pinned
from seatunnel_connectors.jdbc.url import Address, report_unknown
from seatunnel_py.api import (
    BadRowsError,
    FatalError,
    PluginError,
    RetriableError,
    TimeLimitError,
    borrow,
    lock_timeout,
    silence,
)

if TYPE_CHECKING:
    import pyarrow as pa

CLIENT_CHECK_SECONDS = 5
_FEW_BYTES = 1 << 16
Statements = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

# JDBC name (lower case) -> libpq name, for those with the same values in both.
_SAME = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "connecttimeout": "connect_timeout",
    "logintimeout": "connect_timeout",
    "connect_timeout": "connect_timeout",
    "applicationname": "application_name",
    "application_name": "application_name",
    "kerberosservername": "krbsrvname",
    "gssencmode": "gssencmode",
    "channelbinding": "channel_binding",
    "channel_binding": "channel_binding",
    "target_session_attrs": "target_session_attrs",
    "keepalives": "keepalives",
    "keepalives_idle": "keepalives_idle",
    "keepalives_interval": "keepalives_interval",
    "keepalives_count": "keepalives_count",
    "tcp_user_timeout": "tcp_user_timeout",
}
_SERVER_TYPES = {
    "any": "any",
    "primary": "read-write",
    "master": "read-write",
    "secondary": "standby",
    "slave": "standby",
    "preferslave": "prefer-standby",
    "prefersecondary": "prefer-standby",
    "preferprimary": "any",
}
KNOWN = frozenset(_SAME) | {"ssl", "sockettimeout", "tcpkeepalive", "targetservertype", "currentschema", "options"}


# Without synchronised scans a second read of the same snapshot returns the same rows in the same order.
_SETTINGS = (
    "-c timezone=UTC -c standard_conforming_strings=on -c datestyle=ISO -c extra_float_digits=1 "
    "-c intervalstyle=postgres -c bytea_output=hex -c synchronize_seqscans=off"
)


_infos: dict[tuple[object, ...], str] = {}


def conninfo(address: Address) -> str:
    """libpq's connection string, made once per address and timeout."""
    key = (address.identity, lock_timeout())
    info = _infos.get(key)
    if info is None:
        report_unknown(address, KNOWN)
        info = _infos[key] = _conninfo(address)
    return info


def _conninfo(address: Address) -> str:
    """Translate JDBC parameters with other names in libpq."""
    given = address.parameters
    words: dict[str, Any] = {
        "host": address.host, "port": address.port, "dbname": address.database or address.user or "postgres",
        "connect_timeout": address.connect_seconds, "application_name": "seatunnel", "client_encoding": "UTF8",
        **silence.LIBPQ,
    }  # fmt: skip
    if "hosts" in given:
        words["host"] = ",".join(host for host, _ in address.places)
        words["port"] = ",".join(str(port) for _, port in address.places)
    if address.user:
        words["user"] = address.user
    if address.password:
        words["password"] = address.secret
    words |= {_SAME[name]: value for name, value in given.items() if name in _SAME}
    if given.get("ssl", "").lower() in ("true", "") and "ssl" in given and "sslmode" not in given:
        words["sslmode"] = "verify-full"  # the Java driver's meaning of ssl=true
    if given.get("sockettimeout", "0").isdigit() and int(given.get("sockettimeout", "0")):
        words["tcp_user_timeout"] = int(given["sockettimeout"]) * 1000
    if "tcpkeepalive" in given:
        words["keepalives"] = int(given["tcpkeepalive"].lower() == "true")
    if "targetservertype" in given:
        words["target_session_attrs"] = _SERVER_TYPES.get(given["targetservertype"].lower(), "any")
    settings = [_SETTINGS]
    if (seconds := lock_timeout()) is not None:
        settings.append(f"-c lock_timeout={round(seconds * 1000)}")
    if "currentschema" in given:
        settings.append("-c search_path=" + given["currentschema"].replace("\\", "\\\\").replace(" ", "\\ "))
    if "options" in given:
        settings.append(given["options"])
    return make_conninfo(**words, options=" ".join(settings))


class Rows:
    """One ADBC connection. Statements run in autocommit unless they begin a transaction themselves."""

    def __init__(self, info: str) -> None:
        self._connection = adbc.AdbcConnection(_database(pinned(info)))

    def run(self, sql: str, parameters: pa.RecordBatch | None = None) -> int:
        """Run statements without a result; with ``parameters``, one statement for each of their rows. Return the
        affected rows of the last one (-1: none reported)."""
        statement = adbc.AdbcStatement(self._connection)
        try:
            statement.set_sql_query(sql)
            if parameters is not None:
                statement.prepare()
                statement.bind(parameters)
            return int(statement.execute_update())
        finally:
            statement.close()

    def ingest(
        self, schema: str | None, table: str, batches: Sequence[pa.RecordBatch], *, temporary: bool = False
    ) -> int:
        """COPY the batches into an existing table and return the rows that the server confirmed."""
        options = {"adbc.ingest.target_table": table, "adbc.ingest.mode": "adbc.ingest.mode.append"}
        if schema:
            options["adbc.ingest.target_db_schema"] = schema
        if temporary:
            options["adbc.ingest.temporary"] = "true"
        import pyarrow as pa

        statement = adbc.AdbcStatement(self._connection)
        try:
            statement.set_options(**options)
            statement.bind_stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
            return int(statement.execute_update())
        finally:
            statement.close()

    def copy(self, sql: str, batch_bytes: int) -> Generator[pa.RecordBatch, None, None]:
        """Read by binary COPY, a batch at a time. A reader that is closed early is cancelled at the server: otherwise
        closing would read the rest of the table."""
        from adbc_driver_manager._reader import AdbcRecordBatchReader  # imports Arrow, which drivers do not need

        statement = adbc.AdbcStatement(self._connection)
        reader = None
        finished = False
        try:
            statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(batch_bytes)})
            statement.set_sql_query(sql)
            handle, _ = statement.execute_query()
            # The driver's own reader: an error between rows keeps its SQLSTATE and details.
            reader = AdbcRecordBatchReader._import_from_c(handle.address)
            yield from reader
            finished = True
        finally:
            if not finished:
                with contextlib.suppress(adbc.Error):
                    statement.cancel()
            if reader is not None:
                reader.close()
            statement.close()

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of one query, which are few."""
        return [row for batch in self.copy(sql, _FEW_BYTES) for row in batch.to_pylist()]

    def close(self) -> None:
        with contextlib.suppress(adbc.Error, RuntimeError):
            self._connection.close()


_databases: dict[tuple[int, str], Any] = {}


def _database(info: str) -> Any:
    """The driver's database object: it holds the type catalog, which costs more than a connection."""
    key = (os.getpid(), info)
    if key not in _databases:
        _databases[key] = adbc_driver_postgresql.connect(info)
    return _databases[key]


@contextlib.contextmanager
def rows(address: Address) -> Iterator[Rows]:
    """Borrow a connection for rows from the pool."""
    info = conninfo(address)
    with borrow(("postgres-rows", info), lambda: Rows(info), Rows.close) as connection:
        yield connection


@contextlib.contextmanager
def statements(address: Address) -> Iterator[Statements]:
    """Borrow a connection for statements from the pool, in autocommit."""
    info = conninfo(address)

    def make() -> Statements:
        with explained(f"connecting to {address.display}"):
            return opened(info, prepare_threshold=3)

    with borrow(("postgres-statements", info), make, psycopg.Connection.close, _sever) as connection:
        yield connection


def _sever(db: Statements) -> None:
    silence.cut(db.pgconn.socket)


def connect(address: Address) -> Statements:
    """Open a separate connection, which outlives a unit (the keeper of a snapshot)."""
    with explained(f"connecting to {address.display}"):
        return opened(conninfo(address))


def opened(info: str, **more: Any) -> Statements:
    """Open a session that ends with its client."""
    db = connection(info, **more)
    end_with_client(db)
    return db


def end_with_client(db: Statements, asked: str = "") -> Any:
    """Make a session end with its client, even while it waits for a lock: PostgreSQL 14 and later check for that.
    Return the value of the SQL expression ``asked``, from the same round trip; None without one."""
    if db.info.server_version >= 140000:
        check = f"set_config('client_connection_check_interval', '{CLIENT_CHECK_SECONDS}s', false)"
        # the server's platform does not support the check
        with contextlib.suppress(psycopg.errors.InvalidParameterValue):
            return _value(db, f"SELECT {asked or 'NULL'}, {check}")
    return _value(db, f"SELECT {asked}") if asked else None


def _value(db: Statements, query: str) -> Any:
    row = db.execute(query.encode(), prepare=False).fetchone()
    assert row is not None, "a query without FROM has one row"
    return row[0]


# ---------------------------------------------------------------- errors

# Classes and states after which a retry may succeed: connection, resources, shutdown, conflicts of transactions, time
# limits (the lock may be free by then), a server that is temporarily read-only.
_RETRIABLE = ("08", "53", "57P", "57014", "40", "55P03", "25006", "25P03", "25P04")
_BAD_ROWS = ("22", "23")  # a value that does not fit its column; a violated constraint
_LINE = re.compile(r"; COPY .*, line (\d+)")  # of the COPY that failed

TABLE_CHANGED = "ST002"  # a state of our own

REMEDIES = {
    "53200": "where it has no room for prepared transactions, raise max_prepared_transactions of the server (a unit is "
    "one until its checkpoint), or set exactly_once_recipe = staged; else it needs more memory",
    "53300": "wait for other sessions to end, lower env.parallelism, or raise max_connections of the server",
    "57014": "raise statement_timeout for this user, or see who holds a lock: `seatunnel jobs show` names the session",
    "40P01": "see who else writes to the table at the same time, where it does not pass by itself",
    "55P03": "see who holds the lock: `seatunnel jobs show` names the session",
    "28": "correct username and password, or the server's pg_hba.conf",
    "3D": "correct the database in the url, or create it",
    "3F": "create the schema, or correct the name",
    "42P01": f"correct the name of the table; {PLANNED_ANEW}",
    "42703": f"correct the name of the column; {PLANNED_ANEW}",
    "42P10": "restore the target's unique key that rows are merged by, and resume; or set enable_upsert = false",
    TABLE_CHANGED: "run the job again, which plans it again",
    "54011": "leave columns out with the Filter transform",
    "53100": "make room on the disk of the server",
    "42501": "grant the user the privilege that is missing",
    "23505": "set primary_keys and enable_upsert = true, or remove the duplicates",
    "22021": "replace the NUL character before the sink: PostgreSQL cannot store it in text",
    "23502": "fill the column in a transform, or allow nulls in the target",
    "22001": "widen the target column",
    "22003": "widen the target column",
}


NO_LIST = "an array that is not a list"
"""Error of generated SELECTs for an array that a list cannot hold (``types.read_as``)."""
_NO_LIST = re.compile(rf'"{NO_LIST}, (column .*)"; Array value')


def failure(error: Exception, what: str) -> PluginError:
    """A typed error: the failed action, the cause, and whether a retry may help."""
    reason = _reason(error)
    if found := _NO_LIST.search(reason):
        return FatalError(
            f"{what}: {found[1]} is an array of several dimensions, or its first index is not 1: a list cannot hold it",
            "cast the column to text with `query`, or leave it out",
        )
    state = str(getattr(error, "sqlstate", None) or "") or _state_of_refusal(reason)
    remedy = next((REMEDIES[state[:n]] for n in (5, 2) if state[:n] in REMEDIES), "")
    lost = not state and isinstance(error, psycopg.OperationalError | adbc.OperationalError)
    if state == "57014" and "statement timeout" in reason:
        return TimeLimitError(f"{what}: {reason}", remedy)
    if lost or state.startswith(_RETRIABLE):
        return RetriableError(f"{what}: {reason}", remedy or "check that the server is up and can be reached")
    if state.startswith(_BAD_ROWS):
        # Earlier rows of the block may still be refused: foreign keys are checked after all rows.
        line = _LINE.search(reason) if isinstance(error, psycopg.Error) else None
        return BadRowsError(f"{what}: {reason}", remedy, int(line.group(1)) - 1 if line else None)
    return FatalError(f"{what}: {reason}", remedy)


# A refused connection has no SQLSTATE in libpq, only the server's words.
_REFUSALS = (
    (re.compile(r"password authentication failed|no password supplied|role \".*\" does not exist"), "28P01"),
    (re.compile(r"no pg_hba\.conf entry|authentication failed for user"), "28000"),
    (re.compile(r"database \".*\" does not exist"), "3D000"),
    (re.compile(r"too many clients already|remaining connection slots|too many connections"), "53300"),
)


def _state_of_refusal(reason: str) -> str:
    return next((state for pattern, state in _REFUSALS if pattern.search(reason)), "")


_OURS = "inline_code_block"  # in a context: in a job only our own guards are such blocks


def relation_of(error: Exception) -> str:
    """The table with the violated constraint; empty if the server names none."""
    named = error.diag.table_name if isinstance(error, psycopg.Error) else None
    return named or _details(error).get("PG_DIAG_TABLE_NAME", "")


def _details(error: Exception) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in getattr(error, "details", None) or []}


def _reason(error: Exception) -> str:
    details = _details(error)
    primary = details.get("PG_DIAG_MESSAGE_PRIMARY")
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        parts: list[Any] = [error.diag.message_primary, error.diag.message_detail, error.diag.context]
    elif primary:
        parts = [primary, details.get("PG_DIAG_MESSAGE_DETAIL"), details.get("PG_DIAG_CONTEXT")]
    else:
        parts = str(error).partition(". SQLSTATE")[0].splitlines()  # libpq puts its advice on a line of its own
    return "; ".join(" ".join(part.split()) for part in parts if part and _OURS not in part)


def _text(word: bytes | str) -> str:
    return word.decode(errors="replace") if isinstance(word, bytes) else word


@contextlib.contextmanager
def explained(what: str | Callable[[], str]) -> Iterator[None]:
    """Turn a driver's error into a typed one; ``what`` describes the action and its table."""
    try:
        yield
    except (psycopg.Error, adbc.Error) as error:
        raise failure(error, what if isinstance(what, str) else what()) from error


# ---------------------------------------------------------------- words of SQL


def quote(*names: str) -> str:
    """A dotted identifier. Raises ValueError for characters that no identifier can contain."""
    for name in names:
        if not name or "\0" in name:
            raise ValueError(f"{name!r} cannot be a name in PostgreSQL")
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    """A text literal; sessions have standard strings, so only quotes need doubling."""
    if "\0" in text:
        raise ValueError("a text with a NUL character cannot be used in PostgreSQL")
    return "'" + text.replace("'", "''") + "'"
