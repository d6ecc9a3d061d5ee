"""Numbers the column types of the log, and reads the metadata of each: how its values are stored."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader


class BinlogType(IntEnum):
    """The type byte of a table map."""

    DECIMAL = 0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    BLOB_COMPRESSED = 140
    VARCHAR_COMPRESSED = 141
    VECTOR = 242
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


class ColumnStorage(NamedTuple):
    """How a column's values are stored.

    ``width`` is the fixed number of bytes of a value; 0 if each value begins with a length of ``length_bytes``.
    ``first`` and ``second`` are the type's own numbers: precision and scale, bits, digits of a fraction.
    """

    type: BinlogType
    width: int
    length_bytes: int = 0
    first: int = 0
    second: int = 0


NUMERIC = frozenset(
    {
        BinlogType.TINY, BinlogType.SHORT, BinlogType.INT24, BinlogType.LONG, BinlogType.LONGLONG, BinlogType.FLOAT,
        BinlogType.DOUBLE, BinlogType.NEWDECIMAL, BinlogType.YEAR,
    }
)  # fmt: skip
"""Types that have a bit of their own in the metadata about signs."""
CHARACTER = frozenset(
    {BinlogType.STRING, BinlogType.VAR_STRING, BinlogType.VARCHAR, BinlogType.BLOB, BinlogType.TINY_BLOB,
     BinlogType.MEDIUM_BLOB, BinlogType.LONG_BLOB, BinlogType.VARCHAR_COMPRESSED, BinlogType.BLOB_COMPRESSED}
)  # fmt: skip
"""Types that have a character set of their own in the metadata."""

_FIXED = {
    BinlogType.TINY: 1, BinlogType.SHORT: 2, BinlogType.INT24: 3, BinlogType.LONG: 4, BinlogType.LONGLONG: 8,
    BinlogType.DATE: 3, BinlogType.NEWDATE: 3, BinlogType.YEAR: 1, BinlogType.TIME: 3, BinlogType.DATETIME: 8,
    BinlogType.TIMESTAMP: 4,
}  # fmt: skip
_TEMPORAL_BYTES = {BinlogType.TIME2: 3, BinlogType.DATETIME2: 5, BinlogType.TIMESTAMP2: 4}
_BLOBS = frozenset(
    {BinlogType.TINY_BLOB, BinlogType.MEDIUM_BLOB, BinlogType.LONG_BLOB, BinlogType.BLOB, BinlogType.JSON,
     BinlogType.GEOMETRY, BinlogType.VECTOR, BinlogType.BLOB_COMPRESSED}
)  # fmt: skip
_VARCHARS = frozenset({BinlogType.VARCHAR, BinlogType.VAR_STRING, BinlogType.VARCHAR_COMPRESSED})
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4)
FRACTION_MAX = 6
DECIMAL_PRECISION_MAX = 65


def read_storage(type_byte: int, reader: ByteReader) -> ColumnStorage:
    """The storage of the next column, whose metadata the reader stands at."""
    if type_byte not in BinlogType._value2member_map_:
        raise BinlogFormatError(f"{reader.what} has a column of the unknown type {type_byte}")
    kind = BinlogType(type_byte)
    if kind in _FIXED:
        return ColumnStorage(kind, _FIXED[kind])
    if kind in (BinlogType.FLOAT, BinlogType.DOUBLE):
        width = reader.u8()
        if width != (4 if kind is BinlogType.FLOAT else 8):
            raise BinlogFormatError(f"{reader.what} has a {kind.name} of {width} bytes")
        return ColumnStorage(kind, width)
    if kind in _TEMPORAL_BYTES:
        digits = reader.u8()
        if digits > FRACTION_MAX:
            raise BinlogFormatError(f"{reader.what} has a {kind.name} with {digits} digits of a second's fraction")
        return ColumnStorage(kind, _TEMPORAL_BYTES[kind] + (digits + 1) // 2, 0, digits)
    if kind in _VARCHARS:
        longest = reader.u16()
        return ColumnStorage(kind, 0, 1 if longest < 256 else 2, longest)
    if kind in _BLOBS:
        size = reader.u8()
        if not 1 <= size <= 4:
            raise BinlogFormatError(f"{reader.what} has a {kind.name} whose length has {size} bytes")
        return ColumnStorage(kind, 0, size)
    return _packed(kind, reader)


def _packed(kind: BinlogType, reader: ByteReader) -> ColumnStorage:
    if kind is BinlogType.NEWDECIMAL:
        precision, scale = reader.u8(), reader.u8()
        if not (1 <= precision <= DECIMAL_PRECISION_MAX and scale <= precision):
            raise BinlogFormatError(f"{reader.what} has a decimal({precision}, {scale})")
        return ColumnStorage(kind, decimal_bytes(precision, scale), 0, precision, scale)
    if kind is BinlogType.BIT:
        more, whole = reader.u8(), reader.u8()
        bits = whole * 8 + more
        if not 1 <= bits <= 64 or more > 7:
            raise BinlogFormatError(f"{reader.what} has a bit({bits})")
        return ColumnStorage(kind, (bits + 7) // 8, 0, bits)
    if kind in (BinlogType.STRING, BinlogType.ENUM, BinlogType.SET):
        return _string(reader)
    raise BinlogFormatError(f"{reader.what} has a column of type {kind.name}, which no server writes to its log")


def _string(reader: ByteReader) -> ColumnStorage:
    """CHAR, ENUM and SET have one type byte: the metadata distinguishes them. Lengths over 255 borrow two bits
    of it."""
    first, second = reader.u8(), reader.u8()
    if first in (BinlogType.ENUM, BinlogType.SET):
        if not 1 <= second <= (2 if first == BinlogType.ENUM else 8):
            raise BinlogFormatError(f"{reader.what} has an {BinlogType(first).name} of {second} bytes")
        return ColumnStorage(BinlogType(first), second)
    longest = second
    if first & 0x30 != 0x30:
        longest |= (first & 0x30 ^ 0x30) << 4
        first |= 0x30
    if first != BinlogType.STRING:
        raise BinlogFormatError(f"{reader.what} has a CHAR with the metadata {first}, {second}")
    return ColumnStorage(BinlogType.STRING, 0, 1 if longest < 256 else 2, longest)


def decimal_bytes(precision: int, scale: int) -> int:
    """Nine digits take four bytes, on each side of the point; the rest takes as few as it can."""
    whole = precision - scale
    return whole // 9 * 4 + _DIGIT_BYTES[whole % 9] + scale // 9 * 4 + _DIGIT_BYTES[scale % 9]
