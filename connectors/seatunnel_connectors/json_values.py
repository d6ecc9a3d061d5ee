"""Plain (JSON-like) values from a job file, turned into the values of a column type.

The rules are the peer's JSON rules: numbers and booleans also come as text, bytes as base64, a nested row as an
object or as its values in order, a container that lands in a string keeps its JSON text. Unlike the peer, what
does not fit is an error that names the value's place, never a silent false or a wrapped number.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from seatunnel_py.api import DataType, Kind

LIMITS = {
    Kind.TINYINT: 2**7,
    Kind.SMALLINT: 2**15,
    Kind.INT: 2**31,
    Kind.BIGINT: 2**63,
}

_WIDE = Context(prec=100)  # the default of 28 digits is less than a decimal(38, 18) holds

_DATE = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})\2(\d{1,2})|年(\d{1,2})月(\d{1,2})日|(\d{2})(\d{2}))")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")
_COMPACT = re.compile(r"(\d{8})(\d{2})(\d{2})(\d{2})")
_ZONE = re.compile(r"(.*?)\s*(Z|[+-]\d{2}:?\d{2})")


def from_json(value: Any, dtype: DataType, where: str) -> Any:
    """``value`` as Python data that Arrow takes for ``dtype``; ValueError names ``where``, value and type."""
    if value is None:
        return None
    try:
        return _CONVERTERS[dtype.kind](value, dtype, where)
    except _Misfit:
        raise ValueError(f"{where}: {_shown(value)} is not a {dtype}") from None


class _Misfit(Exception):
    """The value is not of the type; the one place that knows value and type makes the message."""


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return repr(text if len(text) <= 60 else text[:57] + "…")


def json_text(value: Any) -> str:
    """Compact JSON, as containers look in a string column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_beyond_json)


def _beyond_json(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


# ---------------------------------------------------------------- scalars


def _string(value: Any, dtype: DataType, where: str) -> str:
    if isinstance(value, str):
        return value
    return format(value, "f") if isinstance(value, Decimal) else json_text(value)


def _boolean(value: Any, dtype: DataType, where: str) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise _Misfit


def _integer(value: Any, dtype: DataType, where: str) -> int:
    number = value if type(value) is int else _number(value)
    if isinstance(number, Decimal) and number != number.to_integral_value():
        raise _Misfit
    limit = LIMITS[dtype.kind]
    if not -limit <= number < limit:
        raise ValueError(f"{where}: {number} is beyond the range of {dtype}, {-limit} to {limit - 1}")
    return int(number)


def _floating(value: Any, dtype: DataType, where: str) -> float:
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return float(value)
    return float(_number(value))


def _decimal(value: Any, dtype: DataType, where: str) -> Decimal:
    number = _number(value)
    step = Decimal(1).scaleb(-dtype.scale)
    if number.adjusted() >= dtype.precision - dtype.scale and number:
        raise ValueError(f"{where}: {number} has more digits than {dtype} holds")
    return number.quantize(step, rounding=ROUND_HALF_UP, context=_WIDE)


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise _Misfit
    if isinstance(value, float) and not math.isfinite(value):
        raise _Misfit
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise _Misfit from None
    if not number.is_finite():
        raise _Misfit
    return number


def _bytes(value: Any, dtype: DataType, where: str) -> bytes:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return bytes(_integer(item, DataType(Kind.INT), where) & 0xFF for item in value)
    if not isinstance(value, str):
        raise _Misfit
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{where}: {_shown(value)} is not base64, which bytes are written in") from None


def _null(value: Any, dtype: DataType, where: str) -> None:
    raise _Misfit


# ---------------------------------------------------------------- dates and times


def _date(value: Any, dtype: DataType, where: str) -> date:
    return parse_date(_text(value))


def _time(value: Any, dtype: DataType, where: str) -> time:
    return parse_time(_text(value))


def _timestamp(value: Any, dtype: DataType, where: str) -> datetime:
    return parse_timestamp(_text(value))


def _timestamp_tz(value: Any, dtype: DataType, where: str) -> datetime:
    text = _text(value)
    match = _ZONE.fullmatch(text)
    if match is None:
        return parse_timestamp(text).replace(tzinfo=UTC)
    zone = match[2].replace("Z", "+0000").replace(":", "")
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:]))
    local = parse_timestamp(match[1])
    return (local - offset if zone[0] == "+" else local + offset).replace(tzinfo=UTC)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Misfit
    return value.strip()


def parse_date(text: str) -> date:
    """``2024-01-31``, with ``/`` or ``.`` between, ``2024年1月31日`` or ``20240131``."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise _Misfit
    year, _, *parts = match.groups()
    month, day = [part for part in parts if part is not None]
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        raise _Misfit from None


def parse_time(text: str) -> time:
    """``12:34``, ``12:34:56`` or with a fraction, of which microseconds are kept."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise _Misfit
    hour, minute, second, fraction = match.groups()
    try:
        return time(int(hour), int(minute), int(second or 0), int((fraction or "").ljust(6, "0")[:6]))
    except ValueError:
        raise _Misfit from None


def parse_timestamp(text: str) -> datetime:
    """A date and a time with ``T`` or a blank between, or ``20240131123456``."""
    compact = _COMPACT.fullmatch(text)
    if compact:
        return datetime.combine(parse_date(compact[1]), parse_time(":".join(compact.groups()[1:])))
    day, separator, clock = text.replace("T", " ", 1).partition(" ")
    return datetime.combine(parse_date(day), parse_time(clock) if separator else time())


# ---------------------------------------------------------------- containers


def _array(value: Any, dtype: DataType, where: str) -> list[Any]:
    assert dtype.element is not None
    inner = dtype.element
    return _members([(item, inner) for item in _items(value)], lambda at: f"{where}[{at}]")


def _map(value: Any, dtype: DataType, where: str) -> list[tuple[Any, Any]]:
    assert dtype.key is not None and dtype.element is not None
    if not isinstance(value, Mapping):
        raise _Misfit
    names, key, inner = list(value), dtype.key, dtype.element
    keys = _members([(name, key) for name in names], lambda at: f"{where}, a key")
    items = _members([(item, inner) for item in value.values()], lambda at: f"{where}.{names[at]}")
    return list(zip(keys, items, strict=True))


def _row(value: Any, dtype: DataType, where: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        given = [value.get(name) for name, _ in dtype.fields]
    else:
        items = _items(value)
        if len(items) > len(dtype.fields):
            raise ValueError(f"{where}: {len(items)} values for the {len(dtype.fields)} fields of {dtype}")
        given = [*items, *[None] * (len(dtype.fields) - len(items))]
    pairs = [(item, inner) for item, (_, inner) in zip(given, dtype.fields, strict=True)]
    found = _members(pairs, lambda at: f"{where}.{dtype.fields[at][0]}")
    return {name: item for (name, _), item in zip(dtype.fields, found, strict=True)}


def _members(values: list[tuple[Any, DataType]], place: Callable[[int], str]) -> list[Any]:
    """The values converted. Their places are spelled out only once one of them does not fit."""
    try:
        return [from_json(value, dtype, "") for value, dtype in values]
    except ValueError:
        return [from_json(value, dtype, place(at)) for at, (value, dtype) in enumerate(values)]


def _vector(value: Any, dtype: DataType, where: str) -> list[float]:
    return [_floating(item, dtype, where) for item in _items(value)]


def _sparse(value: Any, dtype: DataType, where: str) -> list[tuple[int, float]]:
    if not isinstance(value, Mapping):
        raise _Misfit
    index = DataType(Kind.INT)
    return [(_integer(key, index, where), _floating(item, dtype, where)) for key, item in value.items()]


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            raise _Misfit from None
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise _Misfit
    return value


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
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_TZ: _timestamp_tz,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.ROW: _row,
    Kind.BINARY_VECTOR: _bytes,
    Kind.BFLOAT16_VECTOR: _bytes,
    Kind.FLOAT_VECTOR: _vector,
    Kind.FLOAT16_VECTOR: _vector,
    Kind.SPARSE_FLOAT_VECTOR: _sparse,
}
