"""Converts columns of values to JSON text, a column at a time, and rows of a batch to JSON documents."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import DataType, FatalError, Kind
from seatunnel_py.api.types import NUMBER, TEMPORAL
from seatunnel_py.formats.value_text import TextRules, format_column, holds_any, iso_text, null_mask, scalar_text, spans
from seatunnel_py.formats.value_text.writer import BINARY, LISTS, MAPS

if TYPE_CHECKING:
    import pyarrow as pa

ESCAPED = r'["\\\x00-\x1f]'
"""Characters that a JSON string must escape."""

ESCAPED_BYTES = bytes(range(32)) + b'"\\'


def json_documents(
    names: Sequence[str], types: Sequence[DataType], columns: Sequence[Any], rules: TextRules
) -> pa.Array:
    """One JSON object per row, every field written, null as ``null``."""
    import pyarrow.compute as pc

    parts: list[Any] = []
    for index, (name, dtype, column) in enumerate(zip(names, types, columns, strict=True)):
        parts.append(("," if index else "{") + json.dumps(name, ensure_ascii=False) + ":")
        parts.append(json_values(column, dtype, rules))
    return pc.binary_join_element_wise(*parts, "}", "")


def json_values(array: pa.Array, dtype: DataType, rules: TextRules) -> pa.Array:
    """JSON text of each value; ``null`` for null."""
    import pyarrow.compute as pc

    return pc.fill_null(_values(array, dtype, rules), "null")


def json_texts(array: pa.Array, dtype: DataType) -> pa.Array:
    """JSON text of each value of a column that a database keeps as JSON; null stays null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), json_values(array, dtype, TextRules()))


def _values(array: pa.Array, dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = dtype.kind
    if kind is Kind.STRING:
        return _numbers(array) if dtype == NUMBER else quoted(array)
    if kind in BINARY:
        return _in_quotes(_base64(array))
    if kind in TEMPORAL:
        return quoted(_temporal(array, kind, rules))
    if kind in LISTS:
        _, first, last = spans(array)
        element = dtype.element or DataType(Kind.FLOAT)
        items = json_values(array.values.slice(first, last - first), element, rules)
        return _enclosed(array, items, "[", "]")
    if kind in MAPS:
        return _map(array, dtype, rules)
    if kind is Kind.ROW:
        children = [array.field(index) for index in range(len(dtype.fields))]
        names, types = zip(*dtype.fields, strict=True)
        text = json_documents(names, types, children, rules)
        return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), text)
    text = scalar_text(array, dtype)
    if pa.types.is_floating(array.type) and pc.all(pc.is_finite(array)).as_py() is False:
        # JSON has no such numbers; quoted ones are read back as numbers.
        return pc.if_else(pc.is_finite(array), text, _in_quotes(text))
    return text


def _temporal(array: pa.Array, kind: Kind, rules: TextRules) -> pa.Array:
    """ISO text with as few digits of a second's fraction as needed, unless the job file gives a pattern."""
    pattern = rules.pattern(kind)
    return iso_text(array, "T") if pattern is None else format_column(array, pattern)


def _base64(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array([None if v is None else base64.b64encode(v).decode() for v in array.to_pylist()], pa.string())


def _numbers(texts: pa.Array) -> pa.Array:
    """Leave numbers that are kept as text unquoted; quote the words that JSON lacks."""
    import pyarrow.compute as pc

    words = pc.match_substring(texts, "N")
    words = pc.or_(words, pc.match_substring(texts, "I"))
    return pc.if_else(words, _in_quotes(texts), texts) if pc.any(words).as_py() else texts


def _map(array: Any, dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow.compute as pc

    _, first, last = spans(array)
    key_type = dtype.key or DataType(Kind.INT)
    keys = array.keys.slice(first, last - first)
    names = quoted(keys) if key_type.kind is Kind.STRING else _in_quotes(_bare(keys, key_type, rules))
    items = json_values(array.items.slice(first, last - first), dtype.element or DataType(Kind.FLOAT), rules)
    return _enclosed(array, pc.binary_join_element_wise(names, items, ":"), "{", "}")


def _bare(keys: pa.Array, dtype: DataType, rules: TextRules) -> pa.Array:
    if dtype.kind in TEMPORAL:
        return _temporal(keys, dtype.kind, rules)
    if dtype.kind in BINARY:
        return _base64(keys)
    if dtype.kind in (*LISTS, *MAPS, Kind.ROW):
        raise FatalError(f"JSON has no keys of the type {dtype}", "leave the column out, or make its keys texts")
    return scalar_text(keys, dtype)


def quoted(texts: pa.Array) -> pa.Array:
    """JSON strings; only values that need it are escaped one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not holds_any(texts, ESCAPED_BYTES):
        return _in_quotes(texts)
    special = pc.match_substring_regex(texts, ESCAPED)
    escaped = [json.dumps(text, ensure_ascii=False) for text in texts.filter(special).to_pylist()]
    return pc.replace_with_mask(_in_quotes(texts), pc.fill_null(special, False), pa.array(escaped, pa.string()))


def _in_quotes(texts: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise('"', texts, '"', "")


def _enclosed(array: Any, parts: pa.Array, before: str, after: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets, _, _ = spans(array)
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, parts, mask=null_mask(array)), ",")
    return pc.binary_join_element_wise(before, joined, after, "")
