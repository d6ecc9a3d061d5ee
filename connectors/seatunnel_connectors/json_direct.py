"""JSON documents to columns by Arrow's own parser, where they are written as their types say.

Anything else (numbers in quotes, objects in text columns, maps) makes it fail, and wants json_columns.py.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.value_text import MisfitError, TextRules, parse_column
from seatunnel_connectors.value_text.numbers import may_underflow
from seatunnel_py.api import Column, DataType, Kind, to_arrow
from seatunnel_py.api.types import NUMBER, TEMPORAL

if TYPE_CHECKING:
    import pyarrow as pa

_SAME = {Kind.STRING, Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE}
_SAME |= {Kind.DECIMAL}
_FLOATING = (Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL)
_AS_TEXT = {*TEMPORAL, Kind.BYTES}
"""Types that JSON holds as strings: read as such, converted a column at a time."""


def is_direct(columns: Sequence[Column]) -> bool:
    """Tells whether Arrow's parser may be tried on documents of these columns."""
    return all(_is_direct(column.dtype) and column.default is None for column in columns)


def direct_columns(text: Any, columns: Sequence[Column], rules: TextRules) -> list[pa.Array]:
    """The columns of the documents in ``text``, one behind another. Raises ArrowInvalid, ArrowNotImplementedError or
    MisfitError where one of them is written otherwise."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    schema = pa.schema([pa.field(column.name, _as_read(column.dtype)) for column in columns])
    table = arrow_json.read_json(
        pa.BufferReader(text),
        arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    arrays = []
    for column in columns:
        chunks = table.column(column.name).chunks
        array = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
        arrays.append(_finished(array, column.dtype, rules))
    _check(text, arrays, columns)
    return arrays


def _check(text: Any, arrays: Sequence[Any], columns: Sequence[Column]) -> None:
    """Raise MisfitError where Arrow's parser may have taken a number for infinity or 0, or left out a field whose name
    differs in case."""
    import pyarrow.compute as pc

    plain: bytes | None = None
    pairs = [pair for array, column in zip(arrays, columns, strict=True) for pair in _leaves(array, column.dtype)]
    for array, dtype in pairs:
        if dtype.kind is not Kind.DECIMAL and pc.any(pc.is_inf(array)).as_py():
            raise MisfitError(0, "an infinite number")
        if pc.any(pc.equal(array, _zero(array.type))).as_py():
            plain = bytes(text) if plain is None else plain
            if may_underflow(plain):
                raise MisfitError(0, "a very small number")
            break
    lacking = [name for array, column in zip(arrays, columns, strict=True) for name in _lacking(array, column)]
    if lacking:
        plain = bytes(text) if plain is None else plain
        quoted = [json.dumps(name, ensure_ascii=False).encode() for name in lacking]
        absent = [name for name in quoted if plain.count(name) < len(arrays[0])]
        small = plain.lower() if absent else b""
        if any(plain.count(name) != small.count(name.lower()) for name in absent):
            raise MisfitError(0, "a field in another case")


def _zero(kind: Any) -> Any:
    import pyarrow as pa

    return pa.scalar(Decimal(0) if pa.types.is_decimal(kind) else 0.0, kind)


def _leaves(array: Any, dtype: DataType) -> list[tuple[Any, DataType]]:
    """The columns of floating numbers and decimals, at any depth."""
    if dtype.kind in _FLOATING:
        return [(array, dtype)]
    if dtype.kind is Kind.ROW:
        return [pair for at, (_, inner) in enumerate(dtype.fields) for pair in _leaves(array.field(at), inner)]
    if dtype.kind is Kind.ARRAY and dtype.element:
        return _leaves(array.flatten(), dtype.element)
    return []


def _lacking(array: Any, column: Column) -> list[str]:
    """The names that some document does not have, or has with null."""
    return [column.name, *_field_names(column.dtype)] if array.null_count else _null_fields(array, column.dtype)


def _null_fields(array: Any, dtype: DataType) -> list[str]:
    if dtype.kind is Kind.ROW:
        inner = zip(dtype.fields, array.flatten(), strict=True)
        return [name for (field, kind), child in inner for name in _lacking(child, Column(field, kind))]
    if dtype.kind is Kind.ARRAY and dtype.element:
        return _null_fields(array.flatten(), dtype.element)
    return []


def _field_names(dtype: DataType) -> list[str]:
    names = [name for field, inner in dtype.fields for name in (field, *_field_names(inner))]
    return names + (_field_names(dtype.element) if dtype.element else [])


def _finished(array: Any, dtype: DataType, rules: TextRules) -> Any:
    """The column as its type says, from the strings that JSON holds some types as."""
    import pyarrow as pa

    if dtype.kind in TEMPORAL:
        return parse_column(array, dtype, rules.pattern(dtype.kind))
    if dtype.kind is Kind.BYTES:
        try:
            plain = [None if v is None else base64.b64decode(v, validate=True) for v in array.to_pylist()]
        except (binascii.Error, ValueError):
            raise MisfitError(0, "not base64") from None
        return pa.array(plain, pa.binary())
    if dtype.kind is Kind.ROW:
        children = [_finished(array.field(index), inner, rules) for index, (_, inner) in enumerate(dtype.fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(to_arrow(dtype)), mask=mask)
    if dtype.kind is Kind.ARRAY and dtype.element and dtype.element.kind not in _SAME:
        values = _finished(array.flatten(), dtype.element, rules)
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, values, type=to_arrow(dtype), mask=mask)
    return array


def _is_direct(dtype: DataType) -> bool:
    if dtype.kind is Kind.ROW:
        return all(_is_direct(inner) for _, inner in dtype.fields)
    if dtype.kind is Kind.ARRAY:
        return dtype.element is not None and _is_direct(dtype.element)
    return (dtype.kind in _SAME or dtype.kind in _AS_TEXT) and dtype != NUMBER


def _as_read(dtype: DataType) -> Any:
    """The type to ask Arrow's parser for."""
    import pyarrow as pa

    if dtype.kind in _AS_TEXT:
        return pa.string()
    if dtype.kind is Kind.ROW:
        return pa.struct([(name, _as_read(inner)) for name, inner in dtype.fields])
    if dtype.kind is Kind.ARRAY and dtype.element:
        return pa.list_(_as_read(dtype.element))
    return to_arrow(dtype)
