"""Writes binary logs as MySQL documents them: this is how its own encodings are tested, without a MySQL server.

Nothing here is taken from the library that reads them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

UUID = bytes(range(16))
POST_HEADERS = [0] * 42
for _kind, _size in {2: 13, 4: 8, 15: 98, 19: 8, 23: 8, 24: 8, 25: 8, 30: 10, 31: 10, 32: 10, 33: 42, 39: 10}.items():
    POST_HEADERS[_kind - 1] = _size


def lenenc(number: int) -> bytes:
    if number < 251:
        return bytes([number])
    if number < 1 << 16:
        return b"\xfc" + number.to_bytes(2, "little")
    if number < 1 << 24:
        return b"\xfd" + number.to_bytes(3, "little")
    return b"\xfe" + number.to_bytes(8, "little")


def counted(data: bytes) -> bytes:
    return lenenc(len(data)) + data


@dataclass
class Log:
    """Events of one file, with positions and checksums."""

    checksums: bool = True
    version: str = "8.0.36"
    events: list[bytes] = field(default_factory=list)
    at: int = 4
    checksum_broken: bool = False

    def __post_init__(self) -> None:
        self.artificial(4, struct.pack("<Q", 4) + b"bin.000001")
        body = struct.pack("<H50sIB", 4, self.version.encode(), 0, 19) + bytes(POST_HEADERS) + bytes([self.checksums])
        self.add(15, body, always=True)

    def artificial(self, kind: int, body: bytes) -> None:
        self.events.append(event(kind, body, checksum=self.checksums, flags=0x20))

    def add(self, kind: int, body: bytes, *, flags: int = 0, always: bool = False) -> None:
        size = 19 + len(body) + 4 * (self.checksums or always)
        self.at += size
        made = event(kind, body, checksum=self.checksums, flags=flags, end=self.at)
        self.events.append(
            made if self.checksums or not always else made[:9] + struct.pack("<I", size) + made[13:] + bytes(4)
        )

    # ------------------------------------------------------------ events

    def gtid(self, number: int = 1) -> None:
        self.add(
            33, b"\0" + UUID + struct.pack("<QBQQ", number, 2, 0, 1) + (1_700_000_000_000_000).to_bytes(7, "little")
        )

    def query(self, text: str, database: str = "d") -> None:
        self.add(2, query_body(text, database))

    def table(self, columns: Sequence[Column], name: str = "t", number: int = 1, metadata: bytes = b"") -> None:
        self.add(19, table_map_body(columns, name, number, metadata))

    def rows(self, kind: int, columns: Sequence[Column], images: Sequence[Sequence[Any]], **more: Any) -> None:
        self.add(kind, rows_body(kind, columns, images, **more))

    def xid(self) -> None:
        self.add(16, struct.pack("<Q", 5))

    def views(self) -> list[memoryview]:
        return [memoryview(one) for one in self.events]


def event(kind: int, body: bytes, *, checksum: bool = True, flags: int = 0, end: int = 0) -> bytes:
    size = 19 + len(body) + 4 * checksum
    head = struct.pack("<IBIIIH", 1_700_000_000, kind, 9, size, end & 0xFFFFFFFF, flags)
    return head + body + (struct.pack("<I", zlib.crc32(head + body)) if checksum else b"")


def query_body(text: str, database: str = "d", status: bytes = b"") -> bytes:
    name = database.encode()
    return struct.pack("<IIBHH", 1, 0, len(name), 0, len(status)) + status + name + b"\0" + text.encode()


@dataclass(frozen=True)
class Column:
    """``declared`` is the type of information_schema."""

    kind: int
    meta: bytes
    declared: str
    charset: str = ""

    def encode(self, value: Any) -> bytes:
        return encoded(self, value)


def table_map_body(columns: Sequence[Column], name: str, number: int, metadata: bytes = b"") -> bytes:
    count = len(columns)
    meta = b"".join(one.meta for one in columns)
    return (
        number.to_bytes(6, "little") + b"\1\0" + b"\1d\0" + bytes([len(name)]) + name.encode() + b"\0" + lenenc(count)
        + bytes(one.kind for one in columns) + counted(meta) + b"\xff" * ((count + 7) // 8) + metadata
    )  # fmt: skip


def bitmap(flags: Sequence[bool]) -> bytes:
    found = bytearray((len(flags) + 7) // 8)
    for i, flag in enumerate(flags):
        found[i >> 3] |= flag << (i & 7)
    return bytes(found)


def image(columns: Sequence[Column], values: Sequence[Any], present: Sequence[bool]) -> bytes:
    chosen = [(column, value) for column, value, there in zip(columns, values, present, strict=True) if there]
    nulls = bitmap([value is None for _, value in chosen])
    if len(chosen) % 8:  # the servers set the bits that mean nothing
        nulls = nulls[:-1] + bytes([nulls[-1] | (256 - (1 << len(chosen) % 8))])
    return nulls + b"".join(column.encode(value) for column, value in chosen if value is not None)


def rows_body(
    kind: int, columns: Sequence[Column], images: Sequence[Sequence[Any]], *, number: int = 1,
    present: Sequence[bool] | None = None, after: Sequence[bool] | None = None, extra: bytes = b"",
) -> bytes:  # fmt: skip
    """``images`` alternate in updates. ``extra`` is what partitions add in version 2."""
    there = present or [True] * len(columns)
    update = kind in (24, 31)
    later = (after or there) if update else there
    head = number.to_bytes(6, "little") + b"\1\0"
    if kind >= 30:
        head += struct.pack("<H", 2 + len(extra)) + extra
    head += lenenc(len(columns)) + bitmap(there) + (bitmap(later) if update else b"")
    return head + b"".join(image(columns, one, later if update and i % 2 else there) for i, one in enumerate(images))


# ---------------------------------------------------------------- values


def encoded(column: Column, value: Any) -> bytes:
    kind, meta = column.kind, column.meta
    sizes = {1: 1, 2: 2, 9: 3, 3: 4, 8: 8}
    if kind in sizes:
        return int(value).to_bytes(sizes[kind], "little", signed="unsigned" not in column.declared)
    if kind in (4, 5):
        return struct.pack("<f" if kind == 4 else "<d", value)
    if kind == 246:
        return packed_decimal(value, meta[0], meta[1])
    if kind == 13:
        return bytes([0 if value == 0 else value - 1900])
    if kind == 10:
        return (value.day | value.month << 5 | value.year << 9).to_bytes(3, "little")
    if kind == 18:
        whole = (
            ((value.year * 13 + value.month) << 22)
            | value.day << 17
            | value.hour << 12
            | value.minute << 6
            | value.second
        )
        return (whole + 0x8000000000).to_bytes(5, "big") + fraction(value.microsecond, meta[0])
    if kind == 17:
        seconds = int(value.timestamp())
        return seconds.to_bytes(4, "big") + fraction(value.microsecond, meta[0])
    if kind == 19:
        return packed_time(value, meta[0])
    if kind in (15, 253):
        data = value.encode(column.charset) if isinstance(value, str) else value
        return len(data).to_bytes(1 if int.from_bytes(meta, "little") < 256 else 2, "little") + data
    if kind == 254:
        if meta[0] in (247, 248):
            return int(value).to_bytes(meta[1], "little")
        data = value.encode(column.charset) if isinstance(value, str) else value
        return bytes([len(data)]) + data
    if kind == 16:
        return int(value).to_bytes((meta[1] * 8 + meta[0] + 7) // 8, "big")
    data = json_document(value) if kind == 245 else value.encode(column.charset) if isinstance(value, str) else value
    return len(data).to_bytes(meta[0], "little") + data


def fraction(micros: int, digits: int) -> bytes:
    size = (digits + 1) // 2
    return (micros // 10 ** (6 - 2 * size)).to_bytes(size, "big") if size else b""


def packed_time(micros: int, digits: int) -> bytes:
    """``micros`` may be negative; fractions finer than ``digits`` are not in it."""
    size = (digits + 1) // 2
    magnitude = abs(micros)
    seconds, part = divmod(magnitude, 1_000_000)
    whole = (seconds // 3600) << 12 | (seconds // 60 % 60) << 6 | seconds % 60
    packed = whole << 8 * size | (part // 10 ** (6 - 2 * size) if size else 0)
    return ((-packed if micros < 0 else packed) + (0x800000 << 8 * size)).to_bytes(3 + size, "big")


def packed_decimal(value: Decimal, precision: int, scale: int) -> bytes:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int) and -exponent <= scale
    text = "".join(map(str, digits)) + "0" * (scale + exponent)
    text = text.rjust(precision, "0")
    whole, part = text[: precision - scale], text[precision - scale :]
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    data = b""
    first = len(whole) % 9
    groups = [whole[:first], *(whole[i : i + 9] for i in range(first, len(whole), 9))]
    groups += [part[i : i + 9] for i in range(0, len(part), 9)]
    for group in groups:
        if group:
            data += int(group).to_bytes(sizes[len(group)], "big")
    data = bytes([data[0] ^ 0x80]) + data[1:]
    return bytes(one ^ 0xFF for one in data) if sign else data


# ---------------------------------------------------------------- JSON


def json_document(value: Any) -> bytes:
    kind, data = json_value(value)
    return bytes([kind]) + data


def json_value(value: Any, *, large: bool = False) -> tuple[int, bytes]:
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        for kind, form, low, high in ((5, "<h", -(1 << 15), 1 << 15), (6, "<H", 0, 1 << 16), (7, "<i", -(1 << 31), 1 << 31),
                                      (8, "<I", 0, 1 << 32), (9, "<q", -(1 << 63), 1 << 63), (10, "<Q", 0, 1 << 64)):  # fmt: skip
            if low <= value < high:
                return kind, struct.pack(form, value)
        raise OverflowError(value)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        precision, scale = max(len(value.as_tuple().digits), -exponent), -exponent
        return opaque(246, bytes([precision, scale]) + packed_decimal(value, precision, scale))
    if isinstance(value, str):
        data = value.encode()
        return 12, seven_bits(len(data)) + data
    return json_container(value, large=large)


def opaque(kind: int, data: bytes) -> tuple[int, bytes]:
    return 15, bytes([kind]) + seven_bits(len(data)) + data


def seven_bits(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def json_container(value: Any, *, large: bool) -> tuple[int, bytes]:
    is_object = isinstance(value, dict)
    keys = sorted(value, key=lambda one: (len(one.encode()), one.encode())) if is_object else []
    values = [value[key] for key in keys] if is_object else value
    wide = 4 if large else 2
    form = "<I" if large else "<H"
    entry = (wide + 2 if is_object else 0) + 1 + wide
    at = 2 * wide + len(values) * entry
    key_entries, value_entries, tail = b"", b"", b""
    for key in keys:
        data = key.encode()
        if at + len(tail) + len(data) > 0xFFFF and not large:
            return json_container(value, large=True)
        key_entries += struct.pack(form + "H", at + len(tail), len(data))
        tail += data
    for one in values:
        kind, data = json_value(one, large=large)
        if kind in (4, 5, 6) or (large and kind in (7, 8)):
            value_entries += bytes([kind]) + data.ljust(wide, b"\0")
            continue
        if at + len(tail) + len(data) > 0xFFFF and not large:
            return json_container(value, large=True)
        value_entries += bytes([kind]) + struct.pack(form, at + len(tail))
        tail += data
    size = at + len(tail)
    head = struct.pack(form + form[1], len(values), size)
    return (0 if is_object else 2) + large, head + key_entries + value_entries + tail
