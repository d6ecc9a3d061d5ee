"""Converts columns of text to columns of values, by the rules of the text formats.

Whole columns are cast at Arrow's speed. If a cast fails, the column is converted value by value, by the same rules:
this finds the misfit, or a spelling that only Java's parsers accept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import DataType, Kind, to_arrow
from seatunnel_py.api.types import INTEGERS, NUMBER, TEMPORAL
from seatunnel_py.formats.value_text.arrays import null_mask
from seatunnel_py.formats.value_text.booleans import parse_booleans
from seatunnel_py.formats.value_text.decimals import parse_decimals
from seatunnel_py.formats.value_text.escapes import SEPARATORS, nothing, one_null, unescape
from seatunnel_py.formats.value_text.number_words import check_numbers
from seatunnel_py.formats.value_text.numbers import parse_floats, parse_integers
from seatunnel_py.formats.value_text.rules import MisfitError, TextRules
from seatunnel_py.formats.value_text.temporal_reader import parse_column
from seatunnel_py.formats.value_text.writer import BINARY

if TYPE_CHECKING:
    import pyarrow as pa

LEVELS = len(SEPARATORS) - 1


def depth(dtype: DataType) -> int:
    """Number of separator levels that the type needs."""
    if dtype.kind not in _CONTAINERS:
        return 0
    own = 2 if dtype.key or dtype.kind is Kind.SPARSE_FLOAT_VECTOR else 1
    inner = [dtype.key, dtype.element, *(field for _, field in dtype.fields)]
    return own + max((depth(one) for one in inner if one is not None), default=0)


def text_column(texts: pa.StringArray, dtype: DataType, rules: TextRules, level: int = 0) -> pa.Array:
    """Convert text to a column of ``dtype``. Raises MisfitError with the index of the first misfit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = _nulls(texts, dtype, rules)
    kind = dtype.kind
    if kind is Kind.STRING or kind in BINARY:
        texts = unescape(texts) if level else texts
        if dtype == NUMBER:
            return check_numbers(texts, dtype)
        return texts if kind is Kind.STRING else pc.cast(texts, pa.binary())
    if kind is Kind.NULL:
        return pa.nulls(len(texts))
    if kind in _CONTAINERS:
        if level >= LEVELS:
            raise MisfitError(0, f"{dtype} is nested deeper than the text format has separators for")
        return _CONTAINERS[kind](texts, dtype, rules, level)
    texts = _without_blanks(texts)
    if kind is Kind.BOOLEAN:
        return parse_booleans(texts, dtype)
    if kind in TEMPORAL:
        return parse_column(texts, dtype, rules.pattern(kind))
    if kind in INTEGERS:
        return parse_integers(texts, dtype)
    return (parse_decimals if kind is Kind.DECIMAL else parse_floats)(texts, dtype)


def _nulls(texts: pa.Array, dtype: DataType, rules: TextRules) -> pa.Array:
    """Null for texts that mean null: the null format, or an empty text. Only strings distinguish the two."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rules.null_format is not None:
        texts = pc.if_else(pc.equal(texts, rules.null_format), pa.scalar(None, pa.string()), texts)
        if dtype.kind is Kind.STRING:
            return texts
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _without_blanks(texts: pa.Array) -> pa.Array:
    """Strip blanks around values other than strings; a value of blanks only is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(texts, r"^\s|\s$")).as_py():
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


# ---------------------------------------------------------------- containers


def _split(texts: pa.Array, rules: TextRules, level: int) -> pa.ListArray:
    """Split the texts at the level's separator; marks stand for containers whose text would be empty or null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty, blank = nothing(level), one_null(level)
    marked = pc.is_in(texts, pa.array([empty, blank]))
    if not pc.any(marked).as_py():
        return pc.split_pattern(texts, SEPARATORS[level])
    texts = pc.if_else(pc.equal(texts, blank), rules.null_format or "", texts)
    lists = pc.split_pattern(texts, SEPARATORS[level])
    without = pc.fill_null(pc.equal(texts, empty), False)
    lengths = pc.if_else(without, pa.scalar(0, pa.int32()), pc.fill_null(pc.list_value_length(lists), 0))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cast(pc.cumulative_sum(lengths), pa.int32())])
    flat = lists.flatten()
    kept = flat.filter(pc.not_equal(flat, empty))
    return pa.ListArray.from_arrays(offsets, kept, mask=null_mask(lists))


def _inner(lists: pa.ListArray, flat: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    """Convert the parts; a misfit is reported with the row that contains it."""
    import pyarrow.compute as pc

    try:
        return text_column(flat, dtype, rules, level)
    except MisfitError as error:
        rows = pc.list_parent_indices(lists)
        raise MisfitError(rows[error.index].as_py() if len(rows) else 0, str(error)) from None


def _array(texts: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    import pyarrow as pa

    element = dtype.element or DataType(Kind.FLOAT)
    lists = _split(texts, rules, level)
    values = _inner(lists, lists.flatten(), element, rules, level + 1)
    if dtype.kind is Kind.FLOAT16_VECTOR:
        values = values.cast(pa.float16())
    return pa.ListArray.from_arrays(lists.offsets, values, type=to_arrow(dtype), mask=null_mask(lists))


def _map(texts: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    key_type = dtype.key or DataType(Kind.INT)
    value_type = dtype.element or DataType(Kind.FLOAT)
    lists = _split(texts, rules, level)
    pairs = pc.split_pattern(lists.flatten(), SEPARATORS[level + 1], max_splits=1)
    keys = _inner(lists, pc.list_element(pairs, 0) if len(pairs) else _no_texts(), key_type, rules, level + 2)
    fixed = pc.list_slice(pairs, 0, 2, return_fixed_size_list=True)
    values = _inner(lists, pc.list_element(fixed, 1) if len(fixed) else _no_texts(), value_type, rules, level + 2)
    if keys.null_count:
        row = pc.list_parent_indices(lists)[pc.index(pc.is_null(keys), pa.scalar(True)).as_py()].as_py()
        raise MisfitError(row, f"{texts[row].as_py()!r} has an entry without a key")
    _refuse_twice(lists, keys, texts)
    return pa.MapArray.from_arrays(lists.offsets, keys, values, type=to_arrow(dtype), mask=null_mask(lists))


def _no_texts() -> pa.Array:
    import pyarrow as pa

    return pa.array([], pa.string())


def _refuse_twice(lists: pa.ListArray, keys: pa.Array, texts: pa.Array) -> None:
    """Raise for a map with a duplicate key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(keys) or pa.types.is_nested(keys.type):
        return
    rows = pc.list_parent_indices(lists)
    entries = pa.table({"row": rows, "key": keys})
    distinct = entries.group_by(["row", "key"]).aggregate([([], "count_all")])
    if distinct.num_rows == len(keys):
        return
    twice = distinct.filter(pc.greater(distinct.column("count_all"), 1))
    row = pc.min(twice.column("row")).as_py()
    raise MisfitError(row, f"{texts[row].as_py()!r} has a key twice")


def _row(texts: pa.Array, dtype: DataType, rules: TextRules, level: int) -> pa.Array:
    """Convert a nested row; missing values at its end are nulls, as on the top level."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = len(dtype.fields)
    lists = _split(texts, rules, level)
    surplus = pc.greater(pc.list_value_length(lists), wanted)
    if not rules.drop_surplus and pc.any(surplus).as_py():
        row = pc.index(surplus, pa.scalar(True)).as_py()
        raise MisfitError(row, f"{texts[row].as_py()!r} has more values than the {wanted} fields of {dtype}")
    fixed = pc.list_slice(lists, 0, wanted, return_fixed_size_list=True)
    children = []
    for index, (_, inner) in enumerate(dtype.fields):
        column = pc.list_element(fixed, index) if len(fixed) else _no_texts()
        children.append(text_column(column, inner, rules, level + 1))
    return pa.StructArray.from_arrays(children, fields=list(to_arrow(dtype)), mask=null_mask(lists))


_CONTAINERS: dict[Kind, Callable[[Any, DataType, TextRules, int], Any]] = {
    Kind.ARRAY: _array,
    Kind.FLOAT_VECTOR: _array,
    Kind.FLOAT16_VECTOR: _array,
    Kind.MAP: _map,
    Kind.SPARSE_FLOAT_VECTOR: _map,
    Kind.ROW: _row,
}
