"""The connection of a replica: where it starts, how it ends, and the answers that name a way on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession, replicas
from seatunnel_connectors.mysql_cdc.failures import (
    BinlogFormatError,
    DumpEndedError,
    EncryptedLogError,
    PurgedLogError,
    ServerIdTakenError,
)
from seatunnel_connectors.mysql_cdc.log.charsets import charset_of_collation
from seatunnel_connectors.mysql_cdc.log.event_parser import EventParser
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.reading.changes import LogIdle, LogTransactionEnd, RowsBlock
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_py.api import FatalError, Secret
from tests.connectors.mysql_cdc.conftest import SETTINGS
from tests.connectors.mysql_cdc.log_file import file_events
from tests.connectors.mysql_cdc.log_place import SERVER_ID, LogPlace, blocks, replayed, rows_of
from tests.servers.install import ServerMissing
from tests.servers.mariadb import MariadbServer


def test_transaction_ids_are_positions(log: LogPlace) -> None:
    """Each end of a transaction leads to the rest, by its id and by its place."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    definitions = log.definitions("t")
    for number in range(6):
        log.run(f"INSERT INTO t VALUES ({number})", *(["FLUSH LOGS"] if number == 3 else []))
    reader = LogReader(log.history(definitions), log.start)
    dump = DumpSession(log.address, log.request())
    ends = []
    for event in dump.events():
        ends += [one.end for one in [*reader.read([event]), *reader.flush()] if isinstance(one, LogTransactionEnd)]
    dump.close()

    assert len(ends) == 7
    for number, end in enumerate(ends):
        wanted = [("+I", (one,)) for one in range(number, 6)]
        assert isinstance(end.gtids, GtidList)
        by_id = DumpRequest(SERVER_ID, gtids=end.gtids, bounded=True)
        start = BinlogPosition("", 0, end.gtids)
        assert rows_of(blocks(list(log.changes(definitions, start, request=by_id)))) == wanted
        assert rows_of(blocks(list(log.changes(definitions, end)))) == wanted
    [(now,)] = log.ask("SELECT @@gtid_binlog_pos")
    assert str(ends[-1].gtids) == now


def test_rotation_under_load(log: LogPlace) -> None:
    """F-C30, F-C31: files change while the dump goes on."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    definitions = log.definitions("t")
    done = threading.Event()

    def write() -> None:
        db = pymysql.connect(**log.server.connection("a"), autocommit=True)
        with db.cursor() as cursor:
            for number in range(600):
                cursor.execute(f"INSERT INTO t VALUES ({number}, 0)")
                cursor.execute(f"UPDATE t SET v = v + 1 WHERE id = {number // 2}")
                if number % 50 == 0:
                    cursor.execute("FLUSH LOGS")
        db.close()
        done.set()

    writer = threading.Thread(target=write)
    reader = LogReader(log.history(definitions), log.start)
    dump = DumpSession(log.address, log.request(bounded=False))
    found = []
    events: list[memoryview] = []
    writer.start()
    while not done.is_set() or events:
        events = dump.read(0.3)
        found += [*reader.read(events), *reader.flush()]
    dump.close()
    writer.join()

    assert replayed(blocks(found)) == {row[0]: row for row in log.ask("SELECT * FROM t")}


def test_an_idle_server_sends_heartbeats(log: LogPlace) -> None:
    """F-C22: they move the position, and prove that the server is there."""
    dump = DumpSession(log.address, log.request(bounded=False), heartbeat=0.2)
    reader = LogReader(log.history(), log.start)
    found = []
    until = time.monotonic() + 60
    while time.monotonic() < until and not any(isinstance(one, LogIdle) for one in found[3:]):
        found += [*reader.read(dump.read(0.5)), *reader.flush()]
    dump.close()

    assert found[-1].end.offset == log.end().offset


def test_a_second_dump_with_the_same_id_ends_the_first(log: LogPlace) -> None:
    """F-C13, F-C34: as a takeover wants it, and named for whoever else has that id."""
    first = DumpSession(log.address, log.request(bounded=False))
    first.read(0.2)
    session = MysqlSession(log.address)
    assert SERVER_ID in replicas(session)
    session.close()
    second = DumpSession(log.address, log.request(bounded=False))

    with pytest.raises((ServerIdTakenError, DumpEndedError)):
        for _ in range(20):
            first.read(0.5)
    log.run("CREATE TABLE t (id INT)")
    assert second.read(2.0)
    second.close()
    with pytest.raises(ServerIdTakenError, match="server id 7 is that of the server itself"):
        DumpSession(log.address, DumpRequest(7, log.start.file, 4))


def test_semi_synchronous_replication_is_not_asked_for(log: LogPlace) -> None:
    log.run(
        "SET GLOBAL rpl_semi_sync_master_enabled = ON",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
    )
    try:
        assert rows_of(blocks(list(log.changes()))) == [("+I", (1,))]
    finally:
        log.run("SET GLOBAL rpl_semi_sync_master_enabled = OFF")


def test_a_position_beyond_the_log(log: LogPlace) -> None:
    with pytest.raises(Exception, match="the server ended the dump from .*4000000000"):
        list(log.changes(start=BinlogPosition(log.start.file, 4_000_000_000)))
    with pytest.raises(PurgedLogError, match="beyond 4 GB of its file"):
        list(log.changes(start=BinlogPosition(log.start.file, 1 << 33)))


def test_rows_larger_than_a_packet(log: LogPlace) -> None:
    """Events of more than 16 MB go on over several packets."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v LONGBLOB)", "SET GLOBAL max_allowed_packet = 134217728")
    db = pymysql.connect(**log.server.connection("a"), autocommit=True)
    with db.cursor() as cursor:
        for number, size in enumerate((1, (1 << 24) - 60, 1 << 24, 40_000_000)):
            cursor.execute(f"INSERT INTO t VALUES ({number}, REPEAT(CHAR({65 + number}), {size}))")
    db.close()

    found = rows_of(blocks(list(log.changes(log.definitions("t")))))

    assert [(row[0], len(row[1]), row[1][:1]) for _, row in found] == [
        (0, 1, b"A"), (1, (1 << 24) - 60, b"B"), (2, 1 << 24, b"C"), (3, 40_000_000, b"D"),
    ]  # fmt: skip


def test_collations_are_those_of_the_server(log: LogPlace) -> None:
    for number, charset in log.ask(
        "SELECT id, character_set_name FROM information_schema.collation_character_set_applicability WHERE id IS NOT NULL"
    ):
        ours = charset_of_collation(int(number))
        assert (
            ours in (charset, "")
            if charset in ("armscii8", "dec8", "hp8", "swe7", "geostd8", "keybcs2")
            else ours == charset
        ), number


# ---------------------------------------------------------------- servers of their own


@pytest.fixture
def own_server() -> Iterator[MariadbServer]:
    try:
        with MariadbServer.running(settings=SETTINGS) as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


def place_of(server: MariadbServer) -> LogPlace:
    db = pymysql.connect(**server.connection(), autocommit=True)
    with db.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS a")
        cursor.execute("USE a")
    place = LogPlace(db, server, BinlogPosition("", 0))
    place.start = place.end()
    return place


def test_a_purged_log_names_both_positions(own_server: MariadbServer) -> None:
    """F-C9, F-C21, F-C22: by file and by transaction id."""
    log = place_of(own_server)
    log.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    [(gtid,)] = log.ask("SELECT @@gtid_binlog_pos")
    log.run("INSERT INTO t VALUES (2)", "FLUSH LOGS", "FLUSH LOGS")
    while log.ask("SHOW BINARY LOGS")[0][0] != "log.000003":
        # A file stays until the server has noted that a recovery does not need it.
        log.run("PURGE BINARY LOGS TO 'log.000003'")
        time.sleep(0.05)

    with pytest.raises(
        PurgedLogError, match=r"the log from log.000001:\d+ was purged: the server's log begins at log.000003:4"
    ):
        list(log.changes())
    with pytest.raises(
        PurgedLogError, match=rf"the log from the transactions after {gtid} was purged: .* log.000003:4"
    ):
        list(log.changes(request=DumpRequest(SERVER_ID, gtids=GtidList.parse(gtid), bounded=True)))


@pytest.mark.parametrize("way", ["kill9", "stop"])
def test_a_server_that_goes_away(own_server: MariadbServer, way: str) -> None:
    """The rows before it are whole; a new dump goes on."""
    log = place_of(own_server)
    log.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    definitions = log.definitions("t")
    reader = LogReader(log.history(definitions), log.start)
    dump = DumpSession(log.address, log.request(bounded=False))
    found = []
    while not blocks(found):
        found += [*reader.read(dump.read(1.0)), *reader.flush()]
    end = found[-1].end
    getattr(own_server, way)()

    with pytest.raises(DumpEndedError, match="lost|ended the dump"):
        for _ in range(20):
            dump.read(1.0)
    dump.close()
    own_server.start()
    again = place_of(own_server)
    again.run("INSERT INTO t VALUES (2)")
    assert rows_of(blocks(list(again.changes(definitions, end)))) == [("+I", (2,))]


def test_a_silent_server(own_server: MariadbServer) -> None:
    """Neither events nor heartbeats: the connection counts as lost."""
    log = place_of(own_server)
    dump = DumpSession(log.address, log.request(bounded=False), heartbeat=0.3)
    dump._session.run = lambda *_: 0  # type: ignore[method-assign]
    dump._packets._socket = Deaf()

    with pytest.raises(DumpEndedError, match="has sent nothing for 1 s, not even a heartbeat"):
        while True:
            dump.read(0.2)


class Deaf:
    def settimeout(self, seconds: float) -> None:
        self.seconds = seconds

    def recv(self, _: int) -> bytes:
        time.sleep(self.seconds)
        raise TimeoutError


def test_files_of_the_log(own_server: MariadbServer, tmp_path: Path) -> None:
    """A file gives what the dump gives; what is no log, and what is encrypted, is named."""
    log = place_of(own_server)
    log.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
        "INSERT INTO t SELECT seq, REPEAT('x', seq) FROM seq_1_to_2000",
        "FLUSH LOGS",
    )
    definitions = log.definitions("t")
    reader = LogReader(log.history(definitions), BinlogPosition("log.000001", 4), parser=EventParser(from_file=True))

    found = [*reader.read(file_events(own_server.data / "log.000001")), *reader.flush()]

    assert replayed(blocks(found)) == {row[0]: row for row in log.ask("SELECT * FROM t")}
    for content, error in ((b"\xfdbin....", EncryptedLogError), (b"PK..", BinlogFormatError)):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(error):
            list(file_events(tmp_path / "file"))


def test_an_encrypted_log_is_clear_in_a_dump(tmp_path: Path) -> None:
    """The server decrypts it; its file is refused by name (START_ENCRYPTION)."""
    keys = tmp_path / "keys"
    keys.write_text("1;" + "a" * 32 + "\n")
    for parent in (keys, *keys.parents):
        if parent.stat().st_mode & 0o055 != 0o055 and str(parent).startswith("/tmp"):
            parent.chmod(0o755)
    settings = {
        **SETTINGS,
        "plugin_load_add": "file_key_management",
        "file_key_management_filename": str(keys),
        "encrypt_binlog": "ON",
    }
    try:
        with MariadbServer.running(settings=settings) as server:
            log = place_of(server)
            log.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "FLUSH LOGS")
            assert rows_of(blocks(list(log.changes(log.definitions("t"))))) == [("+I", (1,))]
            with pytest.raises(EncryptedLogError, match="encrypted by the server"):
                parser = EventParser(from_file=True)
                for data in file_events(server.data / "log.000001"):
                    list(parser.parse(parser.header(data), data))
    except ServerMissing as missing:
        pytest.skip(str(missing))


def test_without_checksums_and_by_tls_address(own_server: MariadbServer) -> None:
    log = place_of(own_server)
    log.run("SET GLOBAL binlog_checksum = NONE", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")

    assert rows_of(blocks(list(log.changes(log.definitions("t"))))) == [("+I", (1,))]
    log.run("SET GLOBAL binlog_checksum = CRC32", "INSERT INTO t VALUES (2)")
    assert rows_of(blocks(list(log.changes(log.definitions("t"))))) == [("+I", (1,)), ("+I", (2,))]
    assert parse_url(f"jdbc:mysql://127.0.0.1:{own_server.port}/a").port == own_server.port


def test_a_dump_that_starts_in_the_middle_needs_no_rows_before(log: LogPlace) -> None:
    log.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    middle = log.end()
    log.run("INSERT INTO t VALUES (2)")
    found = list(log.changes(log.definitions("t"), middle))
    assert rows_of(blocks(found)) == [("+I", (2,))]
    assert [one.end.file for one in found if isinstance(one, RowsBlock)] == [middle.file]


def test_missing_rights_and_missing_logs_are_named(log: LogPlace) -> None:
    log.run("CREATE OR REPLACE USER reader IDENTIFIED BY 'x'", "GRANT SELECT ON *.* TO reader")
    address = parse_url(f"jdbc:mysql://127.0.0.1:{log.server.port}/a?useSSL=false")
    other = replace(address, user="reader", password=Secret("x"))
    with pytest.raises(FatalError, match="grant the user REPLICATION SLAVE"):
        DumpSession(other, log.request())
    with pytest.raises(FatalError, match="connecting to 127.0.0.1"):
        DumpSession(replace(address, user="nobody", password=Secret("y")), log.request())
    try:
        with (
            MariadbServer.running(settings={"server_id": "7"}) as server,
            pytest.raises(FatalError, match="with log_bin"),
        ):
            DumpSession(parse_url(f"jdbc:mysql://127.0.0.1:{server.port}/test?useSSL=false"), log.request())
    except ServerMissing as missing:
        pytest.skip(str(missing))
