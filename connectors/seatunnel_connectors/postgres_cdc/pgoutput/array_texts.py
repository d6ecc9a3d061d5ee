"""Converts the server's texts of arrays, ``{1,2,NULL}``, to lists.

Columns without quotes are split at once. A list cannot hold several dimensions or another first index than 1: such a
value is refused, as it is when the table is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_connectors.postgres_cdc.pgoutput.tuples import trimmed
from seatunnel_py.api import DataType, ValueMisfitError

if TYPE_CHECKING:
    import pyarrow as pa

ToColumn: TypeAlias = "Callable[[pa.Array, DataType, NativeType], pa.Array]"
_NULL = b"NULL"
_BOX = "box"  # the one type whose arrays are separated by a semicolon, because its texts hold commas


def to_lists(cells: pa.Array, dtype: DataType, native: NativeType, to_column: ToColumn) -> pa.Array:
    """The column as lists; ``to_column`` converts the elements."""
    import pyarrow as pa
    import pyarrow.compute as pc

    assert dtype.element is not None
    element = NativeType(native.element, native.modifier)
    delimiter = b";" if native.element == _BOX else b","
    simple = pc.match_substring_regex(cells, rb'^\{[^{}"\\]*\}$')
    if pc.all(simple).as_py() is False:
        lists = [None if one is None else _parsed(row, one, delimiter) for row, one in enumerate(cells.to_pylist())]
        split = pa.array(lists, pa.list_(pa.binary()))
    else:
        split = _split(cells, delimiter)
    offsets, elements = split.offsets, split.values
    try:
        values = to_column(elements, dtype.element, element)
    except ValueMisfitError as error:
        row = pc.index(pc.greater(offsets, pa.scalar(error.row, pa.int32())), pa.scalar(True)).as_py() - 1
        raise ValueMisfitError(row, f"in an array: {error}") from None
    return pa.ListArray.from_arrays(offsets, values, mask=cells.is_null() if cells.null_count else None)


def _split(cells: pa.Array, delimiter: bytes) -> pa.Array:
    """Lists of a column without quotes; an empty one has no element, and NULL is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    inner = trimmed(cells, 1, 1)
    parts = pc.split_pattern(inner, delimiter)
    empty = pc.fill_null(pc.equal(pc.binary_length(inner), 0), True)
    lengths = pc.if_else(empty, 0, pc.fill_null(pc.list_value_length(parts), 0))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    elements = parts.filter(pc.invert(empty)).flatten()
    is_null = pc.equal(elements, pa.scalar(_NULL, pa.binary()))
    return pa.ListArray.from_arrays(offsets, pc.if_else(is_null, pa.scalar(None, pa.binary()), elements))


def _parsed(row: int, text: bytes, delimiter: bytes) -> list[bytes | None]:
    if text.startswith(b"["):
        raise _no_list(row, text)
    if not (text.startswith(b"{") and text.endswith(b"}")):
        raise ValueMisfitError(row, f"{text[:80]!r} is not an array")
    if text == b"{}":
        return []
    return [*_elements(row, text, delimiter)]


def _elements(row: int, text: bytes, delimiter: bytes) -> Iterator[bytes | None]:
    at, last = 1, len(text) - 1
    while True:
        if text[at : at + 1] == b'"':
            value, at = _quoted(row, text, at + 1)
            yield value
        else:
            found = [end for end in (text.find(delimiter, at, last), last) if end >= 0]
            value, at = text[at : found[0]], found[0]
            if b"{" in value or b"}" in value:
                raise _no_list(row, text)
            yield None if value == _NULL else value.replace(b"\\", b"")
        if at == last:
            return
        if text[at : at + 1] != delimiter:
            raise ValueMisfitError(row, f"{text[:80]!r} is not an array")
        at += 1


def _quoted(row: int, text: bytes, at: int) -> tuple[bytes, int]:
    """The element after an opening quote, and its end."""
    found = bytearray()
    while at < len(text):
        ends = [end for end in (text.find(b'"', at), text.find(b"\\", at)) if end >= 0]
        if not ends:
            break
        end = min(ends)
        found += text[at:end]
        if text[end : end + 1] == b'"':
            return bytes(found), end + 1
        found += text[end + 1 : end + 2]
        at = end + 2
    raise ValueMisfitError(row, f"{text[:80]!r} is not an array")


def _no_list(row: int, text: bytes) -> ValueMisfitError:
    shown = text[:80].decode(errors="replace")
    return ValueMisfitError(
        row, f"{shown!r} is an array of several dimensions, or its first index is not 1: a list cannot hold it"
    )
