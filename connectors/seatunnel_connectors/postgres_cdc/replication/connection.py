"""The replication connection: commands of the replication protocol, and the stream with its feedback.

Positions are confirmed by ``confirm`` alone, never because something was received or decoded: the server forgets what
is confirmed (F-C1, F-C2). Everything else keeps the connection alive: a status each second, and at once when asked.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass, field
from struct import Struct

import numpy as np
import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from seatunnel_connectors.jdbc.postgres.connection.pinned import pinned
from seatunnel_connectors.jdbc.postgres.connection.session import literal, quote
from seatunnel_connectors.postgres_cdc.pgoutput.elements import EPOCH_MICROSECONDS
from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.frames import KEEPALIVE, XLOG_DATA
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Gatherer, Messages
from seatunnel_connectors.postgres_cdc.replication import failpoints
from seatunnel_connectors.postgres_cdc.replication.failures import replication_failure
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text
from seatunnel_connectors.postgres_cdc.replication.transports import (
    SMALL_BYTES,
    WANTED_BYTES_MAX,
    LibpqTransport,
    SocketTransport,
    Transport,
)
from seatunnel_py.api import RetriableError, TimeLimitError

STATUS_SECONDS = 1.0
SILENCE_SECONDS = 30.0
COMMAND_SECONDS = 60.0
_SETTINGS = (
    "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex -c extra_float_digits=3 "
    "-c lc_monetary=C -c standard_conforming_strings=on"
)
_XLOG_HEAD, _KEEPALIVE_BYTES = 25, 18
_STATUS = Struct(">cqqqqB")
_GSS_SINCE = 120000


@dataclass(frozen=True, slots=True)
class SystemIdentity:
    """The server: ``system`` stays the same over failovers, ``timeline`` rises with each."""

    system: str
    timeline: int
    position: int
    database: str


@dataclass(frozen=True, slots=True)
class CreatedSlot:
    """A new slot. Changes from ``consistent_point`` on come through it; ``snapshot`` shows everything before. The
    snapshot can be joined until this connection's next command."""

    name: str
    consistent_point: int
    snapshot: str


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a slot is read. ``start`` is not before the position that the slot has confirmed."""

    slot: str
    publications: tuple[str, ...]
    start: int = 0
    version: int = 1
    messages: bool = False
    more: tuple[tuple[str, str], ...] = ()

    def sql(self) -> str:
        options = {
            "proto_version": str(self.version),
            "publication_names": ",".join(map(quote, self.publications)),
            **({"messages": "true"} if self.messages else {}),
            **dict(self.more),
        }
        shown = ", ".join(f"{name} {literal(value)}" for name, value in options.items())
        return f"START_REPLICATION SLOT {quote(self.slot)} LOGICAL {lsn_text(self.start)} ({shown})"


@dataclass(frozen=True, slots=True)
class Received:
    """Data that came. ``messages`` are valid until the next call. ``wal_end`` is how far the server had read or written
    its log; ``idle_end``, if not None, is a keepalive's position after all messages so far: it may be confirmed if the
    decoder has no open transaction (F-C4)."""

    messages: Messages
    wal_end: int
    idle_end: int | None
    ended: bool


def session_info(info: str) -> str:
    """The connection string with the settings that fix the text of each value; they are those of reading a table."""
    words = conninfo_to_dict(info)
    options = f"{words.get('options') or ''} {_SETTINGS}".strip()
    return make_conninfo(info, client_encoding="UTF8", options=options)


def replication_info(info: str) -> str:
    """Return the connection string of a session with the replication protocol."""
    return make_conninfo(session_info(info), replication="database")


class ReplicationConnection:
    """One connection, for one stream at most. ``encrypted``: only libpq can read it."""

    def __init__(self, info: str, what: str = "the replication connection") -> None:
        self.what = what
        self.pgconn = pq.PGconn.connect(pinned(replication_info(info)).encode())
        if self.pgconn.status != pq.ConnStatus.OK:
            reason = self.pgconn.get_error_message()
            self.pgconn.finish()
            raise replication_failure(psycopg.OperationalError(reason), what)
        self._transport: Transport | None = None
        self.encrypted = bool(self.pgconn.ssl_in_use) or self._by_gss()

    def _by_gss(self) -> bool:
        if self.pgconn.server_version < _GSS_SINCE:
            return False
        rows = self.ask("SELECT encrypted FROM pg_stat_gssapi WHERE pid = pg_backend_pid()")
        return bool(rows) and rows[0].get("encrypted") == "t"

    def identify(self) -> SystemIdentity:
        row = self.ask("IDENTIFY_SYSTEM")[0]
        return SystemIdentity(row["systemid"], int(row["timeline"]), lsn_of(row["xlogpos"]), row["dbname"])

    def create_slot(
        self, name: str, *, temporary: bool = False, failover: bool = False, seconds: float = COMMAND_SECONDS
    ) -> CreatedSlot:
        """Create a slot and export its snapshot. Waits for every transaction that runs: TimeLimitError after
        ``seconds``. ``temporary``: it ends with this connection."""
        form = f"(SNAPSHOT 'export'{', FAILOVER true' if failover else ''})"
        if self.pgconn.server_version < 150000:
            form = "EXPORT_SNAPSHOT"
        kind = "TEMPORARY LOGICAL" if temporary else "LOGICAL"
        row = self.ask(f"CREATE_REPLICATION_SLOT {quote(name)} {kind} pgoutput {form}", seconds)[0]
        return CreatedSlot(row["slot_name"], lsn_of(row["consistent_point"]), row["snapshot_name"])

    def start(self, options: StreamOptions, *, through_libpq: bool = False) -> ReplicationStream:
        """Begin to read. Raises SlotInUseError, LogLostError."""
        try:
            if self.encrypted or through_libpq:
                self._run(options.sql(), COMMAND_SECONDS, pq.ExecStatus.COPY_BOTH)
                self._transport = LibpqTransport(self.pgconn)
            else:
                self._transport = plain = SocketTransport(self.pgconn)
                plain.begin(options.sql(), COMMAND_SECONDS)
        except psycopg.Error as error:
            raise replication_failure(error, f"{self.what}, slot {options.slot}") from error
        return ReplicationStream(self._transport, f"{self.what}, slot {options.slot}")

    def ask(self, sql: str, seconds: float = COMMAND_SECONDS) -> list[dict[str, str]]:
        """Rows of a command or a simple query."""
        try:
            result = self._run(sql, seconds, pq.ExecStatus.TUPLES_OK)
        except psycopg.Error as error:
            raise replication_failure(error, self.what) from error
        names = [(result.fname(at) or b"").decode() for at in range(result.nfields)]
        return [
            {name: (result.get_value(row, at) or b"").decode() for at, name in enumerate(names)}
            for row in range(result.ntuples)
        ]

    def _run(self, sql: str, seconds: float, wanted: pq.ExecStatus) -> pq.abc.PGresult:
        until = time.monotonic() + seconds
        self.pgconn.send_query(sql.encode())
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        self.pgconn.flush()
        while self.pgconn.is_busy():
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000) and time.monotonic() >= until:
                self.pgconn.get_cancel().cancel()
                raise TimeLimitError(
                    f"{self.what}: {sql.split(' (')[0]} has taken {seconds:g} s",
                    "a new slot waits for every running transaction to end: see who forgot one "
                    "(SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start)",
                )
            self.pgconn.consume_input()
        result = self.pgconn.get_result()
        if result is None or result.status != wanted:
            raise psycopg.errors.error_from_result(result) if result else psycopg.OperationalError("no answer")
        if wanted != pq.ExecStatus.COPY_BOTH:
            while self.pgconn.get_result() is not None:
                pass
        return result

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self.pgconn.finish()


@dataclass(slots=True)
class ReplicationStream:
    """A slot that is being read. ``confirmed`` is the position that was confirmed; 0: none yet, because the
    start of reading may be newer than the oldest checkpoint."""

    transport: Transport
    what: str
    confirmed: int = 0
    silence_seconds: float = SILENCE_SECONDS
    wal_end: int = 0
    _status_at: float = 0.0
    _heard_at: float = field(default_factory=time.monotonic)
    _asked: bool = False

    def receive(self, seconds: float) -> Received:
        """Messages that came within ``seconds``. Raises RetriableError where the connection is lost or silent."""
        try:
            return self._received(seconds)
        except psycopg.Error as error:
            raise replication_failure(error, self.what) from error

    def _received(self, seconds: float) -> Received:
        until = time.monotonic() + seconds
        while True:
            self._keep_alive(time.monotonic())
            wait = min(until - time.monotonic(), self._status_at + STATUS_SECONDS - time.monotonic())
            found = self._split(self.transport.read(max(0.0, wait)))
            if len(found.messages) or found.idle_end is not None or found.ended or time.monotonic() >= until:
                return found

    def _split(self, contents: Messages) -> Received:
        """Take keepalives out of what came."""
        idle_end, count = None, len(contents)
        starts, ends = contents.starts, contents.ends
        if count:
            self._heard_at, self._asked = time.monotonic(), False
            data = Gatherer(contents.buffer)
            kinds, sizes = data.u1(starts), ends - starts
            is_data = kinds == XLOG_DATA
            if not (np.where(is_data, sizes > _XLOG_HEAD, (kinds == KEEPALIVE) & (sizes == _KEEPALIVE_BYTES))).all():
                raise MalformedMessageError("the server sent neither log data nor a keepalive")
            last = int(data.i8(starts[-1:] + (9 if is_data[-1] else 1))[0])
            self.wal_end = max(self.wal_end, last)
            if not is_data[-1]:
                idle_end = last
            if not is_data.all():
                asks = data.u1(starts[~is_data] + 17).any()
                starts, ends = starts[is_data], ends[is_data]
                if asks:
                    self.send_status()
        messages = Messages(contents.buffer, starts + _XLOG_HEAD, ends)
        return Received(messages, self.wal_end, idle_end, self.transport.ended)

    def expect(self, tables: int) -> None:
        """Take larger pieces while rows of so many tables come mixed: a batch of each costs, however small it is."""
        self.transport.wanted_bytes = min(SMALL_BYTES * max(1, tables // 2), WANTED_BYTES_MAX)

    def confirm(self, position: int) -> None:
        """Everything before the position is durable: the server may forget it. The confirmed position never moves
        back."""
        if position > self.confirmed:
            self.confirmed = position
            self.send_status()
            failpoints.POSITION_CONFIRMED.hit()

    def keep_alive(self) -> None:
        """Send a status if one is due; called between two calls of ``receive``. Silence counts from the last call: what
        the server sends meanwhile is not read."""
        now = time.monotonic()
        self._heard_at, self._asked = now, False
        try:
            self._keep_alive(now)
        except psycopg.Error as error:
            raise replication_failure(error, self.what) from error

    def _keep_alive(self, now: float) -> None:
        silent = now - self._heard_at
        if self._asked and silent > 2 * self.silence_seconds:
            raise RetriableError(
                f"{self.what}: the server has sent nothing for {silent:.0f} s, and does not answer",
                "check that the server is up and can be reached",
            )
        if silent > self.silence_seconds and not self._asked:
            self._asked = True
            self.send_status(reply=True)
        elif now >= self._status_at + STATUS_SECONDS:
            self.send_status()

    def send_status(self, *, reply: bool = False) -> None:
        """Send the confirmed position to the server."""
        self._status_at = time.monotonic()
        clock = time.time_ns() // 1000 - EPOCH_MICROSECONDS
        at = self.confirmed
        self.transport.write(_STATUS.pack(b"r", max(at, self.wal_end), at, at, clock, reply))

    def stop(self, seconds: float = 5.0) -> None:
        """End the stream in order, so that the server frees the slot at once."""
        until = time.monotonic() + seconds
        try:
            self.send_status()
            self.transport.end()
            while not self.transport.ended and time.monotonic() < until:
                self.transport.read(0.1)
        except psycopg.Error as error:
            raise replication_failure(error, self.what) from error
