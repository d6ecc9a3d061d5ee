"""Converts columns of values to columns of text, for the text formats: the reverse of reader.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_py.api import BadRowsError, Column, DataType, FatalError, Kind
from seatunnel_py.api.types import TEMPORAL
from seatunnel_py.formats.value_text.arrays import null_mask, spans
from seatunnel_py.formats.value_text.decimals import decimal_text
from seatunnel_py.formats.value_text.escapes import SEPARATORS, escape, nothing, one_null
from seatunnel_py.formats.value_text.floats import float_text
from seatunnel_py.formats.value_text.rules import TextRules
from seatunnel_py.formats.value_text.temporal_writer import format_column, iso_text

if TYPE_CHECKING:
    import pyarrow as pa

BINARY = (Kind.BYTES, Kind.BINARY_VECTOR, Kind.BFLOAT16_VECTOR)
LISTS = (Kind.ARRAY, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR)
MAPS = (Kind.MAP, Kind.SPARSE_FLOAT_VECTOR)


def text_values(array: pa.Array, dtype: DataType, rules: TextRules, level: int = 0) -> pa.Array:
    """Text of each value; a null stays null at the top level and becomes the null format inside a container."""
    import pyarrow.compute as pc

    kind, null_text = dtype.kind, rules.null_format or ""
    if kind in LISTS:
        element = dtype.element or DataType(Kind.FLOAT)
        return _joined(array, _inner(array.values, element, rules, level + 1, array), level, null_text)
    if kind in MAPS:
        keys = _inner(array.keys, dtype.key or DataType(Kind.INT), rules, level + 2, array)
        items = _inner(array.items, dtype.element or DataType(Kind.FLOAT), rules, level + 2, array)
        return _joined(array, pc.binary_join_element_wise(keys, items, SEPARATORS[level + 1]), level, null_text)
    if kind is Kind.ROW:
        return _row(array, dtype, rules, level)
    if kind in TEMPORAL:
        pattern = rules.pattern(kind)
        return iso_text(array) if pattern is None else format_column(array, pattern)
    return scalar_text(array, dtype)


def column_text(array: pa.Array, column: Column, rules: TextRules) -> pa.Array:
    """``text_values`` of a column; the error for a value without text names the column."""
    try:
        texts = text_values(array, column.dtype, rules)
        _refuse_null_text(texts, rules)
        return texts
    except (BadRowsError, FatalError) as error:
        raise type(error)(f"column {column.name!r}: {error.message}", error.remedy) from None


def scalar_text(array: pa.Array, dtype: DataType) -> pa.Array:
    """Text of numbers, booleans, strings and bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if dtype.kind is Kind.STRING:
        return array
    if dtype.kind is Kind.NULL:
        return pa.nulls(len(array), pa.string())
    if dtype.kind in BINARY:
        try:
            return pc.cast(array, pa.string())
        except pa.ArrowInvalid:
            raise FatalError(
                "a value of type bytes is not UTF-8 text, which text formats write bytes as",
                "use json, parquet or orc, or leave the column out",
            ) from None
    if dtype.kind is Kind.DECIMAL:
        return decimal_text(array)
    if pa.types.is_floating(array.type):
        return float_text(array)
    return pc.cast(array, pa.string())


def _inner(values: pa.Array, dtype: DataType, rules: TextRules, level: int, parent: Any) -> pa.Array:
    _, first, last = spans(parent)
    return _part(values.slice(first, last - first), dtype, rules, level)


def _part(values: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    """Texts of values inside of a container."""
    import pyarrow.compute as pc

    null_text = rules.null_format or ""
    texts = text_values(values, dtype, rules, level)
    if dtype.kind is Kind.STRING or dtype.kind in BINARY:
        texts = escape(texts, null_text)
    else:
        _refuse_null_text(texts, rules)
    return pc.fill_null(texts, null_text)


def _refuse_null_text(texts: pa.Array, rules: TextRules) -> None:
    """Refuse a value with the text of null, which would be read back as null."""
    import pyarrow.compute as pc

    if rules.null_format and pc.any(pc.equal(texts, rules.null_format)).as_py():
        raise BadRowsError(
            f"a value is written as {rules.null_format!r}, which null_format defines as null",
            "choose another null_format",
        )


def _row(array: Any, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [_part(array.field(index), inner, rules, level + 1) for index, (_, inner) in enumerate(dtype.fields)]
    text = pc.binary_join_element_wise(*parts, SEPARATORS[level])
    if len(parts) == 1:
        text = pc.if_else(pc.equal(text, rules.null_format or ""), one_null(level), text)
    return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), text)


def _joined(array: Any, parts: pa.Array, level: int, null_text: str) -> pa.Array:
    """Join the parts of each container; containers whose text would be empty, or that of null, get a mark."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets, _, _ = spans(array)
    lists = pa.ListArray.from_arrays(offsets, parts, mask=null_mask(array))
    texts = pc.binary_join(lists, SEPARATORS[level])
    blank = pc.is_in(texts, pa.array(sorted({"", null_text})))
    if not pc.any(blank).as_py():
        return texts
    marks = pc.if_else(pc.equal(pc.list_value_length(lists), 0), nothing(level), one_null(level))
    return pc.if_else(blank, marks, texts)
