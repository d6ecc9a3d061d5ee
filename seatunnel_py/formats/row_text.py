"""Formats values as SeaTunnel shows them to users: the result of Java's ``String.valueOf``."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from datetime import UTC, time
from decimal import Decimal
from typing import Any

from seatunnel_py.api import DataType, Kind

PLAIN_FROM, PLAIN_BELOW = 1e-3, 1e7  # outside of these Java writes a power of ten


def text_of(value: Any, dtype: DataType) -> str:
    """Text of one value: ``null`` for null, ``[…]`` for arrays, bytes and nested rows, JSON for maps. Dates, times and
    timestamps may be texts of ``shown_values``, which supports more of them than Python."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    match dtype.kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(value, single=dtype.kind is Kind.FLOAT)
        case Kind.DECIMAL:
            return format(value, "f")
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            return _listed(str(byte - 256 if byte > 127 else byte) for byte in value)
        case Kind.TIME:
            return _clock(value)
        case Kind.TIMESTAMP:
            return f"{value.date().isoformat()}T{_clock(value.time())}"
        case Kind.TIMESTAMP_TZ:
            moment = value.astimezone(UTC)
            return f"{moment.date().isoformat()}T{_clock(moment.time())}Z"
        case Kind.ARRAY:
            assert dtype.element is not None
            return _listed(text_of(item, dtype.element) for item in value)
        case Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR:
            return _listed(_floating(item, single=True) for item in value)
        case Kind.ROW:
            return _listed(text_of(value[name], inner) for name, inner in dtype.fields)
        case Kind.MAP | Kind.SPARSE_FLOAT_VECTOR:
            return _map(value, dtype)
        case _:
            return str(value)


def row_text(values: list[Any], types: list[DataType]) -> str:
    """The values of a row, joined as on SeaTunnel's console."""
    return ", ".join(text_of(value, dtype) for value, dtype in zip(values, types, strict=True))


def type_text(dtype: DataType) -> str:
    """A type in SeaTunnel's spelling: upper case, field names unchanged."""
    match dtype.kind:
        case Kind.ARRAY:
            assert dtype.element is not None
            return f"ARRAY<{type_text(dtype.element)}>"
        case Kind.MAP:
            assert dtype.key is not None and dtype.element is not None
            return f"MAP<{type_text(dtype.key)}, {type_text(dtype.element)}>"
        case Kind.ROW:
            return f"ROW<{', '.join(f'{name} {type_text(inner)}' for name, inner in dtype.fields)}>"
        case _:
            return str(dtype).upper()


def _listed(parts: Any) -> str:
    return "[" + ", ".join(parts) + "]"


def _map(value: Any, dtype: DataType) -> str:
    pairs = value.items() if isinstance(value, dict) else value
    key, item = dtype.key or DataType(Kind.INT), dtype.element or DataType(Kind.FLOAT)
    return "{" + ",".join(f"{_quoted(text_of(name, key))}:{_json(inner, item)}" for name, inner in pairs) + "}"


def _json(value: Any, dtype: DataType) -> str:
    """A value inside a map, in JSON. The type must decide, because a nested map is also a Python list."""
    if value is None:
        return "null"
    match dtype.kind:
        case Kind.MAP | Kind.SPARSE_FLOAT_VECTOR:
            return _map(value, dtype)
        case Kind.ARRAY | Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR:
            inner = dtype.element or DataType(Kind.FLOAT)
            return "[" + ",".join(_json(item, inner) for item in value) + "]"
        case Kind.ROW:
            parts = (f"{_quoted(name)}:{_json(value[name], inner)}" for name, inner in dtype.fields)
            return "{" + ",".join(parts) + "}"
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            return _quoted(b64encode(value).decode())
        case Kind.FLOAT | Kind.DOUBLE if not math.isfinite(value):
            return _quoted(text_of(value, dtype))
        case (
            Kind.BOOLEAN
            | Kind.TINYINT
            | Kind.SMALLINT
            | Kind.INT
            | Kind.BIGINT
            | Kind.FLOAT
            | Kind.DOUBLE
            | Kind.DECIMAL
        ):
            return text_of(value, dtype)
        case _:
            return _quoted(text_of(value, dtype))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _clock(value: time) -> str:
    """``12:34`` without seconds; a fraction in groups of three digits."""
    text = f"{value.hour:02}:{value.minute:02}"
    if value.second or value.microsecond:
        text += f":{value.second:02}"
    if value.microsecond:
        digits = f"{value.microsecond:06}"
        text += "." + (digits[:3] if digits.endswith("000") else digits)
    return text


def _floating(value: float, *, single: bool) -> str:
    """Java's spelling of the shortest digits that restore the number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = _shortest(value, single=single)
    if value == 0 or PLAIN_FROM <= abs(value) < PLAIN_BELOW:
        text = format(shortest, "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = shortest.as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    power = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{written[0]}.{written[1:] or '0'}E{power}"


def _shortest(value: float, *, single: bool) -> Decimal:
    if not single:
        return Decimal(repr(value))
    import numpy as np

    return Decimal(str(np.float32(value)))
