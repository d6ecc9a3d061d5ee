"""Converts between SQLite's values and Arrow's columns: as declared, or refused by value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc import date_ranges
from seatunnel_connectors.jdbc.sqlite.types import EXACT_DIGITS, affinity
from seatunnel_py.api import (
    BIGINT,
    DOUBLE,
    INTEGERS,
    NANOSECONDS,
    NUMBER,
    STRING,
    TEMPORAL,
    Column,
    DataType,
    Kind,
    ValueMisfitError,
    convert,
    to_arrow,
)
from seatunnel_py.formats.json.text import json_texts
from seatunnel_py.formats.value_text import iso_text

EXACT_INTEGER = 1 << 53  # a larger real may represent another number than the written one
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_JULIAN_1970 = 2440587.5
_WORDS = {"0": False, "1": True, "false": False, "true": True, "f": False, "t": True}

Moment = Callable[[Any], str] | None
"""Converts a number in a column of dates or timestamps to ISO text in UTC. None: its meaning is unknown."""

# ---------------------------------------------------------------- reading


def moment_of(date_class: str, precision: str) -> Moment:
    """The conversion for the url's parameters ``date_class`` and ``date_precision``, which are those of Java's
    driver."""
    if date_class.lower() == "real":
        return lambda value: _since_1970(round((float(value) - _JULIAN_1970) * 86_400_000) * 1000)
    if date_class.lower() == "integer":
        unit = 1_000_000 if precision.lower() == "seconds" else 1000
        return lambda value: _since_1970(_whole(value) * unit)
    return None


def _since_1970(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat(" ")


def to_column(values: Sequence[Any], dtype: DataType, name: str, moment: Moment = None) -> pa.Array:
    """Convert SQLite's values to the declared type. Raises ValueError that names the first misfit."""
    try:
        return _uniform(values, dtype)
    except (pa.ArrowException, ValueMisfitError, TypeError, OverflowError):
        pass  # values of several types, or a misfit: convert one by one
    found = []
    for value in values:
        try:
            found.append(None if value is None else _one(value, dtype, moment))
        except (ValueError, ArithmeticError, TypeError):
            raise ValueError(_refused(value, dtype, name)) from None
    try:
        if dtype.kind in TEMPORAL or dtype.kind is Kind.DECIMAL:
            return _from_texts(pa.array(found, pa.string()), dtype)
        return pa.array(found, to_arrow(dtype))
    except ValueMisfitError as error:
        raise ValueError(_refused(values[error.row], dtype, name)) from None
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"column {name!r} is declared as {dtype}: {error}") from None


def _refused(value: Any, dtype: DataType, name: str) -> str:
    shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:60] + "…"
    text = f"column {name!r} is declared as {dtype}, but holds {shown}"
    if dtype.kind in TEMPORAL and isinstance(value, int | float):
        text += (
            "; define the meaning of numbers in the url: date_class (integer, real) and "
            "date_precision (seconds, milliseconds)"
        )
    return text


def _uniform(values: Sequence[Any], dtype: DataType) -> pa.Array:
    """Convert values that all have the expected type. Raises TypeError if they have another."""
    array = pa.array(values)
    kind, found = dtype.kind, array.type
    if pa.types.is_null(found):
        return array.cast(to_arrow(dtype))
    whole, text = pa.types.is_int64(found), pa.types.is_string(found)
    if whole and (kind in INTEGERS or kind is Kind.DECIMAL or dtype == NUMBER):
        return array.cast(to_arrow(dtype))
    if kind is Kind.BOOLEAN and whole:
        return convert(array, BIGINT, dtype)
    if kind is Kind.DOUBLE and (whole or pa.types.is_float64(found)):
        return array.cast(pa.float64())
    if (kind is Kind.BYTES and pa.types.is_binary(found)) or (dtype == STRING and text):
        return array
    if kind is Kind.DECIMAL and pa.types.is_float64(found) and pc.max(pc.abs(array)).as_py() <= EXACT_INTEGER:
        return convert(array, DOUBLE, dtype)
    if (kind in TEMPORAL or kind is Kind.DECIMAL) and text:
        return _from_texts(array, dtype)
    raise TypeError


def _from_texts(texts: pa.Array, dtype: DataType) -> pa.Array:
    if dtype.unit == NANOSECONDS:
        return texts.cast(to_arrow(dtype))
    if dtype.kind is Kind.TIMESTAMP_TZ:  # SQLite's own timestamps are in UTC, without a zone
        bare = pc.match_substring_regex(texts, r"^[^ T]*([ T][0-9:.]*)?$")
        texts = pc.if_else(bare, pc.binary_join_element_wise(texts, "Z", ""), texts)
    return convert(texts, NUMBER if dtype.kind is Kind.DECIMAL else STRING, dtype)


def _one(value: Any, dtype: DataType, moment: Moment) -> Any:
    match dtype.kind:
        case Kind.BOOLEAN:
            return _boolean(value)
        case kind if kind in INTEGERS:
            return _within(_whole(int(value) if isinstance(value, str) else value), to_arrow(dtype).bit_width)
        case Kind.DOUBLE:
            return _float(value)
        case Kind.DECIMAL:
            return _digits(value, whole=dtype.scale == 0)
        case Kind.BYTES:
            return value.encode() if isinstance(value, str) else _of(bytes, value)
        case Kind.STRING if dtype == NUMBER:
            return _digits(value, whole=False)
        case Kind.STRING:
            return value if isinstance(value, str) else _digits(value, whole=False)
        case _:
            return _moment_text(value, dtype, moment)


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _boolean(value: Any) -> bool:
    key = value.strip().lower() if isinstance(value, str) else str(_of(int, value))
    if key not in _WORDS:
        raise ValueError(value)
    return _WORDS[key]


def _whole(value: Any) -> int:
    if isinstance(value, float) and (not value.is_integer() or abs(value) > EXACT_INTEGER):
        raise ValueError(value)
    return int(_of(int | float, value))  # type: ignore[arg-type]


def _within(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(number)
    return number


def _float(value: Any) -> float:
    number = float(value)
    if isinstance(value, int) and int(number) != value:
        raise ValueError(value)
    return number


def _digits(value: Any, *, whole: bool) -> str:
    """A number in plain digits; a real gets the shortest digits that restore it, which are the written ones."""
    if isinstance(value, bytes) or (isinstance(value, str) and not _NUMBER.fullmatch(value.strip())):
        raise ValueError(value)
    if whole and isinstance(value, float) and abs(value) > EXACT_INTEGER:
        raise ValueError(value)
    return format(Decimal(repr(value) if isinstance(value, float) else str(value).strip()), "f")


def _moment_text(value: Any, dtype: DataType, moment: Moment) -> str:
    if isinstance(value, int | float):
        if moment is None:
            raise ValueError(value)
        text = moment(value)
        value = text if dtype.kind is Kind.TIMESTAMP_TZ else text.removesuffix("+00:00")
    text = str(_of(str, value)).strip()
    return re.sub(r"[ T]00:00(:00(\.0+)?)?$", "", text) if dtype.kind is Kind.DATE else text


# ---------------------------------------------------------------- writing


def stored(array: pa.Array, column: Column, shown: str) -> pa.Array:
    """Check a column. Raises ValueMisfitError for the first value that SQLite would convert to another one."""
    kind, into = column.dtype.kind, affinity(shown)
    if kind is Kind.TIME:
        return array
    if kind in TEMPORAL:
        _require(array, date_ranges.in_years(array), shown)
    elif kind in (Kind.FLOAT, Kind.DOUBLE):
        _require(array, pc.invert(pc.is_nan(array)), shown)
    elif into in ("TEXT", "BLOB"):
        return array
    elif kind is Kind.DECIMAL or column.dtype == NUMBER:
        _require(array, _survives(convert(array, column.dtype, STRING)), shown)
    elif kind is Kind.STRING:
        numeric = pc.match_substring_regex(array, r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$")
        _require(array, pc.invert(numeric), shown)
    return array


def _survives(texts: pa.Array) -> pa.Array:
    """Mask of numbers that keep all digits in a numeric column, which stores 64-bit integers or floats."""
    plain = pc.replace_substring_regex(pc.replace_substring_regex(texts, r"[-.]", ""), r"^0+", "")
    fits = pc.less_equal(pc.binary_length(plain), EXACT_DIGITS)
    if pc.all(fits).as_py() is not False:
        return fits
    long = [index for index, fit in enumerate(fits.to_pylist()) if fit is False]
    kept = [_keeps(texts[index].as_py()) for index in long]
    return pc.replace_with_mask(fits, pa.array([fit is False for fit in fits.to_pylist()]), pa.array(kept, pa.bool_()))


def _keeps(text: str) -> bool:
    number = Decimal(text) if _NUMBER.fullmatch(text) else None
    if number is None:
        return True
    if number == number.to_integral_value() and abs(number) < 1 << 63:
        return True
    return Decimal(repr(float(text))) == number


def _number(text: str) -> Any:
    if text in ("Infinity", "-Infinity"):
        return float(text)  # a text would stay text, not a number
    if not _NUMBER.fullmatch(text):
        return text
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and abs(number) < 1 << 63 else float(text)


def _require(array: pa.Array, fits: pa.Array, shown: str) -> None:
    at = pc.index(fits, pa.scalar(False)).as_py()
    if at >= 0:
        value = date_ranges.shown(array[at])
        raise ValueMisfitError(at, f"{value!r} would be stored as another value in a column of the type {shown}")


def to_values(array: pa.Array, column: Column, shown: str) -> list[Any]:
    """A column as values for sqlite3: temporal types as ISO text, decimals as text, containers as JSON. A numeric
    column gets numbers: SQLite's own parsing of their text is not always the nearest."""
    if (column.dtype.kind is Kind.DECIMAL or column.dtype == NUMBER) and affinity(shown) not in ("TEXT", "BLOB"):
        return [None if text is None else _number(text) for text in convert(array, column.dtype, STRING).to_pylist()]
    match column.dtype.kind:
        case Kind.BOOLEAN:
            return array.cast(pa.int8()).to_pylist()  # type: ignore[no-any-return]
        case Kind.FLOAT | Kind.DOUBLE:
            if pc.any(pc.is_nan(array)).as_py():
                raise ValueError("SQLite has no NaN, and would store null")
            return array.to_pylist()  # type: ignore[no-any-return]
        case Kind.DECIMAL:
            return convert(array, column.dtype, STRING).to_pylist()  # type: ignore[no-any-return]
        case Kind.TIME:
            return date_ranges.time_text(array).to_pylist()  # type: ignore[no-any-return]
        case Kind.DATE | Kind.TIMESTAMP:
            return iso_text(array, all_digits=True).to_pylist()  # type: ignore[no-any-return]
        case Kind.TIMESTAMP_TZ:
            text = pc.replace_substring_regex(iso_text(array, all_digits=True), "Z$", "+00:00")
            return text.to_pylist()  # type: ignore[no-any-return]
        case Kind.ARRAY | Kind.MAP | Kind.ROW | Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR | Kind.SPARSE_FLOAT_VECTOR:
            return json_texts(array, column.dtype).to_pylist()  # type: ignore[no-any-return]
        case _:
            return array.to_pylist()  # type: ignore[no-any-return]
