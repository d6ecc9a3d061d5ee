"""Helpers on Arrow arrays for the writers of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def holds_any(texts: Any, marks: bytes) -> bool:
    """True if any text of the column contains one of these bytes; scans the column's memory once."""
    import pyarrow as pa

    if not len(texts) or not pa.types.is_string(texts.type):
        return bool(len(texts))
    raw = _bytes_of(texts).to_pybytes()
    return len(raw.translate(None, marks)) != len(raw)


def holds_letters(texts: Any) -> bool:
    """True if any text of the column has characters other than digits and the ASCII marks below them."""
    import numpy as np

    raw = np.frombuffer(_bytes_of(texts), np.uint8)
    return bool(len(raw)) and int(raw.max()) > ord("9")


def _bytes_of(texts: Any) -> Any:
    """The memory of a string column."""
    import struct

    import pyarrow as pa

    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return pa.py_buffer(b"")
    first = struct.unpack_from("=i", offsets, 4 * texts.offset)[0]
    last = struct.unpack_from("=i", offsets, 4 * (texts.offset + len(texts)))[0]
    return data.slice(first, last - first)


def spans(array: Any) -> tuple[Any, int, int]:
    """Offsets of a list or map column counted from 0, and the range of its inner values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(array):
        return pa.array([0], pa.int32()), 0, 0
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return pc.subtract(array.offsets, pa.scalar(first, pa.int32())), first, last


def null_mask(array: Any) -> Any:
    """Mask of null values, for the constructors of nested arrays; None if there are none."""
    return array.is_null() if array.null_count else None


def mended(texts: Any, mask: Any, mend: Any) -> Any:
    """Replace the texts under the mask by ``mend`` of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pa.array([mend(text) for text in texts.filter(mask).to_pylist()], pa.string())
    return pc.replace_with_mask(texts, mask, found)


def leaves(array: Any) -> Iterator[Any]:
    """Yield the columns of plain values inside of an array."""
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        for index in range(array.type.num_fields):
            yield from leaves(array.field(index))
    elif pa.types.is_map(array.type):
        _, first, last = spans(array)
        yield from leaves(array.keys.slice(first, last - first))
        yield from leaves(array.items.slice(first, last - first))
    elif pa.types.is_list(array.type):
        yield from leaves(array.flatten())
    else:
        yield array
