"""Opens a dump: a connection that announces itself as a replica, asks for the log, and reads events from then on."""

from __future__ import annotations

import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import pymysql

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained, failure
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.dump import commands
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.packets import PacketReader, ServerReportError
from seatunnel_connectors.mysql_cdc.failures import DumpEndedError, PurgedLogError, ServerIdTakenError
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_py.api import FatalError, PluginError

_FATAL_READING_LOG = 1236
_SAME_ID = 4052
_GTID_NOT_FOUND = (1236, 1950, 1951, 1955)
_SAME_ID_WORDS = ("same server_uuid", "same server_id", "same server id")
_PURGED_WORDS = ("purged", "could not find first log file", "could not find gtid state", "not find")
_DIVERGED_WORDS = ("higher sequence numbers", "diverged", "executed extra")
_REMEDIES = {
    1227: "grant the user REPLICATION SLAVE, and REPLICATION CLIENT (in MariaDB BINLOG MONITOR)",
    1381: "start the server with log_bin, and with binlog_format = ROW",
}
_GTID_CAPABILITY = 4
_HEARTBEATS_OF_SILENCE = 4
_WRITE_SECONDS = 3600
_NAMESPACE = uuid.UUID("6f8de2a5-3c0e-5a0e-9b61-1f6a3d1f7c55")


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server that a log belongs to. ``version`` is as in executable comments: 80036, 101119."""

    mariadb: bool
    version: int
    uuid: str
    fold_names: bool


class DumpSession:
    """A dump in progress. ``heartbeat`` are the seconds after which an idle server sends one. ``server``: the identity
    of the server that the request is for; empty: any."""

    def __init__(self, address: Address, request: DumpRequest, *, heartbeat: float = 5.0, server: str = "") -> None:
        self.request = request
        self._address = address
        with explained(f"connecting to {address.display}"):
            self._session = MysqlSession(address)
        try:
            self.server = server_facts(self._session)
            if server and (found := identity_of(self._session)) != server:
                raise DumpEndedError(f"{address.display} is the server {found} now, and not {server}")
            self._refuse_own_id()
            self._refuse_purged_file()
            self._announce(heartbeat)
            self._command(commands.COM_REGISTER_SLAVE, commands.register(request.server_id))
            self._session.db._read_ok_packet()
            self._command(*commands.dump(request))
        except pymysql.Error as error:
            self.close()
            raise _refused(error, request) from error
        except BaseException:
            self.close()
            raise
        self._packets = PacketReader(self._session.db._sock, heartbeat * _HEARTBEATS_OF_SILENCE)

    @property
    def ended(self) -> bool:
        """True once a bounded dump has reached the end of the log."""
        return self._packets.ended

    def read(self, seconds: float) -> list[memoryview]:
        """The events that have arrived; waits for the first one for that long, and may return none."""
        try:
            found = self._packets.read(seconds)
        except ServerReportError as error:
            raise self._explained(error) from None
        if self.ended and not self.request.bounded:
            raise DumpEndedError("the server ended the dump", "see the server's error log for the reason")
        return found

    def events(self) -> Iterator[memoryview]:
        """All events of a bounded dump."""
        while not self.ended:
            yield from self.read(1.0)

    def interrupt(self) -> None:
        """End a read that waits in another thread."""
        with suppress(OSError):  # the server has gone first
            self._session.db._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        # COM_QUIT would wait for nothing: the server ends a dump when its connection goes.
        self._session.db._force_close()

    # ------------------------------------------------------------ announcing

    def _command(self, command: int, content: bytes) -> None:
        self._session.db._execute_command(command, content)

    def _announce(self, heartbeat: float) -> None:
        """Set the variables of the session that the server looks at. MySQL and MariaDB both take the older names."""
        nanoseconds = round(heartbeat * 1_000_000_000)
        replica = uuid.uuid5(_NAMESPACE, f"{self.server.uuid}:{self.request.server_id}")
        settings = [
            "@master_binlog_checksum = @@global.binlog_checksum", "@source_binlog_checksum = @@global.binlog_checksum",
            f"@master_heartbeat_period = {nanoseconds}", f"@source_heartbeat_period = {nanoseconds}",
            f"@slave_uuid = '{replica}'", f"@replica_uuid = '{replica}'",
        ]  # fmt: skip
        if self.server.mariadb:
            settings.append(f"@mariadb_slave_capability = {_GTID_CAPABILITY}")
            if isinstance(self.request.gtids, GtidList):
                settings += [
                    f"@slave_connect_state = '{self.request.gtids}'", "@slave_gtid_strict_mode = 0",
                    "@slave_gtid_ignore_duplicates = 0",
                ]  # fmt: skip
        self._session.run(f"SET {', '.join(settings)}")
        # A reader that waits for its next unit reads nothing: the server must not take that for a lost connection.
        self._session.run(f"SET SESSION net_write_timeout = {_WRITE_SECONDS}")

    def _refuse_own_id(self) -> None:
        """Refuse the id of the server. The id of a replica is allowed, as the replica may be our own older dump: see
        `replicas`."""
        own = self._session.ask("SELECT @@server_id")[0][0]
        if int(own) == self.request.server_id:
            raise ServerIdTakenError(
                f"server id {own} is that of the server itself", "choose another `server-id` for the job"
            )

    def _refuse_purged_file(self) -> None:
        if self.request.gtids is None and self.request.file:
            files = log_files(self._session)
            if files and self.request.file not in files:
                raise self._purged(files, "")

    # ------------------------------------------------------------ errors

    def _explained(self, error: ServerReportError) -> PluginError:
        text = error.text.lower()
        if error.code == _SAME_ID or any(words in text for words in _SAME_ID_WORDS):
            return ServerIdTakenError(
                f"another replica took over with the server id {self.request.server_id}: {error.text}",
                "give each job and each replica a `server-id` of its own",
            )
        if error.code in _GTID_NOT_FOUND and any(words in text for words in _DIVERGED_WORDS):
            return PurgedLogError(
                f"{self._address.display} does not have the transactions up to {self.request.gtids}, which were read: "
                f"its own go up to {self._last_transactions()} ({error.text})",
                "compare the rows of source and target (seatunnel reconcile), then start the job with --fresh, which "
                "copies the tables again",
            )
        if error.code in _GTID_NOT_FOUND and any(words in text for words in _PURGED_WORDS):
            return self._purged(self._files_now(), error.text)
        what = f"the server ended the dump from {self.request} ({error.code}): {error.text}"
        if error.code == _FATAL_READING_LOG:
            return FatalError(what, "see the server's error log; if the log is damaged, copy the tables again")
        return failure(pymysql.OperationalError(error.code, error.text), f"the dump from {self.request}")

    def _files_now(self) -> list[str]:
        try:
            with closing(MysqlSession(self._address)) as session:
                return log_files(session)
        except (pymysql.Error, OSError):
            return []

    def _last_transactions(self) -> str:
        """The server's last transaction of each domain, for a message."""
        try:
            with closing(MysqlSession(self._address)) as session:
                [(found,)] = session.ask("SELECT @@global.gtid_binlog_pos")
        except (pymysql.Error, OSError):
            return "an unknown position"
        return found.decode() if isinstance(found, bytes) else str(found)

    def _purged(self, files: list[str], report: str) -> PurgedLogError:
        begins = f"{files[0]}:{commands.FIRST_POSITION}" if files else "an unknown position"
        return PurgedLogError(
            f"the log from {self.request} was purged: the server's log begins at {begins}"
            + (f" ({report})" if report else ""),
            "raise binlog_expire_logs_seconds on the server, and copy the tables again, or start from the latest "
            "position and accept the gap",
        )


def _refused(error: pymysql.Error, request: DumpRequest) -> PluginError:
    told = failure(error, f"asking for the log from {request}")
    remedy = _REMEDIES.get(error.args[0] if error.args else 0, "")
    return FatalError(told.message, remedy) if remedy else told


def server_facts(session: MysqlSession) -> ServerFacts:
    version, folding = session.ask("SELECT VERSION(), @@lower_case_table_names")[0]
    text = version.decode() if isinstance(version, bytes) else str(version)
    mariadb = "mariadb" in text.lower()
    # MariaDB has no uuid of its own: the id of its server takes that place.
    name = "@@server_id" if mariadb else "@@server_uuid"
    own: Any = session.ask(f"SELECT {name}")[0][0]
    return ServerFacts(mariadb, version_number(text), str(own), int(folding) > 0)


def identity_of(session: MysqlSession) -> str:
    """The server that files and offsets belong to. MariaDB has no uuid: its ids of server and domain stand for it."""
    facts = server_facts(session)
    if not facts.mariadb:
        return facts.uuid
    [(server, domain)] = session.ask("SELECT @@global.server_id, @@global.gtid_domain_id")
    return f"server_id {server}, gtid_domain_id {domain}"


def version_number(text: str) -> int:
    """``10.11.19-MariaDB`` as 101119, ``8.0.36`` as 80036. Some replicas prefix MariaDB's version with 5.5.5-."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text.removeprefix("5.5.5-"))
    return int(match[1]) * 10_000 + int(match[2]) * 100 + int(match[3]) if match else 0


def log_files(session: MysqlSession) -> list[str]:
    """The files of the server's log, the oldest first."""
    return [row[0].decode() if isinstance(row[0], bytes) else str(row[0]) for row in session.ask("SHOW BINARY LOGS")]


def replicas(session: MysqlSession) -> dict[int, str]:
    """The replicas that have announced themselves: id and host."""
    try:
        rows = session.ask("SHOW REPLICAS")
    except pymysql.Error:
        rows = session.ask("SHOW SLAVE HOSTS")
    return {int(row[0]): str(row[1]) for row in rows}
