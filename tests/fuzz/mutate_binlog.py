"""Mutated binary logs: each is refused with a typed error, or gives right rows; none takes a second or reads past its end.

Run as ``python -m tests.fuzz.mutate_binlog --count 250000 --seed 1``. A failure prints the seed and the ordinal, which
make the same mutant again. Three kinds of mutants:

- *damaged*: bytes of events change, and their checksums do not: the rows are the first ones of the whole log;
- *forged*: bytes change, sizes and checksums follow: whatever rows come out are valid Arrow;
- *torn*: the packets of a dump are cut, merged, changed: as damaged.
"""

from __future__ import annotations

import random
import struct
import sys
import zlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa

from seatunnel_connectors.mysql_cdc.dump.packets import PacketReader, ServerReportError
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.reading.changes import LogChange, RowsBlock
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.reading.row_places import METADATA
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableHistory
from seatunnel_py.errors import PluginError
from tests.connectors.mysql_cdc import encoder
from tests.connectors.mysql_cdc.encoder import Column, Log
from tests.fuzz.campaign import Campaign

COLUMNS = (
    Column(3, b"", "int"), Column(15, b"\xf0\0", "varchar(60)", "utf-8"), Column(246, b"\x0a\2", "decimal(10,2)"),
    Column(18, b"\6", "datetime(6)"), Column(19, b"\3", "time(3)"), Column(17, b"\0", "timestamp"),
    Column(245, b"\4", "json"), Column(252, b"\2", "text", "utf-8"), Column(254, b"\xf7\1", "enum"),
    Column(254, b"\xf8\1", "set"), Column(16, b"\5\1", "bit(13)"), Column(8, b"", "bigint unsigned"),
    Column(10, b"", "date"), Column(254, b"\xfe\x1e", "char(10)", "cp1252"), Column(1, b"", "tinyint(1)"),
    Column(246, b"\x41\x1e", "decimal(65,30)"), Column(5, b"\x08", "double"), Column(9, b"", "mediumint"),
)  # fmt: skip
WORDS = ("a", "b")


def values(chance: random.Random) -> list[Any]:
    row = [
        chance.randrange(-9, 9), "ä" * chance.randrange(9), Decimal(chance.randrange(-999, 999)).scaleb(-2),
        datetime(2024, 2, chance.randrange(1, 29), 3, 4, 5, 678901), chance.randrange(86_400) * 1000_000,  # noqa: DTZ001
        datetime(2024, 1, 1, tzinfo=UTC), {"k": [1, "x", None, {"y": 1.5}]}, "text" * chance.randrange(50),
        chance.randrange(3), chance.randrange(4), chance.randrange(8192), (1 << 64) - 1, date(2000, 1, 1), "abc",
        chance.randrange(2), Decimal("1.5"), 0.25, -7,
    ]  # fmt: skip
    return [None if chance.random() < 0.1 else one for one in row]


def definition() -> TableDefinition:
    charsets = {"utf-8": "utf8mb4", "cp1252": "latin1"}
    columns = tuple(
        ColumnDefinition(
            f"c{i}", one.declared.partition("(")[0].partition(" ")[0], one.declared, True,
            charsets.get(one.charset, ""), WORDS if one.declared in ("enum", "set") else (),
        )
        for i, one in enumerate(COLUMNS)
    )  # fmt: skip
    return TableDefinition("d", "t", columns)


@cache
def corpus() -> tuple[Log, ...]:
    """Whole logs: rows of both versions, updates, deletes, compressed ones of both servers, DDL, ids of all kinds."""
    return tuple(_log(number) for number in range(8))


def _log(number: int) -> Log:
    chance = random.Random(number)
    log = Log(checksums=number != 7, version="10.11.19-MariaDB" if number % 2 else "8.0.36")
    base = 23 if number % 2 else 30
    for transaction in range(2):
        if number % 2:
            log.add(162, struct.pack("<QIB", transaction + 1, 0, 0) + bytes(6))
        else:
            log.gtid(transaction + 1)
            log.query("BEGIN")
        if number in (4, 6):
            log.add(40, _payload(chance, base, 0 if number == 4 else 255))
            continue
        log.table(COLUMNS)
        made = [values(chance) for _ in range(chance.randrange(1, 4))]
        log.rows(base, COLUMNS, made)
        log.rows(base + 1, COLUMNS, [one for row in made for one in (row, values(chance))])
        log.rows(base + 2, COLUMNS, made[:1])
        if number == 3:
            log.add(166, _compressed(encoder.rows_body(23, COLUMNS, [values(chance)]), 8 + 1 + 3))
        log.xid()
    log.query("ALTER TABLE t ADD COLUMN new_one INT")
    return log


def _compressed(body: bytes, head: int) -> bytes:
    rest = body[head:]
    return body[:head] + b"\x82" + len(rest).to_bytes(2, "big") + zlib.compress(rest)


def _payload(chance: random.Random, base: int, compression: int) -> bytes:
    inner = [
        encoder.event(19, encoder.table_map_body(COLUMNS, "t", 1), checksum=False),
        encoder.event(base, encoder.rows_body(base, COLUMNS, [values(chance) for _ in range(4)]), checksum=False),
        encoder.event(16, bytes(8), checksum=False),
    ]
    data = b"".join(inner)
    packed = pa.Codec("zstd").compress(data, asbytes=True) if compression == 0 else data
    fields = ((2, compression), (3, len(data)), (1, len(packed)))
    head = b"".join(bytes([code]) + encoder.counted(encoder.lenenc(number)) for code, number in fields)
    return head + b"\0" + packed


# ---------------------------------------------------------------- mutants


def changed(data: bytes, chance: random.Random, start: int = 0) -> bytes:
    """Some bytes flipped, set, removed, put in or cut off."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if len(found) <= start:
            break
        at = chance.randrange(start, len(found))
        match chance.randrange(6):
            case 0 | 1:
                found[at] ^= 1 << chance.randrange(8)
            case 2:
                found[at] = chance.choice((0, 1, 127, 128, 250, 251, 252, 253, 254, 255))
            case 3:
                del found[at : at + chance.choice((1, 2, 8, 100))]
            case 4:
                found[at:at] = bytes(chance.choice((0, 255, 252, 1)) for _ in range(chance.choice((1, 4, 9))))
            case _:
                found[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4), b"\0\0\0\x80"))
    return bytes(found)


def forged(data: bytes, chance: random.Random, *, checksums: bool) -> bytes:
    """A changed event whose size and checksum are right again."""
    end = len(data) - 4 * checksums
    body = changed(data[:end], chance, 19 if chance.random() < 0.9 else 4)
    if len(body) < 19:
        body = body.ljust(19, b"\0")
    body = body[:9] + struct.pack("<I", len(body) + 4 * checksums) + body[13:]
    return body + (struct.pack("<I", zlib.crc32(body)) if checksums else b"")


class Socket:
    """Delivers bytes in pieces of any size."""

    def __init__(self, data: bytes, chance: random.Random) -> None:
        self.data = data
        self.chance = chance
        self.at = 0

    def settimeout(self, _: float) -> None:
        """Nothing waits here."""

    def recv(self, count: int) -> bytes:
        size = min(count, self.chance.choice((1, 3, 50, 1000, 100_000)))
        found = self.data[self.at : self.at + size]
        self.at += len(found)
        return found

    def recv_into(self, view: memoryview) -> int:
        found = self.recv(len(view))
        view[: len(found)] = found
        return len(found)


def packets(events: list[bytes]) -> bytes:
    return (
        b"".join((len(one) + 1).to_bytes(3, "little") + bytes([i % 256]) + b"\0" + one for i, one in enumerate(events))
        + b"\5\0\0\0\xfe\0\0\2\0"
    )


# ---------------------------------------------------------------- verdicts


def shown_values(column: pa.Array) -> list[Any]:
    """The values; dates and instants as numbers, for Python lacks those of a forged year."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


def rows(events: Iterator[memoryview] | list[memoryview], found: list[tuple[Any, ...]], *, mariadb: bool) -> None:
    """Append the rows of a log to ``found``: after an error, those before it."""
    known = {("d", "t"): definition()}
    history = TableHistory(known, lambda name: name == ("d", "t"), mariadb=mariadb, server_version=80036)
    reader = LogReader(history, BinlogPosition("bin.000001", 4, GtidSet()), metadata=METADATA)

    def take(changes: Iterator[LogChange]) -> None:
        for change in changes:
            for block in change.tables if isinstance(change, RowsBlock) else ():
                block.rows.data.validate(full=True)
                assert len(block.rows.kinds) == block.rows.data.num_rows
                assert all(len(one) == block.rows.data.num_rows for one in block.metadata.values())
                cells = zip(block.rows.kinds.to_pylist(), *map(shown_values, block.rows.data), strict=True)
                found.extend(cells)

    try:
        take(reader.read(events))
    finally:
        take(reader.flush())


@cache
def whole(number: int) -> list[tuple[Any, ...]]:
    log = corpus()[number]
    found: list[tuple[Any, ...]] = []
    rows(log.views(), found, mariadb="MariaDB" in log.version)
    return found


def torn(data: bytes, chance: random.Random) -> Iterator[memoryview]:
    reader = PacketReader(Socket(data, chance), 1.0)
    while not reader.ended:
        yield from reader.read(0.5)


def judge(case: tuple[int, int]) -> str:
    """``read`` or ``refused``, and the kind. Raises for anything that must not happen."""
    seed, ordinal = case
    chance = random.Random(f"{seed}:{ordinal}")
    number = chance.randrange(len(corpus()))
    log = corpus()[number]
    kind = chance.choice(("damaged", "forged", "forged", "torn"))
    if kind != "forged" and not log.checksums:
        kind = "forged"
    events = list(log.events)
    at = chance.randrange(len(events))
    if kind == "damaged":
        events[at] = changed(events[at], chance)
    elif kind == "forged":
        for _ in range(chance.choice((1, 1, 3))):
            at = chance.randrange(len(events))
            events[at] = forged(events[at], chance, checksums=log.checksums)
    stream: Iterator[memoryview] | list[memoryview] = [memoryview(one) for one in events]
    if kind == "torn":
        data = packets(events)
        stream = torn(changed(data, chance) if chance.random() < 0.8 else data, chance)
    found: list[tuple[Any, ...]] = []
    verdict = "read"
    try:
        rows(stream, found, mariadb="MariaDB" in log.version)
    except (PluginError, ServerReportError) as error:
        assert str(error)
        verdict = "refused"
    if kind != "forged":
        assert found == whole(number)[: len(found)], "other rows than those of the log"
        assert kind == "torn" or verdict == "refused" or found == whole(number)
    return f"{kind}, {verdict}"


def case_of(seed: int, ordinal: int) -> tuple[int, int]:
    """A log is made and changed while it is judged: its case is what makes it."""
    return seed, ordinal


def read_all() -> None:
    """Read every log unchanged, once."""
    for number in range(len(corpus())):
        assert whole(number)


CAMPAIGN = Campaign(case_of, judge, prepare=read_all)
run = CAMPAIGN.run

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main(__doc__))
