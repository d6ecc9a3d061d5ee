"""Converts between Arrow and MySQL: texts that were read, and lines for LOAD DATA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc.date_ranges import time_text
from seatunnel_py.api import Column, Kind
from seatunnel_py.formats.json.text import json_texts

NULL = "\\N"


def from_wire(array: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    """Convert a column to the declared type. Raises ValueError that names a value without counterpart."""
    t = pa.types
    if array.type == wanted:
        return array
    if t.is_boolean(wanted):
        return _booleans(array, name)
    if t.is_timestamp(wanted) and wanted.tz:
        return _moments(array, wanted, name)
    if t.is_string(array.type) and (t.is_temporal(wanted) or t.is_decimal(wanted)):
        return _parsed(array, wanted, name)
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _booleans(array: pa.Array, name: str) -> pa.Array:
    """Convert MySQL's BOOLEAN, which is a TINYINT(1) and holds any small number."""
    extremes = pc.min_max(array).as_py()
    for number in extremes.values():
        if number not in (None, 0, 1):
            raise ValueError(f"column {name!r} holds {number}, which is not a boolean; set int_type_narrowing = false")
    return pc.not_equal(array, pa.scalar(0, array.type))


def _moments(array: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    """Convert microseconds since 1970 to timestamps. The zero date counts as 0, the one second that no TIMESTAMP can
    have."""
    if pc.any(pc.equal(array, 0)).as_py():
        raise ValueError(_no_counterpart(name, "0000-00-00 00:00:00"))
    return array.cast(pa.int64()).cast(wanted)


def _no_counterpart(name: str, text: str) -> str:
    zero = text[4:5] == "-" and "-00" in text
    what = "zeroDateTimeBehavior=convertToNull in the url" if zero else "`query`, such as CAST(… AS CHAR)"
    return f"column {name!r} holds {text}, which has no counterpart; use {what}"


def _parsed(texts: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    if pa.types.is_decimal(wanted):
        longest = pc.max(pc.binary_length(texts)).as_py() or 0
        if longest > wanted.precision + 1:
            _check_digits(texts, wanted, name)
    try:
        return _cast(texts, wanted)
    except pa.ArrowInvalid:
        for text in texts.to_pylist():
            if text is None:
                continue
            try:
                _cast(pa.array([text]), wanted)
            except pa.ArrowInvalid:
                raise ValueError(_no_counterpart(name, text)) from None
        raise


def _cast(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Cast the texts. Arrow parses timestamps, but no times; negative times and times beyond a day are not
    timestamps."""
    if not pa.types.is_time(wanted):
        return texts.cast(wanted)
    return pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us")).cast(wanted)


def _check_digits(texts: pa.Array, wanted: pa.DataType, name: str) -> None:
    """Refuse numbers with too many digits: Arrow's cast would overflow."""
    for text in texts.to_pylist():
        whole = (text or "").lstrip("-").partition(".")[0].lstrip("0")
        if len(whole) > wanted.precision - wanted.scale:
            raise ValueError(
                f"column {name!r} holds {text}, which is too large for decimal({wanted.precision}, {wanted.scale}); "
                "cast it with `query`"
            )


# ---------------------------------------------------------------- LOAD DATA


def lines(columns: Sequence[pa.Array]) -> memoryview:
    """Rows in the format of LOAD DATA: fields between tabs, ``\\N`` for null, escaped by backslashes. The texts of an
    Arrow array are contiguous, so its own buffer is sent."""
    kind = pa.large_string()
    fields = [pc.fill_null(column, NULL).cast(kind) for column in columns]
    ended = pc.binary_join_element_wise(
        pc.binary_join_element_wise(*fields, pa.scalar("\t", kind)), pa.scalar("\n", kind), pa.scalar("", kind)
    )
    offsets = memoryview(ended.buffers()[1]).cast("q")
    first, last = offsets[ended.offset], offsets[ended.offset + len(ended)]
    return memoryview(ended.buffers()[2])[first:last]


def field_texts(array: pa.Array, column: Column) -> pa.Array:
    """A column as texts of fields."""
    match column.dtype.kind:
        case Kind.STRING:
            return _escaped(array)
        case Kind.BOOLEAN:
            return array.cast(pa.int8()).cast(pa.string())
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            # As hexadecimal digits: the lines are read as UTF-8, and bytes may not be.
            return pa.array([None if value is None else value.hex() for value in array.to_pylist()], pa.string())
        case Kind.TIMESTAMP_TZ:
            return array.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).cast(pa.string())
        case Kind.TIME:
            return time_text(array)
        case Kind.FLOAT | Kind.DOUBLE:
            _refuse_not_finite(array)
            return array.cast(pa.float64()).cast(pa.string())  # the digits of its own type, also in a wider column
        case Kind.ARRAY | Kind.MAP | Kind.ROW | Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR | Kind.SPARSE_FLOAT_VECTOR:
            return _escaped(json_texts(array, column.dtype))
        case _:
            return array.cast(pa.string())


def _escaped(texts: pa.Array) -> pa.Array:
    for character, escape in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\0", "\\0")):
        if pc.any(pc.match_substring(texts, character)).as_py():
            texts = pc.replace_substring(texts, character, escape)
    return texts


def _refuse_not_finite(array: pa.Array) -> None:
    if pc.any(pc.invert(pc.is_finite(array))).as_py():
        raise ValueError("MySQL and MariaDB have no NaN and no infinity")


def values(array: pa.Array, column: Column) -> list[Any]:
    """A column as values for PyMySQL."""
    match column.dtype.kind:
        case Kind.FLOAT | Kind.DOUBLE:
            _refuse_not_finite(array)
            return array.to_pylist()  # type: ignore[no-any-return]
        case Kind.TIME:
            return time_text(array).to_pylist()  # type: ignore[no-any-return]
        case Kind.TIMESTAMP | Kind.DATE | Kind.DECIMAL:
            return array.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
        case Kind.TIMESTAMP_TZ:
            return array.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
        case Kind.ARRAY | Kind.MAP | Kind.ROW | Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR | Kind.SPARSE_FLOAT_VECTOR:
            return json_texts(array, column.dtype).to_pylist()  # type: ignore[no-any-return]
        case _:
            return array.to_pylist()  # type: ignore[no-any-return]
