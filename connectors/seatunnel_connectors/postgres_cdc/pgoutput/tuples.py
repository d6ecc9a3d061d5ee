"""Finds the cells of many rows: column by column, for all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.messages import (
    BINARY,
    NULL,
    TEXT,
    UNCHANGED,
    Bytes,
    Gatherer,
    Numbers,
)

if TYPE_CHECKING:
    import pyarrow as pa

Mask: TypeAlias = "npt.NDArray[np.bool_]"
Offsets: TypeAlias = "npt.NDArray[np.int32]"
"""Places in a buffer, which has less than 2 GB: half the memory of ``Numbers``."""

_HEAD_BYTES = 5  # of a cell with a value: its letter and its length


class BinaryCellsError(MalformedMessageError):
    """The stream was started with values in binary form."""


@dataclass(slots=True)
class Cells:
    """The cells of many rows, an array per column: their letters, and where their texts lie in the buffer. ``plain``:
    every cell is a text. ``in_order``: they lie in a row, one table row after the other; texts that were taken from the
    row before do not."""

    tags: Bytes
    starts: Offsets
    lengths: Offsets
    plain: bool
    in_order: bool = True

    def rows(self, chosen: Numbers | Mask) -> Cells:
        return Cells(self.tags[:, chosen], self.starts[:, chosen], self.lengths[:, chosen], self.plain, self.in_order)

    def columns(self, chosen: Mask) -> Cells:
        return Cells(self.tags[chosen], self.starts[chosen], self.lengths[chosen], self.plain, self.in_order)

    def joined(self, other: Cells, order: Numbers) -> Cells:
        """The rows of both, in that order."""
        return Cells(
            np.concatenate([self.tags, other.tags], 1)[:, order],
            np.concatenate([self.starts, other.starts], 1)[:, order],
            np.concatenate([self.lengths, other.lengths], 1)[:, order],
            self.plain and other.plain,
            self.in_order and other.in_order,
        )

    def is_text(self) -> Mask:
        return np.asarray(self.tags == TEXT)

    def is_unchanged(self) -> Mask:
        return np.asarray(self.tags == UNCHANGED)


def walk(data: Gatherer, at: Numbers, columns: int) -> tuple[Cells, Numbers]:
    """The cells of the tuples that begin at these places, and where each tuple ends."""
    counts = data.u2(at)
    if not (counts == columns).all():
        odd = int(counts[counts != columns][0])
        raise MalformedMessageError(f"a row has {odd} columns, its table was described with {columns}")
    at = at + 2
    tags = np.empty((columns, len(at)), np.uint8)
    starts, lengths = np.empty((columns, len(at)), np.int32), np.empty((columns, len(at)), np.int32)
    plain = True
    for number in range(columns):
        tags[number] = tag = data.u1(at)
        length, start = data.u4(at + 1), at + _HEAD_BYTES
        has_text = tag == TEXT
        if not has_text.all():
            plain = False
            _check_tags(tag)
            start = np.where(has_text, start, at + 1)
            length = np.where(has_text, length, 0)
        starts[number], lengths[number] = start, length
        at = start + length
    return Cells(tags, starts, lengths, plain), at


def _check_tags(tags: Bytes) -> None:
    if (tags == BINARY).any():
        raise BinaryCellsError("the rows hold values in binary form", "start the replication with binary = false")
    known = (tags == TEXT) | (tags == NULL) | (tags == UNCHANGED)
    if not known.all():
        raise MalformedMessageError(f"a value of a row begins with the byte {int(tags[~known][0])}, which none does")


def texts(buffer: bytes | bytearray, cells: Cells) -> list[pa.Array]:
    """The cells as Arrow's binary, by column: nulls where a cell has no text. The bytes are copied, once for all
    columns: the buffer is not kept."""
    import pyarrow as pa

    columns, rows = cells.tags.shape
    if not columns or not rows:
        return [pa.nulls(rows, pa.binary()) for _ in range(columns)]
    starts, lengths = cells.starts.T, cells.lengths.T
    chosen: npt.NDArray[np.signedinteger[Any]]
    if cells.in_order:
        chosen = np.arange(0, 2 * columns * rows, 2, dtype=np.int32).reshape(rows, columns)
    else:
        starts, first, places = np.unique(starts, return_index=True, return_inverse=True)
        lengths, chosen = lengths.ravel()[first], (2 * places).reshape(rows, columns)
    mask = None if cells.plain else ~cells.is_text().ravel()
    taken = _cut(pa.py_buffer(buffer), starts, lengths).take(pa.array(chosen.T.ravel(), mask=mask))
    return [taken.slice(number * rows, rows) for number in range(columns)]


def trimmed(cells: pa.Array, left: int, right: int) -> pa.Array:
    """Arrow's binary without the first and the last bytes of each value."""
    import pyarrow as pa

    bounds = np.frombuffer(cells.buffers()[1], np.int32)[cells.offset : cells.offset + len(cells) + 1].astype(np.int64)
    starts, lengths = bounds[:-1], np.diff(bounds)
    short = lengths < left + right
    starts = np.where(short, starts, starts + left)
    lengths = np.where(short, 0, lengths - left - right)
    mask = ~np.asarray(cells.is_valid()) if cells.null_count else None
    chosen = pa.array(np.arange(0, 2 * len(cells), 2), mask=mask)
    return _cut(cells.buffers()[2] or pa.py_buffer(b""), starts, lengths).take(chosen)


def _cut(buffer: pa.Buffer, starts: Offsets | Numbers, lengths: Offsets | Numbers) -> pa.Array:
    """An array over the whole buffer whose elements are, in turn, a value and what lies between it and the next one:
    taking every second one cuts all values out by one call, without a loop in Python."""
    import pyarrow as pa

    bounds = np.empty(2 * starts.size + 1, np.int32)
    pairs = bounds[:-1].reshape(*starts.shape, 2)
    pairs[..., 0] = starts
    np.add(starts, lengths, out=pairs[..., 1], casting="same_kind")
    bounds[-1] = bounds[-2] if starts.size else 0
    return pa.BinaryArray.from_buffers(pa.binary(), 2 * starts.size, [None, pa.py_buffer(bounds), buffer])
