"""Columns of values to columns of text, for the text formats: the reverse of text_columns.py, by whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_connectors.float_text import float_text
from seatunnel_connectors.temporal import format_column
from seatunnel_connectors.text_columns import SEPARATORS, TextRules
from seatunnel_py.api import Column, DataType, FatalError, Kind

if TYPE_CHECKING:
    import pyarrow as pa

_TEMPORAL = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ)
_BINARY = (Kind.BYTES, Kind.BINARY_VECTOR, Kind.BFLOAT16_VECTOR)


def text_values(array: pa.Array, dtype: DataType, rules: TextRules, level: int = 0) -> pa.Array:
    """Text of each value; a null stays null at the top and becomes the null format inside a container."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = dtype.kind
    if kind in _TEMPORAL:
        return format_column(array, kind, rules.pattern(kind))
    if kind in (Kind.ARRAY, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR):
        element = dtype.element or DataType(Kind.FLOAT)
        return _joined(array, _inner(array.values, element, rules, level + 1, array), SEPARATORS[level])
    if kind in (Kind.MAP, Kind.SPARSE_FLOAT_VECTOR):
        keys = _inner(array.keys, dtype.key or DataType(Kind.INT), rules, level + 2, array)
        items = _inner(array.items, dtype.element or DataType(Kind.FLOAT), rules, level + 2, array)
        entries = pc.binary_join_element_wise(keys, items, SEPARATORS[level + 1])
        return _joined(array, entries, SEPARATORS[level])
    if kind is Kind.ROW:
        parts = [
            _filled(text_values(array.field(index), inner, rules, level + 1), rules)
            for index, (_, inner) in enumerate(dtype.fields)
        ]
        text = pc.binary_join_element_wise(*parts, SEPARATORS[level])
        return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), text)
    return scalar_text(array, dtype)


def column_text(array: pa.Array, column: Column, rules: TextRules) -> pa.Array:
    """``text_values`` of a column, which is named where a value has no text."""
    try:
        return text_values(array, column.dtype, rules)
    except FatalError as error:
        raise FatalError(f"column {column.name!r}: {error.message}", error.remedy) from None


def scalar_text(array: pa.Array, dtype: DataType) -> pa.Array:
    """Text of numbers, truth values, strings and bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if dtype.kind is Kind.STRING:
        return array
    if dtype.kind is Kind.NULL:
        return pa.nulls(len(array), pa.string())
    if dtype.kind in _BINARY:
        try:
            return pc.cast(array, pa.string())
        except pa.ArrowInvalid:
            raise FatalError(
                "a value of type bytes is not UTF-8 text, which text formats write bytes as",
                "use json, parquet or orc, or leave the column out",
            ) from None
    if pa.types.is_floating(array.type):
        return float_text(array)
    return pc.cast(array, pa.string())


def holds_any(texts: Any, marks: bytes) -> bool:
    """Whether any text of the column holds one of these bytes: one look at the column's memory."""
    import struct

    import pyarrow as pa

    if not len(texts) or not pa.types.is_string(texts.type):
        return bool(len(texts))
    _, offsets, data = texts.buffers()
    if data is None:
        return False
    first = struct.unpack_from("=i", offsets, 4 * texts.offset)[0]
    last = struct.unpack_from("=i", offsets, 4 * (texts.offset + len(texts)))[0]
    raw = data.slice(first, last - first).to_pybytes()
    return len(raw.translate(None, marks)) != len(raw)


def spans(array: Any) -> tuple[Any, int, int]:
    """Offsets of a list or map column counted from 0, and the range of inner values that they stand for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(array):
        return pa.array([0], pa.int32()), 0, 0
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return pc.subtract(array.offsets, pa.scalar(first, pa.int32())), first, last


def _inner(values: pa.Array, dtype: DataType, rules: TextRules, level: int, parent: Any) -> pa.Array:
    _, first, last = spans(parent)
    return _filled(text_values(values.slice(first, last - first), dtype, rules, level), rules)


def _filled(texts: pa.Array, rules: TextRules) -> pa.Array:
    import pyarrow.compute as pc

    return pc.fill_null(texts, rules.null_format or "")


def _joined(array: Any, parts: pa.Array, separator: str) -> pa.Array:
    """The parts of each list behind one another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets, _, _ = spans(array)
    mask = array.is_null() if array.null_count else None
    return pc.binary_join(pa.ListArray.from_arrays(offsets, parts, mask=mask), separator)
