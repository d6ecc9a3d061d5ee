"""Opens connections to MySQL and MariaDB.

LOAD DATA LOCAL lets a server request any file from its client. Sessions opened here send only the block of rows that
they have just offered, under a random name; any other request is refused and reported.
"""

from __future__ import annotations

import contextlib
import secrets
import ssl
from collections.abc import Iterator, Sequence
from typing import Any, cast
from urllib.parse import quote as url_quote

import pymysql
from pymysql.connections import LoadLocalPacketWrapper, MySQLResult

from seatunnel_connectors.jdbc.dialect import PLANNED_ANEW
from seatunnel_connectors.jdbc.mysql.connection import tls
from seatunnel_connectors.jdbc.statements.target_dialect import Row, StatementSession
from seatunnel_connectors.jdbc.url import Address, report_unknown
from seatunnel_py.api import (
    BadRowsError,
    FatalError,
    PluginError,
    RetriableError,
    TimeLimitError,
    borrow,
    lock_timeout,
    reachable_addresses,
    silence,
)

KNOWN = frozenset(
    {
        "usessl", "requiressl", "sslmode", "verifyservercertificate", "connecttimeout", "sockettimeout", "charset",
        "zerodatetimebehavior", "tcpkeepalive", "sslca", "serversslcert",
    }
)  # fmt: skip
PACKET_BYTES = 1 << 20  # of the stream that LOAD DATA reads
LOCAL_INFILE_OFF = (1148, 3948, 4166)
DUPLICATE = 1062


class _Result(MySQLResult):  # type: ignore[misc]  # PyMySQL ships no types
    def _read_load_local_packet(self, first_packet: Any) -> None:
        connection = self.connection
        asked = LoadLocalPacketWrapper(first_packet).filename
        offered, connection.offered = connection.offered, None
        ours = offered is not None and asked == offered[0]
        try:
            if offered is not None and ours:
                data = memoryview(offered[1])
                for start in range(0, len(data), PACKET_BYTES):
                    connection.write_packet(bytes(data[start : start + PACKET_BYTES]))
        finally:
            connection.write_packet(b"")
            answer = connection._read_packet()
        if not ours:
            connection.close()
            raise FatalError(
                "the server asked for a file of this machine, which was refused",
                "check that the url leads to the server that is meant",
            )
        self._read_ok_packet(answer)


class _Connection(pymysql.connections.Connection):  # type: ignore[misc]
    offered: tuple[bytes, Any] | None = None
    _read_timeout: Any

    def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
        """A connection without a wish is encrypted where the server can, as in the Java driver."""
        return cast("ssl.SSLContext", super()._create_ssl_ctx(sslp)) if sslp else tls.unverified()

    def connect(self, sock: Any = None) -> None:
        """Apply the connection timeout to the server's greeting, too."""
        patience, self._read_timeout = self._read_timeout, self.connect_timeout
        try:
            super().connect(sock)
        finally:
            self._read_timeout = patience

    def _read_query_result(self, unbuffered: bool = False) -> Any:
        self._result = None
        result = _Result(self)
        if unbuffered:
            result.init_unbuffered_query()
        else:
            result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return result.affected_rows


_UNREACHABLE = (2002, 2003, 2005, 2013)


def _first_of(address: Address, patience: int | None) -> _Connection:
    """A connection to the first of the address's hosts that takes one, as MariaDB's driver does. Raises the error of
    the last one."""
    *others, last = address.places
    for host, port in others:
        try:
            return _connected(address, host, port, patience)
        except pymysql.err.OperationalError as error:
            if error.args[0] not in _UNREACHABLE:
                raise
    return _connected(address, *last, patience)


def _connected(address: Address, host: str, port: int, patience: int | None) -> _Connection:
    given = address.parameters
    return _Connection(
        host=host, port=port, user=address.user or "root", password=address.secret,
        database=address.database or None, charset="utf8mb4", autocommit=True, local_infile=True,
        connect_timeout=patience or _seconds(given.get("connecttimeout"), address.connect_seconds),
        read_timeout=patience or _seconds(given.get("sockettimeout"), 0) or None, **_tls(address),
    )  # fmt: skip


class MysqlSession(StatementSession):
    """One PyMySQL connection, strict about values, in autocommit outside of ``begin``."""

    def __init__(self, address: Address, *, patience: int | None = None) -> None:
        """``patience`` are the seconds after which an answer is given up; without it nothing is."""
        report_unknown(address, KNOWN)
        given = address.parameters
        self.db: Any = _first_of(address, patience)
        if given.get("tcpkeepalive", "true").lower() != "false":
            silence.watch(self.db._sock)
        # Zero is a valid value; a value that does not fit is an error, not an approximation. Neither the server's nor
        # the session's zone may shift a TIMESTAMP, which is an instant.
        self.run(
            "SET SESSION time_zone = '+00:00', sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), "
            "',STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO')"
        )
        self.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if (limit := lock_timeout()) is not None:
            self.run(f"SET SESSION lock_wait_timeout = {round(limit)}, innodb_lock_wait_timeout = {round(limit)}")

    @property
    def is_encrypted(self) -> bool:
        return isinstance(self.db._sock, ssl.SSLSocket)

    def ask(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        with self.db.cursor() as cursor:
            cursor.execute(sql, tuple(values) or None)
            return list(cursor.fetchall())

    def run(self, sql: str, values: Row = ()) -> int:
        with self.db.cursor() as cursor:
            return int(cursor.execute(sql, tuple(values) or None))

    def run_many(self, sql: str, rows: Sequence[Row]) -> int:
        if not rows:
            return 0
        with self.db.cursor() as cursor:
            return int(cursor.executemany(sql, rows) or 0)

    def load(self, relation: str, columns: Sequence[str], assignments: Sequence[str], data: Any) -> tuple[int, int]:
        """Run LOAD DATA LOCAL from ``data``. Return the rows written and the number of warnings."""
        name = f"seatunnel-{secrets.token_hex(16)}"
        setting = f" SET {', '.join(assignments)}" if assignments else ""
        self.db.offered = (name.encode(), data)
        try:
            written = self.run(
                f"LOAD DATA LOCAL INFILE '{name}' INTO TABLE {relation} CHARACTER SET utf8mb4 "
                f"FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' "
                f"({', '.join(columns)}){setting}"
            )
        finally:
            self.db.offered = None
        return written, int(self.db._result.warning_count or 0)

    def begin(self) -> None:
        self.db.begin()

    def commit(self) -> None:
        self.db.commit()

    def rollback(self) -> None:
        self.db.rollback()

    def sever(self) -> None:
        silence.cut(self.db._sock.fileno())

    def close(self) -> None:
        with contextlib.suppress(pymysql.Error, OSError):
            self.db.close()


def _seconds(text: str | None, default: int) -> int:
    """Seconds of a parameter that the Java driver counts in milliseconds; 0 is its default."""
    return max(1, int(text) // 1000) if text and text.isdigit() and int(text) else default


def _tls(address: Address) -> dict[str, Any]:
    if tls.refuses_tls(address):
        return {"ssl_disabled": True}
    return {"ssl": tls.context_of(address)} if tls.wants_tls(address) else {}


def reading_url(address: Address) -> str:
    """The address as a URL for ConnectorX, which makes plain connections only."""
    credentials = url_quote(address.user or "root", safe="")
    if address.secret:
        credentials += ":" + url_quote(address.secret, safe="")
    host, port = _reachable(address)
    if found := reachable_addresses(host, port):
        host = f"[{found[0]}]" if ":" in found[0] else found[0]
    url = f"mysql://{credentials}@{host}:{port}/{url_quote(address.database, safe='')}"
    return f"{url}?tcp_keepalive_time_ms={silence.IDLE_SECONDS * 1000}"


def _reachable(address: Address) -> tuple[str, int]:
    """The host that sessions of the address are connected to now."""
    if len(address.places) == 1:
        return address.host, address.port
    with sessions(address) as session:
        return session.db.host, session.db.port


@contextlib.contextmanager
def sessions(address: Address) -> Iterator[MysqlSession]:
    """Borrow a connection from the pool."""
    key = ("mysql", lock_timeout(), *address.identity)
    with borrow(key, lambda: MysqlSession(address), MysqlSession.close, MysqlSession.sever) as session:
        yield session


_RETRIABLE = (1040, 1205, 1213, 1317, 1467, 1969, 2002, 2003, 2006, 2013, 2014, 2055, 1053, 1927, 3024, 4031)
"""1467: the lock of an AUTO_INCREMENT counter timed out. 1969, 3024: a statement took too long. 4031: the session was
idle for too long, as after a stalled driver."""
_BAD_ROWS = (1048, 1062, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1451, 1452, 1690, 3140, 3819, 4025)
"""A value that does not fit its column; a violated constraint."""
_REMEDIES = {
    1044: "grant the user the privilege that is missing",
    1045: "correct username and password",
    1049: "correct the database in the url, or create it",
    1062: "set primary_keys and enable_upsert = true, or remove the duplicates",
    1142: "grant the user the privilege that is missing",
    1054: f"correct the name of the column; {PLANNED_ANEW}",
    1146: f"correct the name of the table; {PLANNED_ANEW}",
    1205: "see who holds the lock: `seatunnel jobs show` names the session",
    1213: "see who else writes to the table at the same time, where it does not pass by itself",
    1264: "widen the target column",
    1406: "widen the target column",
    2026: "switch TLS on at the server, or remove sslMode and useSSL from the url",
}
_UNVERIFIED = "CERTIFICATE_VERIFY_FAILED"


_TIME_LIMITS = (1969, 3024)


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn PyMySQL's errors into typed ones."""
    try:
        yield
    except (pymysql.Error, OSError) as error:
        raise failure(error, what) from error


def failure(error: Exception, what: str) -> PluginError:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    text = str(error.args[1] if len(error.args) > 1 else error)
    if isinstance(error, pymysql.err.InterfaceError) and not text:  # the call before has lost the connection
        return RetriableError(f"{what}: the connection is closed", "check that the server is up and can be reached")
    if code in _TIME_LIMITS:
        return TimeLimitError(f"{what}: {text}", "raise max_statement_time (max_execution_time) for this user")
    if _UNVERIFIED in text:
        return FatalError(f"{what}: {text}", "name the certificate of the server's authority with sslCa in the url")
    if isinstance(error, OSError) or code in _RETRIABLE:
        return RetriableError(f"{what}: {text}", _REMEDIES.get(code, "check that the server is up and can be reached"))
    return (BadRowsError if code in _BAD_ROWS else FatalError)(f"{what}: {text}", _REMEDIES.get(code, ""))


def quote(*names: str) -> str:
    for name in names:
        if not name or "\0" in name:
            raise ValueError(f"{name!r} cannot be a name in MySQL")
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def literal(text: str) -> str:
    """A text literal that means the same with and without backslash escapes."""
    if "\\" in text or "\0" in text:
        return f"CONVERT(x'{text.encode().hex()}' USING utf8mb4)" if text else "''"
    return "'" + text.replace("'", "''") + "'"
