"""Parses JSON documents to columns with Arrow, if values are in the form of their types.

Any other document (numbers in quotes, objects in text columns, maps) makes it fail, and needs json_columns.py.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import Column, DataType, Kind, to_arrow
from seatunnel_py.api.types import NUMBER, TEMPORAL
from seatunnel_py.formats.value_text import MisfitError, TextRules, parse_column
from seatunnel_py.formats.value_text.numbers import may_underflow

if TYPE_CHECKING:
    import pyarrow as pa

_SAME = {Kind.STRING, Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE}
_SAME |= {Kind.DECIMAL}
_FLOATING = (Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL)
_AS_TEXT = {*TEMPORAL, Kind.BYTES}
"""Types that JSON holds as strings: read as such, converted a column at a time."""

UNEXPECTED = "unexpected field"
"""Text in Arrow's error for a field that is not in the schema."""


def is_direct(columns: Sequence[Column]) -> bool:
    """True if Arrow's parser can be tried for these columns."""
    return all(_is_direct(column.dtype) and column.default is None for column in columns)


class DirectJson:
    """Reads concatenated documents with Arrow's parser. Remembers whether a document had other fields than the columns:
    only then can a field have a column's name in another case."""

    def __init__(self, columns: Sequence[Column], rules: TextRules) -> None:
        self.columns = columns
        self.rules = rules
        self.has_surplus = False

    def read(self, text: Any) -> list[pa.Array]:
        """Return the columns of the documents in ``text``, bytes or a buffer of Arrow. Raises ArrowInvalid,
        ArrowNotImplementedError or MisfitError if a value has another form."""
        import pyarrow as pa

        schema = pa.schema([pa.field(column.name, _as_read(column.dtype)) for column in self.columns])
        table = None if self.has_surplus else self._without_surplus(text, schema)
        if table is None:
            table = _parsed(text, schema, "ignore")
        arrays = []
        for column in self.columns:
            chunks = table.column(column.name).chunks
            array = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
            arrays.append(_finished(array, column.dtype, self.rules))
        _check_numbers(text, arrays, self.columns)
        if self.has_surplus:
            _check_case(text, arrays, self.columns)
        return arrays

    def _without_surplus(self, text: Any, schema: pa.Schema) -> pa.Table | None:
        """Parse without surplus fields; None if a document has a field that is not a column."""
        import pyarrow as pa

        try:
            return _parsed(text, schema, "error")
        except pa.ArrowInvalid as error:
            if UNEXPECTED not in str(error):
                raise
            self.has_surplus = True
            return None


def _parsed(text: Any, schema: pa.Schema, surplus: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    return arrow_json.read_json(
        pa.BufferReader(text),
        arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=surplus),
    )


def _check_numbers(text: Any, arrays: Sequence[Any], columns: Sequence[Column]) -> None:
    """Raise MisfitError if Arrow's parser may have turned a number into infinity or 0."""
    import pyarrow.compute as pc

    pairs = [pair for array, column in zip(arrays, columns, strict=True) for pair in _leaves(array, column.dtype)]
    if any(dtype.kind is not Kind.DECIMAL and pc.any(pc.is_inf(array)).as_py() for array, dtype in pairs):
        raise MisfitError(0, "an infinite number")
    has_zero = any(pc.any(pc.equal(array, _zero(array.type))).as_py() for array, _ in pairs)
    if has_zero and may_underflow(bytes(text)):
        raise MisfitError(0, "a very small number")


def _check_case(text: Any, arrays: Sequence[Any], columns: Sequence[Column]) -> None:
    """Raise MisfitError if Arrow's parser may have ignored a field whose name differs in case."""
    lacking = {name for array, column in zip(arrays, columns, strict=True) for name in _lacking(array, column)}
    quoted = [json.dumps(name, ensure_ascii=False) for name in sorted(lacking)]
    if not quoted:
        return
    if all(map(str.isascii, quoted)):
        plain = bytes(text)
        small = plain.lower()
        odd = any(plain.count(name.encode()) != small.count(name.lower().encode()) for name in quoted)
    else:
        whole = bytes(text).decode()
        folded = whole.casefold()
        odd = any(whole.count(name) != folded.count(name.casefold()) for name in quoted)
    if odd:
        raise MisfitError(0, "a field in another case")


def _zero(kind: Any) -> Any:
    import pyarrow as pa

    return pa.scalar(Decimal(0) if pa.types.is_decimal(kind) else 0.0, kind)


def _leaves(array: Any, dtype: DataType) -> list[tuple[Any, DataType]]:
    """Columns of floating-point numbers and decimals, at any depth."""
    if dtype.kind in _FLOATING:
        return [(array, dtype)]
    if dtype.kind is Kind.ROW:
        return [pair for at, (_, inner) in enumerate(dtype.fields) for pair in _leaves(array.field(at), inner)]
    if dtype.kind is Kind.ARRAY and dtype.element:
        return _leaves(array.flatten(), dtype.element)
    return []


def _lacking(array: Any, column: Column) -> list[str]:
    """Names that are missing or null in a document."""
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
    """Convert the strings that JSON uses for some types to the column's type."""
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
    """The type to request from Arrow's parser."""
    import pyarrow as pa

    if dtype.kind in _AS_TEXT:
        return pa.string()
    if dtype.kind is Kind.ROW:
        return pa.struct([(name, _as_read(inner)) for name, inner in dtype.fields])
    if dtype.kind is Kind.ARRAY and dtype.element:
        return pa.list_(_as_read(dtype.element))
    return to_arrow(dtype)
