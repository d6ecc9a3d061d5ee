"""Keeps the rows of a unit while bad ones are searched for: in a segment, so memory stays bounded.

Rows are numbered in the order in which they were read. Undecoded records are kept apart from the start.
"""

from __future__ import annotations

import os
import secrets
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.batch import Batch, Rejected
from seatunnel_py.work.segment_files import discard
from seatunnel_py.work.segments import SegmentWriter, read_slice


@dataclass(frozen=True, slots=True)
class _KeptElement:
    """A batch in the segment: its number there, and the number of its first row."""

    index: int
    first: int
    rows: int


class Spool:
    """Filled once, then read any number of times."""

    def __init__(self, location: str, prefix: str) -> None:
        self._writer = SegmentWriter(location, f"{prefix}spool-{os.getpid()}-{secrets.token_hex(4)}", "error.location")
        self._finished = False
        self._kept: list[_KeptElement] = []
        self.rejected: list[tuple[Rejected, int]] = []  # with the number of rows read before
        self.rows = 0

    def add(self, batch: Batch) -> None:
        self._writer.add(batch)
        self._kept.append(_KeptElement(len(self._kept), self.rows, batch.rows))
        self.rows += batch.rows

    def finish(self) -> None:
        """Mark the end of the rows."""
        self._writer.finish("")
        self._finished = True

    def batches(self, rows: Sequence[int]) -> Iterator[tuple[Batch, Sequence[int]]]:
        """Give these rows, which are in order, in their original batches, with their numbers."""
        for kept in self._kept:
            start, end = bisect_left(rows, kept.first), bisect_left(rows, kept.first + kept.rows)
            if start < end:
                some = rows[start:end]
                whole = read_slice(self._writer.url, kept.index)
                yield (whole if len(some) == kept.rows else taken(whole, [row - kept.first for row in some])), some

    def drop(self) -> None:
        """Delete everything."""
        if self._finished:
            discard(self._writer.url)
        else:
            self._writer.abort()


def taken(batch: Batch, rows: Sequence[int]) -> Batch:
    """Some rows of a batch, in order, with all that belongs to them."""
    import pyarrow as pa

    together = rows[-1] - rows[0] + 1 == len(rows)
    at = pa.array([] if together else rows, pa.int64())

    def some(values: Any) -> Any:
        return values.slice(rows[0], len(rows)) if together else values.take(at)

    return replace(
        batch,
        data=some(batch.data),
        kinds=None if batch.kinds is None else some(batch.kinds),
        absent=None if batch.absent is None else some(batch.absent),
        metadata={name: some(values) for name, values in batch.metadata.items()},
    )
