"""A unit that follows an earlier attempt at its rows, which some target holds already, ends where that one ended.

Without this the next unit would begin elsewhere than the one that followed the first time, and its rows, under another
name, would be there twice. Rows are counted, not positions compared: a reader may cut its batches otherwise this time.
"""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.api.batch import Batch, Element, Heartbeat, Rejected
from seatunnel_py.api.sink import Reached


def no_further(element: Element, rows: int, reached: Reached) -> Element:
    """What of the next element lies before the end that was reached, ``rows`` of the unit having been read."""
    if reached.end is None or isinstance(element, Rejected):
        return element
    left = reached.rows - rows
    if isinstance(element, Batch):
        return element if element.rows < left else _first(element, left, reached)
    return element if left > 0 else Heartbeat(reached.end)


def _first(batch: Batch, rows: int, reached: Reached) -> Batch:
    return replace(
        batch,
        data=batch.data.slice(0, rows),
        end=reached.end,
        kinds=None if batch.kinds is None else batch.kinds.slice(0, rows),
        absent=None if batch.absent is None else batch.absent.slice(0, rows),
        metadata={name: values.slice(0, rows) for name, values in batch.metadata.items()},
    )
