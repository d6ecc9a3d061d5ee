"""What Debezium's connectors write for dates, times and decimals, in the words that JSON rows have for them.

Which unit a number counts is told by the message's schema, which may be left out; like the peer, we go by its size.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from seatunnel_py.api import Column, DataType, Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLIS_BELOW, _MICROS_BELOW = 10**14, 10**17
_DAY_MILLIS = 86_400_000


def in_words(row: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """The row with text where numbers or bytes stand for dates, times and decimals."""
    found = dict(row)
    for column in columns:
        value = row.get(column.name)
        if value is not None:
            found[column.name] = _in_words(value, column.dtype)
    return found


def _in_words(value: Any, dtype: DataType) -> Any:
    number = type(value) is int
    match dtype.kind:
        case Kind.DATE if number:
            return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
        case Kind.TIMESTAMP | Kind.TIMESTAMP_TZ if number:
            return _moment(value).isoformat(sep=" ").removesuffix("+00:00")
        case Kind.TIME if number:
            return (_EPOCH + timedelta(microseconds=_day_micros(value))).time().isoformat()
        case Kind.DECIMAL if isinstance(value, str):
            return _decimal(value, dtype.scale)
    return value


def _moment(value: int) -> datetime:
    size = abs(value)
    micros = value * 1000 if size < _MILLIS_BELOW else value if size < _MICROS_BELOW else value // 1000
    return _EPOCH + timedelta(microseconds=micros)


def _day_micros(value: int) -> int:
    """Of a time of day: milliseconds, microseconds or nanoseconds since midnight."""
    if value < _DAY_MILLIS:
        return value * 1000
    return value if value < _DAY_MILLIS * 1000 else value // 1000


def _decimal(value: str, scale: int) -> str:
    """A decimal as the big-endian bytes of its unscaled number; one that is written in digits stays."""
    try:
        Decimal(value)
    except ArithmeticError:
        pass
    else:
        return value
    try:
        unscaled = int.from_bytes(base64.b64decode(value, validate=True), "big", signed=True)
    except (binascii.Error, ValueError):
        return value
    return format(Decimal(unscaled).scaleb(-scale), "f")
