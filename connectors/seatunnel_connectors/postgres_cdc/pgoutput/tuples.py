"""Finds the cells of many rows: column by column, for all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

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

_HEAD_BYTES = 5  # of a cell with a value: its letter and its length


class BinaryCellsError(MalformedMessageError):
    """The stream was started with values in binary form."""


@dataclass(slots=True)
class Cells:
    """The cells of many rows, an array per column: their letters, and where their texts lie in the buffer. ``plain``:
    every cell is a text. ``in_order``: they lie in a row, one table row after the other; texts that were taken from the
    row before do not."""

    tags: Bytes
    starts: Numbers
    lengths: Numbers
    plain: bool
    in_order: bool = True

    def rows(self, chosen: Numbers | Mask) -> Cells:
        return Cells(self.tags[:, chosen], self.starts[:, chosen], self.lengths[:, chosen], self.plain, self.in_order)

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
    starts, lengths = np.empty((columns, len(at)), np.int64), np.empty((columns, len(at)), np.int64)
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
        return [pa.array([None] * rows, pa.binary()) for _ in range(columns)]
    starts, lengths = cells.starts.T.ravel(), cells.lengths.T.ravel()
    chosen = np.arange(columns * rows).reshape(rows, columns)
    if not cells.in_order:
        starts, first, places = np.unique(starts, return_index=True, return_inverse=True)
        lengths, chosen = lengths[first], places.reshape(rows, columns)
    mask = None if cells.plain else ~cells.is_text().ravel()
    taken = _cut(pa.py_buffer(buffer), starts, lengths).take(pa.array(2 * chosen.T.ravel(), mask=mask))
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


def _cut(buffer: pa.Buffer, starts: Numbers, lengths: Numbers) -> pa.Array:
    """An array over the whole buffer whose elements are, in turn, a value and what lies between it and the next one:
    taking every second one cuts all values out by one call, without a loop in Python."""
    import pyarrow as pa

    bounds = np.empty(2 * len(starts) + 1, np.int32)
    bounds[0:-1:2] = starts
    bounds[1::2] = starts + lengths
    bounds[-1] = bounds[-2] if len(starts) else 0
    return pa.BinaryArray.from_buffers(pa.binary(), 2 * len(starts), [None, pa.py_buffer(bounds), buffer])
