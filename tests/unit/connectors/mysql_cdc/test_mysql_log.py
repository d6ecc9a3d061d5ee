"""MySQL's own forms of a log, on bytes that an encoder makes: no MySQL server has run here (F-C26, F-C27, F-C29, F-C35)."""

from __future__ import annotations

import json
import struct
import uuid
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.mysql_cdc.dump import commands
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import version_number
from seatunnel_connectors.mysql_cdc.failures import (
    BinlogFormatError,
    ChecksumError,
    IncidentError,
    PurgedLogError,
    StatementLoggedError,
    UnknownEventError,
)
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.event_parser import EventParser
from seatunnel_connectors.mysql_cdc.log.events import Event, LogHeartbeat, MysqlGtid, PreviousGtids, RowsQuery
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.log.variable_integers import read_signed, read_unsigned, write_unsigned
from seatunnel_connectors.mysql_cdc.reading.changes import LogTransactionEnd, RowsBlock
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.schema.history import TableHistory
from tests.connectors.mysql_cdc.encoder import (
    UUID,
    Column,
    Log,
    bitmap,
    counted,
    event,
    image,
    json_document,
    lenenc,
    query_body,
    rows_body,
    table_map_body,
)

SOURCE = str(uuid.UUID(bytes=UUID))
INT, TEXT, DOCUMENT = Column(3, b"", "int"), Column(15, b"\xf0\x00", "varchar(60)", "utf-8"), Column(245, b"\4", "json")
COLUMNS = (INT, TEXT)


def names(count: int) -> bytes:
    """Metadata with names, that the log describes itself."""
    return b"\4" + counted(b"".join(counted(f"c{i}".encode()) for i in range(count))) + b"\2" + counted(b"\x2d")


def parsed(log: Log) -> list[Event]:
    parser = EventParser()
    return [one for data in log.views() for one in parser.parse(parser.header(data), data)]


def read(log: Log, start: BinlogPosition | None = None) -> list[Any]:
    history = TableHistory({}, lambda name: name[0] == "d", mariadb=False, server_version=80036)
    reader = LogReader(history, start or BinlogPosition("", 0, GtidSet()))
    return [*reader.read(log.views()), *reader.flush()]


def rows(found: list[Any]) -> list[tuple[Any, ...]]:
    return [
        (kind, *row.values())
        for one in found
        if isinstance(one, RowsBlock)
        for block in one.tables
        for kind, row in zip(block.rows.kinds.to_pylist(), block.rows.data.to_pylist(), strict=True)
    ]


def test_a_transaction_of_each_version_of_rows_events() -> None:
    """Version 2 may carry the numbers of partitions (F-C32)."""
    for base, extra in ((23, b""), (30, b""), (30, b"\1\0\5\0")):
        log = Log()
        log.gtid(7)
        log.query("BEGIN")
        log.table(COLUMNS, metadata=names(2))
        log.rows(base, COLUMNS, [(1, "ä"), (2, None)], extra=extra)
        log.rows(base + 1, COLUMNS, [(1, "ä"), (-5, "")], extra=extra)
        log.rows(base + 2, COLUMNS, [(2, None)], extra=extra)
        log.xid()

        found = read(log)

        assert rows(found) == [(0, 1, "ä"), (0, 2, None), (1, 1, "ä"), (2, -5, ""), (3, 2, None)]
        assert isinstance(found[-1], LogTransactionEnd)
        assert found[-1].transaction == f"{SOURCE}:7"
        assert str(found[-1].end.gtids) == f"{SOURCE}:7"
        assert (found[-1].end.file, found[-1].end.offset) == ("bin.000001", log.at)


def payload(events: list[bytes], compression: int) -> bytes:
    data = b"".join(events)
    packed = pa.Codec("zstd").compress(data, asbytes=True) if compression == 0 else data
    fields = (
        b"\2" + counted(lenenc(compression)) + b"\3" + counted(lenenc(len(data))) + b"\1" + counted(lenenc(len(packed)))
    )
    return fields + b"\0" + packed


@pytest.mark.parametrize("compression", [0, 255])
def test_a_transaction_payload(compression: int) -> None:
    """F-C26, F-C27: the rows of a compressed transaction, with positions that lead back to its start."""
    inner = [
        event(2, query_body("BEGIN"), checksum=False),
        event(19, table_map_body(COLUMNS, "t", 1, names(2)), checksum=False),
        *(event(30, rows_body(30, COLUMNS, [(i, "x")]), checksum=False) for i in range(5)),
        event(16, struct.pack("<Q", 1), checksum=False),
    ]  # fmt: skip
    log = Log()
    log.gtid(1)
    begin = log.at
    log.add(40, payload(inner, compression))
    log.gtid(2)

    found = read(log)

    assert rows(found) == [(0, i, "x") for i in range(5)]
    assert str(found[0].end.gtids) == f"{SOURCE}:1"
    assert found[0].end.offset > begin
    start = BinlogPosition("bin.000001", 4, GtidSet(), events=3)
    assert rows(read(log, start)) == [(0, 3, "x"), (0, 4, "x")]
    assert rows(read(log, replace(start, rows=1))) == [(0, 4, "x")]


def test_damaged_payloads() -> None:
    inner = [event(30, rows_body(30, COLUMNS, [(1, "x")]), checksum=False)]
    whole = payload(inner, 0)
    for damaged, message in (
        (whole[:-3], "ends early"),
        (payload(inner, 7), "unknown way 7"),
        (payload([event(40, b"", checksum=False)], 255), "a transaction payload holds an event TRANSACTION_PAYLOAD"),
        (payload([b"".join(inner)[:-1]], 255), "ends in the middle|of 4294"),
        (payload([struct.pack("<IBIIIH", 0, 30, 1, 1 << 31, 0, 0)], 0), "holds an event of 2147483648 bytes"),
    ):
        log = Log()
        log.gtid()
        log.add(40, damaged)
        with pytest.raises(BinlogFormatError, match=message):
            read(log)


def signed(number: int) -> bytes:
    return write_unsigned(number << 1 if number >= 0 else ~number << 1 | 1)


def test_tagged_transaction_ids() -> None:
    """F-C29: the form of MySQL 8.3, with fields that may be left out or come later."""
    fields = [
        (0, write_unsigned(1)), (1, b"".join(write_unsigned(one) for one in UUID)), (2, signed(1 << 40)), (3, write_unsigned(3) + b"tag"),
        (4, signed(4)), (5, signed(5)), (6, write_unsigned(1_700_000_000_000_000)), (8, write_unsigned(300)),
        (9, write_unsigned(80300)), (11, write_unsigned(9)), (12, b"new"),
    ]  # fmt: skip
    body = b"".join(write_unsigned(number) + data for number, data in fields)
    log = Log()
    log.add(42, write_unsigned(2) + write_unsigned(len(body)) + write_unsigned(5) + body)
    log.query("BEGIN")
    log.xid()

    [gtid] = [one for one in parsed(log) if isinstance(one, MysqlGtid)]

    assert (gtid.uuid, gtid.tag, gtid.number, gtid.commit_microseconds) == (
        SOURCE,
        "tag",
        1 << 40,
        1_700_000_000_000_000,
    )
    assert str(read(log)[-1].end.gtids) == f"{SOURCE}:tag:{1 << 40}"
    log = Log()
    log.add(42, write_unsigned(2) + write_unsigned(len(body)) + write_unsigned(12) + body)
    with pytest.raises(BinlogFormatError, match="unknown field 12, which must not be skipped"):
        parsed(log)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16383, 16384, (1 << 56) - 1, 1 << 56, (1 << 63) + 7, (1 << 64) - 1])
def test_variable_integers(number: int) -> None:
    assert read_unsigned(ByteReader(write_unsigned(number), "x")) == number
    for one in (number >> 1, -(number >> 1)):
        assert read_signed(ByteReader(signed(one), "x")) == one
    assert write_unsigned(65535) == bytes([0b11111011, 0b11111111, 0b111])  # the example of MySQL's documentation


def test_sets_of_transactions() -> None:
    other = "ffffffff-0000-0000-0000-000000000001"
    text = f"{SOURCE}:1-5:8:tag:3-4,{other}:7"
    parsed_set = GtidSet.parse(text.upper().replace(":TAG:", ":Tag:"))
    assert str(parsed_set) == text
    assert GtidSet.from_bytes(parsed_set.to_bytes()) == parsed_set
    plain = GtidSet.parse(f"{SOURCE}:1-5:6-9:2-3")
    assert str(plain) == f"{SOURCE}:1-9"
    assert plain.to_bytes() == struct.pack("<Q", 1) + UUID + struct.pack("<QQQ", 1, 1, 10)
    assert GtidSet.from_bytes(plain.to_bytes()) == plain
    assert plain.contains(GtidSet.parse(f"{SOURCE}:4-9")) and not plain.contains(parsed_set)
    assert not GtidSet.parse(f"{SOURCE}:1-3:5-9").contains(GtidSet.parse(f"{SOURCE}:3-5"))
    for wrong in ("x:1", SOURCE, f"{SOURCE}:0", f"{SOURCE}:5-1"):
        with pytest.raises(ValueError):
            GtidSet.parse(wrong)
    log = Log()
    log.add(35, parsed_set.to_bytes())
    assert [one.gtids for one in parsed(log) if isinstance(one, PreviousGtids)] == [parsed_set]


def test_heartbeats_of_both_versions() -> None:
    log = Log()
    log.artificial(27, b"bin.000009")
    log.artificial(
        41, b"\1" + counted(b"bin.000009") + b"\2" + counted(lenenc(5 << 32)) + b"\7" + counted(b"new") + b"\0"
    )

    first, second = [one for one in parsed(log) if isinstance(one, LogHeartbeat)]

    assert (first.file, second.file, second.position) == ("bin.000009", "bin.000009", 5 << 32)
    assert read(log)[-1].end.offset == 5 << 32


def test_partial_json_updates() -> None:
    """Differences are applied to the document before; other columns and whole documents come as they are."""
    columns = (INT, DOCUMENT, DOCUMENT)
    before = {"a": [1, 2, {"b": "x"}], "long name": 1.5, "z": None}

    def diff(operation: int, path: str, value: Any = None) -> bytes:
        return bytes([operation]) + counted(path.encode()) + (counted(json_document(value)) if operation < 2 else b"")

    diffs = (
        diff(0, "$.a[2].b", "ä")
        + diff(1, "$.bb", [True])
        + diff(2, "$.z")
        + diff(1, "$.a[1]", 7)
        + diff(0, '$."long name"', -1)
    )
    everything = [True] * 3
    first = image(columns, (1, before, [1]), everything)
    marks = b"\1" + bytes([0b01])
    after = b"\xf8" + struct.pack("<i", 1) + struct.pack("<I", len(diffs)) + diffs + columns[2].encode([2])
    whole = b"\0" + image(columns, (2, {"n": 1}, None), everything)
    body = (1).to_bytes(6, "little") + b"\1\0\2\0" + lenenc(3) + bitmap(everything) * 2
    body += first + marks + after + image(columns, (2, None, []), everything) + whole
    log = Log()
    log.query("BEGIN")
    log.table(columns, metadata=names(3))
    log.add(39, body)
    log.xid()

    assert rows(read(log)) == [
        (1, 1, '{"a": [1, 2, {"b": "x"}], "z": null, "long name": 1.5}', "[1]"),
        (2, 1, '{"a": [1, 7, 2, {"b": "ä"}], "bb": [true], "long name": -1}', "[2]"),
        (1, 2, None, "[]"),
        (2, 2, '{"n": 1}', None),
    ]  # fmt: skip


def test_statements_between_rows() -> None:
    log = Log()
    log.query("BEGIN")
    log.add(29, b"\x05" + b"UPDATE d.t SET c0 = 1")
    log.query("SAVEPOINT `s`")
    log.table(COLUMNS, metadata=names(2))
    log.rows(30, COLUMNS, [(1, "x")])
    log.query("SAVEPOINT `r`")
    log.xid()

    found = read(log)

    assert len([one for one in found if isinstance(one, LogTransactionEnd)]) == 1
    assert [one.statement for one in parsed(log) if isinstance(one, RowsQuery)] == ["UPDATE d.t SET c0 = 1"]
    log = Log()
    log.query("BEGIN")
    log.table(COLUMNS, metadata=names(2))
    log.rows(30, COLUMNS, [(1, "x")])
    log.query("ROLLBACK")
    with pytest.raises(StatementLoggedError, match="rolled back after them"):
        read(log)


def test_unknown_events() -> None:
    """F-C28: skipped where their flag allows, else refused."""
    log = Log()
    log.add(99, b"new", flags=0x80)
    assert len(parsed(log)) == 3
    log.add(99, b"new")
    with pytest.raises(
        UnknownEventError, match=f"of the unknown type 99 that ends at position {log.at}, which must not be skipped"
    ):
        parsed(log)


def test_checksums() -> None:
    log = Log()
    log.query("BEGIN")
    log.table(COLUMNS)
    for number in range(1, 4):
        for at in (0, 25, -1):
            broken = Log(events=[])
            broken.events = [bytes(one) for one in log.events]
            data = bytearray(broken.events[number])
            data[at] ^= 1
            broken.events[number] = bytes(data)
            with pytest.raises(ChecksumError, match="damaged: its checksum differs"):
                parsed(broken)
    assert len(parsed(Log(checksums=False))) == 2


def test_an_incident_stops_the_reader() -> None:
    log = Log()
    log.add(26, struct.pack("<H", 1) + b"\4lost")
    with pytest.raises(IncidentError, match=r"events are missing from its log \(incident 1: lost\)"):
        parsed(log)


def test_positions_of_64_bits() -> None:
    """The header's position wraps at 4 GB."""
    log = Log()
    log.at = (1 << 32) - 40
    reader = LogReader(
        TableHistory({}, lambda _: False, mariadb=False, server_version=80036), BinlogPosition("bin.000001", log.at)
    )
    log.events = log.events[:1]
    log.events[0] = event(4, struct.pack("<Q", log.at) + b"bin.000001", flags=0x20)
    for _ in range(3):
        log.query("BEGIN")
        log.xid()
    found = [*reader.read(log.views()), *reader.flush()]
    assert found[-1].end.offset == log.at > 1 << 32


def test_commands_of_a_replica() -> None:
    """The bytes of COM_REGISTER_SLAVE, COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID."""
    assert commands.register(5) == b"\5\0\0\0" + bytes(3) + bytes(2) + bytes(8)
    assert commands.dump(DumpRequest(5, "bin.7", 4, bounded=True)) == (0x12, b"\4\0\0\0\1\0\5\0\0\0bin.7")
    assert commands.dump(DumpRequest(5, "bin.7", 4, statements=True))[1][4:6] == b"\2\0"
    gtids = GtidSet.parse(f"{SOURCE}:1-4")
    code, content = commands.dump(DumpRequest(5, gtids=gtids))
    data = gtids.to_bytes()
    assert code == 0x1E
    assert content == b"\4\0" + b"\5\0\0\0" + bytes(4) + b"\4" + bytes(7) + struct.pack("<I", len(data)) + data
    assert commands.dump(DumpRequest(5, "x", 9, GtidList.parse("0-1-5"))) == (0x12, b"\4\0\0\0\0\0\5\0\0\0")
    with pytest.raises(PurgedLogError, match="beyond 4 GB"):
        commands.dump(DumpRequest(5, "x", 1 << 32))


def test_positions_are_plain_data() -> None:
    for gtids in (None, GtidSet.parse(f"{SOURCE}:1-4:t:7"), GtidList.parse("0-1-5,2-3-4")):
        position = BinlogPosition("bin.000001", 1 << 40, gtids, 3, 2, SOURCE)
        assert BinlogPosition.of(json.loads(json.dumps(position.to_plain()))) == position
    for wrong in ("0-1", "0-1-5,0-2-6", "a-b-c"):
        with pytest.raises(ValueError):
            GtidList.parse(wrong)
    with pytest.raises(ValueError, match="no whole number 'offset'"):
        BinlogPosition.of({**position.to_plain(), "offset": "1"})


@pytest.mark.parametrize(
    ("text", "number"),
    [("10.11.19-MariaDB-log", 101119), ("8.0.36", 80036), ("5.5.5-10.6.2-MariaDB", 100602), ("x", 0)],
)
def test_versions_as_numbers(text: str, number: int) -> None:
    assert version_number(text) == number
