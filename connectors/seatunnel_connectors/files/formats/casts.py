"""Casts columns of parquet and orc files to a table's types: exactly, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.api import DataType, Kind, from_arrow, to_arrow
from seatunnel_py.formats.json.text import json_values
from seatunnel_py.formats.value_text import TextRules, leaves, null_mask, spans, text_column, text_values

if TYPE_CHECKING:
    import pyarrow as pa

_FROM_TEXT = {Kind.STRING, Kind.BYTES, Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.NULL}
"""Types that Arrow casts text to by itself, or not at all; any other follows the rules of the text formats."""

NS_MIN, NS_MAX = -9_223_372_036_854_775, 9_223_372_036_854_775
"""Range of microseconds that nanoseconds can express: the years 1677 to 2262."""


def cast(array: pa.Array, dtype: DataType) -> pa.Array:
    """Cast the array. Raises MisfitError or an error of Arrow's if a value would change."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    wanted = to_arrow(dtype)
    if array.type.equals(wanted):
        return array
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        if dtype.kind not in _FROM_TEXT:
            return text_column(array.cast(pa.string()), dtype, TextRules())
    elif dtype.kind is Kind.STRING:
        return _as_text(array)
    if pa.types.is_struct(wanted) and pa.types.is_struct(array.type):
        return _struct(array, dtype)
    if pa.types.is_list(wanted) and pa.types.is_list(array.type):
        return _list(array, dtype)
    if pa.types.is_map(wanted) and pa.types.is_map(array.type):
        return _map(array, dtype)
    return _scalar(array, wanted)


def _scalar(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_float16(array.type):
        array = pc.cast(array, pa.float32())  # always exact, and Arrow cannot compare half floats
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(wanted) and array.type.tz and not wanted.tz:
        array = pc.cast(array, pa.timestamp(array.type.unit))  # the job file asks for the clock time in UTC
    if pa.types.is_timestamp(array.type) and pa.types.is_time(wanted):
        raise pa.ArrowInvalid("the day of a timestamp has no place in a time")
    found = pc.cast(array, wanted)
    is_shorter = pa.types.is_date(wanted) and pa.types.is_timestamp(array.type)
    if is_shorter:
        same = pc.equal(pc.cast(found, array.type), array)
    elif pa.types.is_floating(wanted) and not pa.types.is_integer(array.type):
        same = pc.equal(pc.cast(found, array.type), array)
        same = pc.or_(same, pc.is_nan(found))
    else:
        return found
    if pc.all(same).as_py() is False:
        value = pc.cast(array.slice(pc.index(same, pa.scalar(False)).as_py(), 1), pa.string())[0].as_py()
        raise pa.ArrowInvalid(f"{value} {'has a time of day' if is_shorter else f'has more digits than {wanted}'}")
    return found


def _as_text(array: pa.Array) -> pa.Array:
    """Convert a column that the job file declares as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dtype = from_arrow(array.type)
    if not pa.types.is_nested(array.type):
        return text_values(_scalar(array, to_arrow(dtype)), dtype, TextRules())
    texts = json_values(cast(array, dtype), dtype, TextRules())
    return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), texts)


def _list(array: pa.ListArray, dtype: DataType) -> pa.Array:
    import pyarrow as pa

    offsets, first, last = spans(array)
    assert dtype.element is not None
    values = cast(array.values.slice(first, last - first), dtype.element)
    return pa.ListArray.from_arrays(offsets, values, type=to_arrow(dtype), mask=null_mask(array))


def _map(array: pa.MapArray, dtype: DataType) -> pa.Array:
    import pyarrow as pa

    offsets, first, last = spans(array)
    assert dtype.key is not None and dtype.element is not None
    keys = cast(array.keys.slice(first, last - first), dtype.key)
    items = cast(array.items.slice(first, last - first), dtype.element)
    return pa.MapArray.from_arrays(offsets, keys, items, type=to_arrow(dtype), mask=null_mask(array))


def _struct(array: pa.StructArray, dtype: DataType) -> pa.Array:
    import pyarrow as pa

    children = []
    for name, inner in dtype.fields:
        index = array.type.get_field_index(name)
        child = array.field(index) if index >= 0 else pa.nulls(len(array), to_arrow(inner))
        children.append(cast(child, inner) if index >= 0 else child)
    return pa.StructArray.from_arrays(children, fields=list(to_arrow(dtype)), mask=null_mask(array))


# ---------------------------------------------------------------- ranges


def beyond_nanoseconds(array: pa.Array) -> str:
    """The first timestamp that nanoseconds cannot express, as text; empty: there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for leaf in leaves(array):
        if not pa.types.is_timestamp(leaf.type) or leaf.type.unit != "us":
            continue
        ticks = pc.cast(leaf, pa.int64())
        odd = pc.or_(pc.less(ticks, NS_MIN), pc.greater(ticks, NS_MAX))
        at = pc.index(odd, pa.scalar(True)).as_py()
        if at >= 0:
            dtype = from_arrow(leaf.type)
            return str(text_values(leaf.slice(at, 1), dtype, TextRules())[0].as_py())
    return ""


def finer_than_micros(micros: pa.Array, nanos: pa.Array) -> bool:
    """True if timestamps, read in both units, are finer than microseconds. Nanoseconds overflow outside of 1677 to
    2262, and the difference overflows alike, so the result is right for every year."""
    import numpy as np
    import pyarrow as pa

    for one, other in zip(leaves(micros), leaves(nanos), strict=True):
        if one.type != other.type:
            coarse, fine = (np.asarray(part.cast(pa.int64()).fill_null(0)) for part in (one, other))
            if (fine - coarse * np.int64(1000)).any():
                return True
    return False
