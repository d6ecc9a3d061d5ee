"""Columns of text to columns of values, by the rules of the text formats.

Whole columns are cast at Arrow's speed. Where a cast refuses, the column is gone through value by value, with the
same rules, so that the value to blame (or a spelling that only Java's parsers take) is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.temporal import MisfitError, parse_column
from seatunnel_py.api import DataType, Kind, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = ("\x02", "\x03", "\x04", "\x05", "\x06", "\x07", "\x08")
"""What parts the values of containers, one per level of nesting below the field delimiter."""


@dataclass(frozen=True, slots=True)
class TextRules:
    """How text means values. Patterns are Java's; None: the usual spellings. ``null_format`` None: blank is null."""

    null_format: str | None = None
    date: str | None = None
    datetime: str | None = None
    time: str | None = None

    def pattern(self, kind: Kind) -> str | None:
        return {Kind.DATE: self.date, Kind.TIME: self.time}.get(kind, self.datetime)


class ExactFloat(float):
    """A number as JSON text has it: a float, whose text keeps every digit for columns that want them."""

    text = ""

    def __str__(self) -> str:
        return self.text


def exact_float(text: str) -> ExactFloat:
    """What ``json.loads`` may take for ``parse_float``."""
    number = ExactFloat(text)
    number.text = text
    return number


def text_column(texts: pa.StringArray, dtype: DataType, rules: TextRules, level: int = 0) -> pa.Array:
    """A column of ``dtype`` from text. Raises MisfitError with the index of the first value that does not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _nulls(texts, dtype, rules)
    kind = dtype.kind
    if kind is Kind.STRING:
        return texts
    if kind in (Kind.BYTES, Kind.BINARY_VECTOR, Kind.BFLOAT16_VECTOR):
        return pc.cast(texts, pa.binary())
    if kind is Kind.NULL:
        return pa.nulls(len(texts))
    if kind in _CONTAINERS:
        if level >= len(SEPARATORS) - 1:
            raise MisfitError(0, f"{dtype} is nested deeper than the text format has separators for")
        return _CONTAINERS[kind](texts, dtype, rules, level)
    texts = _without_blanks(texts)
    if kind is Kind.BOOLEAN:
        # Java's parseBoolean: whatever is not `true` is false.
        return pc.equal(pc.ascii_lower(texts), "true")
    if kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ):
        return parse_column(texts, dtype, rules.pattern(kind))
    return _number(texts, dtype)


def _nulls(texts: pa.Array, dtype: DataType, rules: TextRules) -> pa.Array:
    """Null where the text says so: the null format, or nothing at all. Only strings can tell the two apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rules.null_format is not None:
        texts = pc.if_else(pc.equal(texts, rules.null_format), pa.scalar(None, pa.string()), texts)
        if dtype.kind is Kind.STRING:
            return texts
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _without_blanks(texts: pa.Array) -> pa.Array:
    """Blanks around a value that is no string mean nothing; a value of blanks only is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(texts, r"^\s|\s$")).as_py():
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


# ---------------------------------------------------------------- numbers


def _number(texts: pa.Array, dtype: DataType) -> pa.Array:
    import pyarrow as pa

    arrow = to_arrow(dtype)
    try:
        return _cast_decimal(texts, dtype) if dtype.kind is Kind.DECIMAL else texts.cast(arrow)
    except pa.ArrowInvalid:
        pass
    parse = _PARSERS.get(dtype.kind, _integer)
    values = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            value = None if text is None else parse(text, dtype)
            pa.scalar(value, arrow)
        except (ValueError, ArithmeticError, pa.ArrowInvalid):
            raise MisfitError(index, f"{text!r} is not a {dtype}") from None
        values.append(value)
    return pa.array(values, arrow)


def _cast_decimal(texts: pa.Array, dtype: DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(dtype)
    try:
        return pc.cast(texts, arrow)
    except pa.ArrowInvalid:
        # More digits after the point than the column keeps: they are rounded half up, as the peer's sinks do.
        wide = pc.cast(texts, pa.decimal256(76, 38))
        return pc.cast(pc.round(wide, ndigits=dtype.scale, round_mode="half_towards_infinity"), arrow)


def _integer(text: str, dtype: DataType) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(text)
    return int(text)


def _float(text: str, dtype: DataType) -> float:
    # Java also takes a type letter behind the number.
    return float(text[:-1] if re.fullmatch(r"[0-9.eE+-]+[fFdD]", text) else text)


def _decimal(text: str, dtype: DataType) -> Decimal:
    try:
        step = Decimal(1).scaleb(-dtype.scale)
        return Decimal(text).quantize(step, rounding="ROUND_HALF_UP", context=Context(prec=100))
    except InvalidOperation:
        raise ValueError(text) from None


_PARSERS: dict[Kind, Callable[[str, DataType], Any]] = {
    Kind.FLOAT: _float,
    Kind.DOUBLE: _float,
    Kind.DECIMAL: _decimal,
}


# ---------------------------------------------------------------- containers


def _parts(texts: pa.Array, separator: str) -> tuple[pa.ListArray, pa.Array]:
    """The texts cut at the separator, as lists and as one flat column."""
    import pyarrow.compute as pc

    lists = pc.split_pattern(texts, separator)
    return lists, lists.flatten()


def _inner(lists: pa.ListArray, flat: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    """The parts converted; a part that does not fit is reported by the row that holds it."""
    import pyarrow.compute as pc

    try:
        return text_column(flat, dtype, rules, level)
    except MisfitError as error:
        rows = pc.list_parent_indices(lists)
        raise MisfitError(rows[error.index].as_py() if len(rows) else 0, str(error)) from None


def _array(texts: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    import pyarrow as pa

    element = dtype.element or DataType(Kind.FLOAT)
    lists, flat = _parts(texts, SEPARATORS[level])
    values = _inner(lists, flat, element, rules, level + 1)
    if dtype.kind is Kind.FLOAT16_VECTOR:
        values = values.cast(pa.float16())
    return pa.ListArray.from_arrays(lists.offsets, values, type=to_arrow(dtype), mask=_mask(lists))


def _map(texts: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    key_type = dtype.key or DataType(Kind.INT)
    value_type = dtype.element or DataType(Kind.FLOAT)
    lists, entries = _parts(texts, SEPARATORS[level])
    pairs = pc.split_pattern(entries, SEPARATORS[level + 1], max_splits=1)
    keys = _inner(lists, pc.list_element(pairs, 0), key_type, rules, level + 2)
    fixed = pc.list_slice(pairs, 0, 2, return_fixed_size_list=True)
    second = pc.list_element(fixed, 1) if len(fixed) else pa.array([], pa.string())
    values = _inner(lists, second, value_type, rules, level + 2)
    if keys.null_count:
        row = pc.list_parent_indices(lists)[pc.index(pc.is_null(keys), pa.scalar(True)).as_py()].as_py()
        raise MisfitError(row, f"{texts[row].as_py()!r} has an entry without a key")
    return pa.MapArray.from_arrays(lists.offsets, keys, values, type=to_arrow(dtype), mask=_mask(lists))


def _mask(lists: pa.ListArray) -> pa.Array | None:
    return lists.is_null() if lists.null_count else None


def _row(texts: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = len(dtype.fields)
    lists = pc.split_pattern(texts, SEPARATORS[level])
    # Rows with fewer values than fields end in nulls, surplus values are dropped, as on the top level.
    fixed = pc.list_slice(lists, 0, wanted, return_fixed_size_list=True)
    children = []
    for index, (_, inner) in enumerate(dtype.fields):
        column = pc.list_element(fixed, index) if len(fixed) else pa.array([], pa.string())
        children.append(text_column(column, inner, rules, level + 1))
    return pa.StructArray.from_arrays(children, fields=list(to_arrow(dtype)), mask=_mask(lists))


_CONTAINERS: dict[Kind, Callable[[Any, DataType, TextRules, int], Any]] = {
    Kind.ARRAY: _array,
    Kind.FLOAT_VECTOR: _array,
    Kind.FLOAT16_VECTOR: _array,
    Kind.MAP: _map,
    Kind.SPARSE_FLOAT_VECTOR: _map,
    Kind.ROW: _row,
}
