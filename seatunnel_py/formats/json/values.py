"""Converts plain (JSON-like) values from a job file or a document to the values of a column type.

The rules are SeaTunnel's JSON rules: numbers and booleans also come as text, bytes as base64, a nested row as an object
or as its values in order, a container that lands in a string keeps its JSON text. Unlike in SeaTunnel, a value that
does not fit exactly is an error that names its place, never a silent false, an overflow or a rounded number.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from seatunnel_py.api import DataType, Kind
from seatunnel_py.api.types import NUMBER, NUMBERS
from seatunnel_py.formats.value_text import NumberText, moments
from seatunnel_py.formats.value_text.booleans import WORDS
from seatunnel_py.formats.value_text.decimals import exact_decimal
from seatunnel_py.formats.value_text.number_words import plain_number
from seatunnel_py.formats.value_text.numbers import bounded

LIMITS = {
    Kind.TINYINT: 2**7,
    Kind.SMALLINT: 2**15,
    Kind.INT: 2**31,
    Kind.BIGINT: 2**63,
}


def from_json(value: Any, dtype: DataType, where: str) -> Any:
    """``value`` as Python data that Arrow takes for ``dtype``. Raises ValueError that names ``where``, value and
    type."""
    if value is None:
        return None
    try:
        if type(value) is NumberText and dtype.kind not in _OF_NUMBERS:
            raise _MisfitValueError
        return _CONVERTERS[dtype.kind](value, dtype, where)
    except _MisfitValueError as error:
        why = f": {error}" if str(error) else ""
        raise ValueError(f"{where}: {_shown(value)} is not a {dtype}{why}") from None


class _MisfitValueError(Exception):
    """The value is not of the type. One caller knows value and type, and makes the message."""


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return repr(str(text) if len(text) <= 60 else text[:57] + "…")


def json_text(value: Any) -> str:
    """Compact JSON for containers in a string column, with numbers in the document's own digits."""
    match value:
        case NumberText():
            return value if value.lstrip("-")[:1].isdigit() else f'"{value}"'
        case Mapping():
            members = (f"{json.dumps(str(name), ensure_ascii=False)}:{json_text(item)}" for name, item in value.items())
            return "{" + ",".join(members) + "}"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return "[" + ",".join(map(json_text, value)) + "]"
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            return f'"{_WORDS_OF_FLOATS[str(value)]}"'
        case None | bool() | int() | float():
            return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False)


_WORDS_OF_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _whole(text: str) -> int | NumberText:
    # keeps its sign in columns of floating-point numbers and texts
    return NumberText(text) if text == "-0" else int(text)


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a document. Raises ValueError for a duplicate key: one of its values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return found


DOCUMENTS = json.JSONDecoder(
    parse_float=NumberText, parse_int=_whole, parse_constant=NumberText, object_pairs_hook=members_once
)
"""Decodes documents without loss: numbers keep their digits, and no key is dropped."""


CASE_REMEDY = "name the column as the document does, or rename it after the source"


def other_case(rows: Sequence[Any], names: Sequence[str]) -> list[tuple[int, str]]:
    """Find rows (by their places) that lack a column but have a field of its name in another case; return the hint for
    each."""
    known = set(names)
    others: set[str] = set()
    for row in rows:
        if type(row) is dict:
            others |= row.keys() - known
    folded = {name.casefold(): name for name in names}
    wrong = {other: folded[other.casefold()] for other in others if other.casefold() in folded}
    return [
        (at, f"the column {name!r} is called {other!r} there")
        for at, row in enumerate(rows if wrong else ())
        for other, name in wrong.items()
        if type(row) is dict and other in row and name not in row
    ]


# ---------------------------------------------------------------- scalars


def _string(value: Any, dtype: DataType, where: str) -> str:
    if dtype == NUMBER:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
            raise _MisfitValueError
        return plain_number(str(value), dtype)
    if isinstance(value, str):
        return _encodable(str(value))
    return _encodable(format(value, "f") if isinstance(value, Decimal) else json_text(value))


def _encodable(text: str) -> str:
    """Return the text. Refuse half of a surrogate pair, which JSON can escape but which is not a character."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise _MisfitValueError(f"U+{ord(text[error.start]):04X} is half a character") from None
    return text


def _boolean(value: Any, dtype: DataType, where: str) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word not in WORDS:
        raise _MisfitValueError
    return WORDS[word]


def _integer(value: Any, dtype: DataType, where: str) -> int:
    number = value if type(value) is int else _number(value)
    if isinstance(number, Decimal):
        if number.adjusted() > 30 or number != number.to_integral_value():
            raise _MisfitValueError
        number = int(number)
    limit = LIMITS[dtype.kind]
    if not -limit <= number < limit:
        raise ValueError(f"{where}: {number} is beyond the range of {dtype}, {-limit} to {limit - 1}")
    return number


def _floating(value: Any, dtype: DataType, where: str) -> float:
    if isinstance(value, float):
        return bounded(value, repr(value), dtype)
    if isinstance(value, str) and value in _WORDS_OF_FLOATS.values():
        return float(value)
    number = value if type(value) is int else _number(value)
    try:
        return bounded(float(number), str(value), dtype)
    except OverflowError:
        raise _MisfitValueError("it is too large") from None
    except ValueError as error:
        raise _MisfitValueError(str(error).rpartition(": ")[2]) from None


def _decimal(value: Any, dtype: DataType, where: str) -> Decimal:
    _number(value)
    try:
        return exact_decimal(str(value).strip(), dtype)
    except ValueError as error:
        raise _MisfitValueError(str(error).rpartition(": ")[2]) from None


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise _MisfitValueError
    if isinstance(value, float) and not math.isfinite(value):
        raise _MisfitValueError
    try:
        number = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):
        raise _MisfitValueError from None
    if not number.is_finite():
        raise _MisfitValueError
    return number


def _bytes(value: Any, dtype: DataType, where: str) -> bytes:
    """Parse base64, or a list of numbers: those of bytes, or of Java's signed bytes."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        numbers = [_integer(item, DataType(Kind.INT), where) for item in value]
        beyond = next((number for number in numbers if not -128 <= number <= 255), None)
        if beyond is not None:
            raise ValueError(f"{where}: {beyond} is not a byte (-128 to 255)")
        return bytes(number % 256 for number in numbers)
    if not isinstance(value, str):
        raise _MisfitValueError
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{where}: {_shown(value)} is not base64, which bytes are written in") from None


def _null(value: Any, dtype: DataType, where: str) -> None:
    raise _MisfitValueError


def _moment(value: Any, dtype: DataType, where: str) -> Any:
    """A date, time or timestamp; a whole number if Python has no such value."""
    if not isinstance(value, str):
        raise _MisfitValueError
    try:
        return moments.as_python(moments.ticks_of(value.strip(), dtype), dtype)
    except moments.NotAMomentError as error:
        raise _MisfitValueError(str(error)) from None


# ---------------------------------------------------------------- containers


def _array(value: Any, dtype: DataType, where: str) -> list[Any]:
    assert dtype.element is not None
    inner = dtype.element
    return _members([(item, inner) for item in _items(value)], lambda at: f"{where}[{at}]")


def _map(value: Any, dtype: DataType, where: str) -> list[tuple[Any, Any]]:
    assert dtype.key is not None and dtype.element is not None
    if not isinstance(value, Mapping):
        raise _MisfitValueError
    names, key, inner = list(value), dtype.key, dtype.element
    keys = _members([(name, key) for name in names], lambda at: f"{where}, a key")
    if len(set(map(str, keys))) < len(keys):
        raise _MisfitValueError("two of its keys are the same")
    items = _members([(item, inner) for item in value.values()], lambda at: f"{where}.{names[at]}")
    return list(zip(keys, items, strict=True))


def _row(value: Any, dtype: DataType, where: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        names = [name for name, _ in dtype.fields]
        if not all(name in value for name in names):
            for _, why in other_case([value], names):
                raise _MisfitValueError(why)
        given = [value.get(name) for name in names]
    else:
        items = _items(value)
        if len(items) > len(dtype.fields):
            raise ValueError(f"{where}: {len(items)} values for the {len(dtype.fields)} fields of {dtype}")
        given = [*items, *[None] * (len(dtype.fields) - len(items))]
    pairs = [(item, inner) for item, (_, inner) in zip(given, dtype.fields, strict=True)]
    found = _members(pairs, lambda at: f"{where}.{dtype.fields[at][0]}")
    return {name: item for (name, _), item in zip(dtype.fields, found, strict=True)}


def _members(values: list[tuple[Any, DataType]], place: Callable[[int], str]) -> list[Any]:
    """Convert the values. Their places are spelled out only after a misfit."""
    try:
        return [from_json(value, dtype, "") for value, dtype in values]
    except ValueError:
        return [from_json(value, dtype, place(at)) for at, (value, dtype) in enumerate(values)]


def _vector(value: Any, dtype: DataType, where: str) -> list[float]:
    return [_floating(item, DataType(Kind.FLOAT), where) for item in _items(value)]


def _sparse(value: Any, dtype: DataType, where: str) -> list[tuple[int, float]]:
    if not isinstance(value, Mapping):
        raise _MisfitValueError
    index = DataType(Kind.INT)
    return [(_integer(key, index, where), _floating(item, DataType(Kind.FLOAT), where)) for key, item in value.items()]


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = DOCUMENTS.decode(value)
        except (ValueError, RecursionError):
            raise _MisfitValueError from None
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise _MisfitValueError
    return value


_OF_NUMBERS = NUMBERS | {Kind.STRING, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR}
_CONVERTERS: dict[Kind, Callable[[Any, DataType, str], Any]] = {
    Kind.STRING: _string,
    Kind.BOOLEAN: _boolean,
    Kind.TINYINT: _integer,
    Kind.SMALLINT: _integer,
    Kind.INT: _integer,
    Kind.BIGINT: _integer,
    Kind.FLOAT: _floating,
    Kind.DOUBLE: _floating,
    Kind.DECIMAL: _decimal,
    Kind.NULL: _null,
    Kind.BYTES: _bytes,
    Kind.DATE: _moment,
    Kind.TIME: _moment,
    Kind.TIMESTAMP: _moment,
    Kind.TIMESTAMP_TZ: _moment,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.ROW: _row,
    Kind.BINARY_VECTOR: _bytes,
    Kind.BFLOAT16_VECTOR: _bytes,
    Kind.FLOAT_VECTOR: _vector,
    Kind.FLOAT16_VECTOR: _vector,
    Kind.SPARSE_FLOAT_VECTOR: _sparse,
}
