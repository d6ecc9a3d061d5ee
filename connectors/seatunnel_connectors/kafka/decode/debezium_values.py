"""Converts Kafka Connect's and Debezium's numbers and bytes for dates, times and decimals to the text of JSON rows.

A number counts milli-, micro- or nanoseconds. The schema inside a message names the unit; without one the job file
does. If neither does, the message is refused: the unit is never guessed from a number's size.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from seatunnel_py.api import TEMPORAL, Column, DataType, Kind
from seatunnel_py.formats.value_text import NumberText
from seatunnel_py.formats.value_text.moments import DAY_SECONDS, date_words


class TimeUnit(StrEnum):
    """The unit that a number counts."""

    MILLIS = "millis"
    MICROS = "micros"
    NANOS = "nanos"


class DecimalForm(StrEnum):
    """Meaning of a text in a decimal column: digits, or base64 of the unscaled number's bytes."""

    DIGITS = "digits"
    BASE64 = "base64"


_PER_SECOND = {TimeUnit.MILLIS: 1000, TimeUnit.MICROS: 1_000_000, TimeUnit.NANOS: 1_000_000_000}
_CONNECT, _DEBEZIUM = "org.apache.kafka.connect.data.", "io.debezium.time."
_UNITS = {
    f"{_CONNECT}Time": TimeUnit.MILLIS,
    f"{_CONNECT}Timestamp": TimeUnit.MILLIS,
    f"{_DEBEZIUM}Time": TimeUnit.MILLIS,
    f"{_DEBEZIUM}Timestamp": TimeUnit.MILLIS,
    f"{_DEBEZIUM}MicroTime": TimeUnit.MICROS,
    f"{_DEBEZIUM}MicroTimestamp": TimeUnit.MICROS,
    f"{_DEBEZIUM}NanoTime": TimeUnit.NANOS,
    f"{_DEBEZIUM}NanoTimestamp": TimeUnit.NANOS,
}
_DATES = (f"{_CONNECT}Date", f"{_DEBEZIUM}Date")
_DECIMAL = f"{_CONNECT}Decimal"


@dataclass(frozen=True, slots=True)
class Declared:
    """Units and forms that the job file declares for messages without a schema. ``columns`` have their own units."""

    unit: TimeUnit | None = None
    columns: Mapping[str, TimeUnit] = field(default_factory=dict)
    decimals: DecimalForm | None = None


def fields_of(schema: Any) -> dict[str, Mapping[str, Any]]:
    """Fields of a row's schema by name."""
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return {one["field"]: one for one in fields or () if isinstance(one, dict) and isinstance(one.get("field"), str)}


def in_words(
    row: Mapping[str, Any], columns: Sequence[Column], schema: Mapping[str, Mapping[str, Any]], declared: Declared
) -> dict[str, Any]:
    """Convert numbers and bytes of dates, times and decimals in the row to text. Raises ValueError if their unit is
    unknown."""
    found = dict(row)
    for column in columns:
        value = row.get(column.name)
        if value is not None:
            said = schema.get(column.name, {})
            try:
                found[column.name] = _in_words(value, column, said, declared)
            except ValueError as error:
                raise ValueError(f"column {column.name!r}: {error}") from None
    return found


def _in_words(value: Any, column: Column, said: Mapping[str, Any], declared: Declared) -> Any:
    kind, name = column.dtype.kind, said.get("name") or ""
    if type(value) is int and kind in TEMPORAL:
        if name in _DATES or (kind is Kind.DATE and name not in _UNITS):
            return date_words(value)
        unit = _UNITS.get(name) or declared.columns.get(column.name) or declared.unit
        if unit is None:
            raise ValueError(
                f"{value} has no unit in the message (milliseconds, microseconds or nanoseconds): "
                "set debezium_time_unit or debezium_column_units, or let its schema be sent along"
            )
        return time_words(value, unit) if kind is Kind.TIME else moment_words(value, unit, column.dtype)
    if kind is Kind.DECIMAL:
        return _decimal(value, column.dtype, name, said.get("parameters"), declared.decimals)
    return value


def time_words(value: int, unit: TimeUnit) -> str:
    """Text of a time of day."""
    seconds, rest = divmod(value, _PER_SECOND[unit])
    if not 0 <= seconds < DAY_SECONDS:
        raise ValueError(f"{value} {unit} are not a time of day")
    return _clock(seconds, rest, unit)


def moment_words(value: int, unit: TimeUnit, dtype: DataType) -> str:
    """Text of a timestamp."""
    seconds, rest = divmod(value, _PER_SECOND[unit])
    days, within = divmod(seconds, DAY_SECONDS)
    zone = "Z" if dtype.kind is Kind.TIMESTAMP_TZ else ""
    return f"{date_words(days)} {_clock(within, rest, unit)}{zone}"


def _clock(seconds: int, rest: int, unit: TimeUnit) -> str:
    places = len(str(_PER_SECOND[unit])) - 1
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:0{places}}"


def _decimal(value: Any, dtype: DataType, name: str, parameters: Any, form: DecimalForm | None) -> Any:
    if isinstance(value, dict) and {"scale", "value"} <= value.keys():  # Debezium's VariableScaleDecimal
        return _unscaled(value["value"], int(value["scale"]))
    if not isinstance(value, str) or isinstance(value, NumberText):
        return value
    if name == _DECIMAL:
        scale = parameters.get("scale") if isinstance(parameters, dict) else None
        return _unscaled(value, dtype.scale if scale is None else int(scale))
    if name or form is DecimalForm.DIGITS:
        return value
    if form is DecimalForm.BASE64:
        return _unscaled(value, dtype.scale)
    digits, unscaled = _is_number(value), _bytes(value)
    if digits and unscaled is not None:
        raise ValueError(
            f"{value!r} can be read as digits and as base64, and the message has no schema that decides: "
            "set debezium_decimals, or let its schema be sent along"
        )
    return value if digits or unscaled is None else _unscaled(value, dtype.scale)


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except ArithmeticError:
        return False


def _bytes(text: Any) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        return None


def _unscaled(text: Any, scale: int) -> str:
    """Read a decimal from the big-endian bytes of its unscaled number."""
    found = _bytes(text)
    if found is None:
        raise ValueError(f"{text!r} is not base64, which the bytes of a decimal are written in")
    return format(Decimal(int.from_bytes(found, "big", signed=True)).scaleb(-scale), "f")
