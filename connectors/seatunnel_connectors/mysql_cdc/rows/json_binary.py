"""Reads MySQL's binary form of JSON into a tree, and writes the tree as the server prints it.

A tree is made of dictionaries, lists, and ``JsonScalar`` for everything else: a scalar is already a text, so that no
number passes through a float on its way.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from decimal import Decimal
from typing import TypeAlias

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.column_types import DECIMAL_PRECISION_MAX, BinlogType, decimal_bytes

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = 0, 1, 2, 3, 4
_DOUBLE, _STRING, _OPAQUE = 0xB, 0xC, 0xF
_INTEGERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_LITERALS = {0: "null", 1: "true", 2: "false"}
_DEPTH_MAX = 100
"""The servers' own limit."""
_FIXED_EXPONENT_MAX = 15
"""The server writes a double with an exponent where its point would stand farther than that from its digits."""
_LENGTH_BYTES_MAX = 5
_DATES = (BinlogType.DATE, BinlogType.DATETIME, BinlogType.TIMESTAMP)


class JsonScalar(str):
    """The text of a value that is neither an object nor an array."""

    __slots__ = ()


JsonTree: TypeAlias = "dict[str, JsonTree] | list[JsonTree] | JsonScalar"


def json_tree(data: bytes) -> JsonTree:
    """The document. Empty bytes are null: the server stores them for a NOT NULL column without a value."""
    if not data:
        return JsonScalar("null")
    try:
        return _JsonReader(data).value(data[0], 1, 0)
    except (struct.error, IndexError):
        raise BinlogFormatError("a JSON document ends early") from None


def json_text(tree: JsonTree) -> str:
    """The document as the server prints it: a blank after each colon and comma."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {json_text(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(json_text, tree)) + "]"
    return str(tree)


class _JsonReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        # Each value takes a byte at least: more of them than bytes means that some are shared, which no server writes.
        self.budget = len(data)

    def value(self, kind: int, at: int, depth: int) -> JsonTree:
        self.budget -= 1
        if self.budget < 0 or depth > _DEPTH_MAX:
            raise BinlogFormatError("a JSON document is damaged: its values overlap")
        if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
            return self._object(at, 4 if kind == _LARGE_OBJECT else 2, depth)
        if kind in (_SMALL_ARRAY, _LARGE_ARRAY):
            wide = 4 if kind == _LARGE_ARRAY else 2
            count, _ = self._head(at, wide, 1 + wide)
            return [self._entry(at, at + 2 * wide + i * (1 + wide), wide, depth) for i in range(count)]
        if kind == _LITERAL:
            return JsonScalar(_LITERALS.get(self.data[at]) or self._damaged(f"the literal {self.data[at]}"))
        if kind in _INTEGERS:
            return JsonScalar(struct.unpack_from(_INTEGERS[kind], self.data, at)[0])
        if kind == _DOUBLE:
            return JsonScalar(double_text(struct.unpack_from("<d", self.data, at)[0]))
        if kind == _STRING:
            return JsonScalar(_quoted(self._text(*self._length(at))))
        if kind == _OPAQUE:
            return self._opaque(at)
        return JsonScalar(self._damaged(f"a value of type {kind}"))

    @staticmethod
    def _damaged(what: str) -> str:
        raise BinlogFormatError(f"a JSON document holds {what}, which does not exist")

    def _number(self, at: int, wide: int) -> int:
        return int(struct.unpack_from("<I" if wide == 4 else "<H", self.data, at)[0])

    def _head(self, at: int, wide: int, entry: int) -> tuple[int, int]:
        """The number of elements, and the end of the container."""
        count, size = self._number(at, wide), self._number(at + wide, wide)
        if at + size > len(self.data) or 2 * wide + count * entry > size:
            raise BinlogFormatError("a JSON document is damaged: an object or array is larger than its bytes")
        return count, at + size

    def _object(self, at: int, wide: int, depth: int) -> JsonTree:
        count, end = self._head(at, wide, wide + 2 + 1 + wide)
        found: dict[str, JsonTree] = {}
        values = at + 2 * wide + count * (wide + 2)
        for i in range(count):
            entry = at + 2 * wide + i * (wide + 2)
            start, length = at + self._number(entry, wide), self._number(entry + wide, 2)
            if start + length > end:
                raise BinlogFormatError("a JSON document is damaged: a key lies outside of its object")
            found[self._text(start, length)] = self._entry(at, values + i * (1 + wide), wide, depth)
        return found

    def _entry(self, container: int, at: int, wide: int, depth: int) -> JsonTree:
        """A value of a container: in its entry if it is short enough, else where the entry leads."""
        kind = self.data[at]
        if kind in (_LITERAL, 5, 6) or (wide == 4 and kind in (7, 8)):
            return self.value(kind, at + 1, depth + 1)
        return self.value(kind, container + self._number(at + 1, wide), depth + 1)

    def _length(self, at: int) -> tuple[int, int]:
        """The start and length of counted bytes: seven bits of the length in each byte, the lowest first."""
        length = 0
        for i in range(_LENGTH_BYTES_MAX):
            byte = self.data[at + i]
            length |= (byte & 0x7F) << 7 * i
            if not byte & 0x80:
                if at + i + 1 + length > len(self.data):
                    raise BinlogFormatError("a JSON document ends inside of a text")
                return at + i + 1, length
        raise BinlogFormatError("a JSON document holds a length without an end")

    def _text(self, start: int, length: int) -> str:
        try:
            return self.data[start : start + length].decode()
        except UnicodeDecodeError:
            raise BinlogFormatError("a JSON document holds a text that is not UTF-8") from None

    def _opaque(self, at: int) -> JsonScalar:
        kind = self.data[at]
        start, length = self._length(at + 1)
        value = self.data[start : start + length]
        if kind == BinlogType.NEWDECIMAL:
            return JsonScalar(_decimal_text(value))
        if kind == BinlogType.TIME:
            return JsonScalar(f'"{_time_text(struct.unpack("<q", value)[0])}"')
        if kind in _DATES:
            return JsonScalar(f'"{_date_text(struct.unpack("<q", value)[0], date=kind == BinlogType.DATE)}"')
        return JsonScalar(f'"base64:type{kind}:{base64.b64encode(value).decode()}"')


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def double_text(number: float) -> str:
    """The shortest digits that mean this number, and a point or an exponent, as in the server's spelling."""
    if not math.isfinite(number):
        raise BinlogFormatError("a JSON document holds a number that is not finite")
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    minus = "-" if sign else ""
    if not number:
        return f"{minus}0.0"
    if not -_FIXED_EXPONENT_MAX < point <= _FIXED_EXPONENT_MAX:
        rest = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{rest}e{point - 1}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"


def _decimal_text(value: bytes) -> str:
    precision, scale = value[0], value[1]
    if not (1 <= precision <= DECIMAL_PRECISION_MAX and scale <= precision):
        raise BinlogFormatError(f"a JSON document holds a decimal({precision}, {scale})")
    data = value[2:]
    if len(data) != decimal_bytes(precision, scale):
        raise BinlogFormatError("a JSON document holds a decimal of another size")
    return decimal_text(data, precision, scale)


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """A packed decimal as plain digits."""
    negative = not data[0] & 0x80
    plain = bytes([data[0] ^ 0x80]) + data[1:]
    if negative:
        plain = bytes(byte ^ 255 for byte in plain)
    digits, at = "", 0
    whole = precision - scale
    for count in [whole % 9] + [9] * (whole // 9) + [9] * (scale // 9) + [scale % 9]:
        if count:
            size = (count + 1) // 2 if count < 9 else 4
            digits += f"{int.from_bytes(plain[at : at + size], 'big'):0{count}}"
            at += size
    shown = digits[:whole].lstrip("0") or "0"
    return ("-" if negative else "") + shown + (f".{digits[whole:]}" if scale else "")


def _time_text(packed: int) -> str:
    sign, packed = ("-", -packed) if packed < 0 else ("", packed)
    whole, fraction = packed >> 24, packed & 0xFFFFFF
    return f"{sign}{whole >> 12 & 1023:02}:{whole >> 6 & 63:02}:{whole & 63:02}.{fraction:06}"


def _date_text(packed: int, *, date: bool) -> str:
    whole, fraction = packed >> 24, packed & 0xFFFFFF
    place, clock = whole >> 22, whole & 0x1FFFF
    day = f"{place // 13:04}-{place % 13:02}-{whole >> 17 & 31:02}"
    return day if date else f"{day} {clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}.{fraction:06}"
