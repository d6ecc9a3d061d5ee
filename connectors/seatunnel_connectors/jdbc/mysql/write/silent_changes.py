"""Finds values that the server stores as others, even in strict mode: it pads, strips blanks, rounds and guesses.

Values are tested before they are sent, by the type of their column. Values that pass the test are stored unchanged.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc import date_ranges
from seatunnel_connectors.jdbc.mysql.connection.types import SHAPES, numbers
from seatunnel_py.api import Column, Kind, ValueMisfitError

_TEXT_BYTES = {"tinytext": 0xFF, "text": 0xFFFF, "mediumtext": 0xFFFFFF}
_CANONICAL = {
    "uuid": r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    "inet4": r"^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.|$)){4}$",
    "inet6": r"^[0-9a-f:.]+$",
}
_NO_SYSTEM = b"\0\0\0\0"
_HAS_SYSTEM = b"\x20"


def stored(array: pa.Array, column: Column, shown: str) -> pa.Array:
    """The values as stored in a column of the type ``shown``. Raises ValueMisfitError for the first that would
    change."""
    name = re.split(r"[ (]", shown.lower(), maxsplit=1)[0]
    match column.dtype.kind:
        case Kind.STRING:
            _require(array, _text_fits(array, name, shown), shown)
        case Kind.BYTES if name in SHAPES:
            return _with_system(array)
        case Kind.BYTES if name == "binary":
            _require(array, pc.equal(pc.binary_length(array), numbers(shown)[0]), shown)
        case Kind.INT | Kind.SMALLINT | Kind.TINYINT | Kind.BIGINT if name == "year":
            years = pc.and_(pc.greater_equal(array, 1901), pc.less_equal(array, 2155))
            _require(array, pc.or_(pc.equal(array, 0), years), shown)
        case Kind.FLOAT | Kind.DOUBLE if (digits := numbers(shown)) != (0, 0):
            _require(array, pc.equal(pc.round(array, digits[1]), array), shown)
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            _require(array, date_ranges.in_years(array), shown)
    return array


def _text_fits(array: pa.Array, name: str, shown: str) -> pa.Array | None:
    if name in _CANONICAL:
        return pc.match_substring_regex(array, _CANONICAL[name])
    if name in ("enum", "set"):
        words = [word.replace("''", "'") for word in re.findall(r"'((?:[^']|'')*)'", shown)]
        return _among(array, words) if name == "enum" else _each_once(array, words)
    blank = pc.ends_with(array, " ")
    if not pc.any(blank).as_py():
        return None
    if name == "char":
        return pc.invert(blank)
    if name == "varchar":
        return pc.invert(pc.and_(blank, pc.greater(pc.utf8_length(array), numbers(shown)[0])))
    if name in _TEXT_BYTES:
        return pc.invert(pc.and_(blank, pc.greater(pc.binary_length(array), _TEXT_BYTES[name])))
    return None


def _among(array: pa.Array, words: list[str]) -> pa.Array:
    return pc.or_(pc.is_in(array, pa.array(words, pa.string())), array.is_null())


def _each_once(array: pa.Array, words: list[str]) -> pa.Array:
    """A set in stored form: in the order of its declaration, each word once."""
    different = pc.unique(array).to_pylist()
    kept = [text for text in different if text is None or text == _in_order(text, words)]
    return pc.is_in(array, pa.array(kept, pa.string()))


def _in_order(text: str, words: list[str]) -> str:
    given = text.split(",") if text else []
    return ",".join(word for word in words if word in given) if set(given) <= set(words) else text + ","


def _with_system(array: pa.Array) -> pa.Array:
    """EWKB in the server's own form: the number of the reference system, then WKB."""
    return pa.array([None if value is None else _own_form(value) for value in array.to_pylist()], pa.binary())


def _own_form(value: bytes) -> bytes:
    if value[4:5] == _HAS_SYSTEM:
        return value[5:9] + value[:4] + b"\0" + value[9:]
    return _NO_SYSTEM + value


def _require(array: pa.Array, fits: pa.Array | None, shown: str) -> None:
    at = -1 if fits is None else pc.index(fits, pa.scalar(False)).as_py()
    if at >= 0:
        value = date_ranges.shown(array[at])
        raise ValueMisfitError(at, f"{value!r} would be stored as another value in a column of the type {shown}")
