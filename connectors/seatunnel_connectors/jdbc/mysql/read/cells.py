"""Addresses the cells of a column inside of a block of bytes that a server sent, for all rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

PADDING = 64
"""Zero bytes after a block: numbers are read a word at a time, also at its end."""
Ints = np.ndarray[Any, np.dtype[np.int64]]
Words = np.ndarray[Any, np.dtype[np.uint64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class CellBlock:
    """Bytes, and views of them that begin a number at each byte."""

    __slots__ = ("bytes", "data", "size")

    def __init__(self, parts: list[memoryview] | list[bytes]) -> None:
        self.data = b"".join([*parts, bytes(PADDING)])
        self.size = len(self.data) - PADDING
        self.bytes = np.frombuffer(self.data, np.uint8)

    def words(self, dtype: str, starts: Ints) -> Any:
        """The numbers that begin at ``starts``: one load for each, aligned or not."""
        width = np.dtype(dtype).itemsize
        if width == 1:
            return self.bytes.view(dtype)[starts]
        view: Any = np.ndarray((len(self.data) - width + 1,), dtype, self.data, 0, (1,))
        return view[starts]


class RowCells:
    """The cells of one column. ``valid`` is None if none is null; ``lengths`` is None for a fixed ``width``."""

    __slots__ = ("block", "lengths", "starts", "valid", "width")

    def __init__(
        self, block: CellBlock, starts: Ints, valid: Flags | None, width: int = 0, lengths: Ints | None = None
    ) -> None:
        self.block = block
        self.starts = starts
        self.valid = valid
        self.width = width
        self.lengths = lengths

    @property
    def count(self) -> int:
        return len(self.starts)

    def validity(self) -> Any:
        """Arrow's bitmap of the cells that are there; None if all are."""
        return bitmap(self.valid)

    def big_endian(self, size: int, offset: int = 0) -> Words:
        """Unsigned numbers of up to eight bytes, the highest byte first."""
        words: Words = self.block.words(">u8", self.starts + offset)
        return words >> np.uint64(64 - 8 * size)

    def little_endian(self, size: int, offset: int = 0) -> Words:
        """Unsigned numbers of up to eight bytes, the lowest byte first."""
        words: Words = self.block.words("<u8", self.starts + offset)
        return words & np.uint64((1 << 8 * size) - 1)

    def values(self) -> list[bytes | None]:
        """The cells' bytes as Python values, for types that are rare."""
        data = self.block.data
        lengths = np.full(self.count, self.width) if self.lengths is None else self.lengths
        ends = (self.starts + lengths).tolist()
        valid = [True] * self.count if self.valid is None else self.valid.tolist()
        return [
            data[start:end] if there else None
            for start, end, there in zip(self.starts.tolist(), ends, valid, strict=True)
        ]

    def binary(self) -> pa.Array:
        """The cells' bytes as an Arrow array, each copied once.

        The block itself serves as the data of an array in which the cells alternate with the gaps between them; the
        gaps are then left away. RowCells must come in ascending order.
        """
        import pyarrow as pa

        count = self.count
        if not count:
            return pa.array([], pa.binary())
        lengths = np.full(count, self.width, np.int64) if self.lengths is None else self.lengths
        if self.valid is not None:
            lengths = np.where(self.valid, lengths, 0)
        wide = self.block.size > np.iinfo(np.int32).max
        offsets = np.empty(2 * count, np.int64 if wide else np.int32)
        offsets[0::2] = self.starts
        offsets[1::2] = self.starts + lengths
        kind = pa.large_binary() if wide else pa.binary()
        whole = pa.Array.from_buffers(kind, 2 * count - 1, [None, pa.py_buffer(offsets), pa.py_buffer(self.block.data)])
        places = np.arange(0, 2 * count, 2, dtype=np.int64)
        taken = whole.take(pa.Array.from_buffers(pa.int64(), count, [self.validity(), pa.py_buffer(places)]))
        return taken.cast(pa.binary()) if wide else taken


def bitmap(valid: Flags | None) -> Any:
    """Arrow's bitmap of flags; None for None."""
    import pyarrow as pa

    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def from_numbers(kind: pa.DataType, values: Any, valid: Flags | None) -> pa.Array:
    """An Arrow array of fixed width over numpy's memory."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [bitmap(valid), pa.py_buffer(np.ascontiguousarray(values))])


def both(valid: Flags | None, other: Flags) -> Flags:
    """The flags that are set in both."""
    return other if valid is None else valid & other
