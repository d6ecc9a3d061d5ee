"""Ends a unit at the end of an earlier attempt at its rows, if some target holds the rows of that attempt.

Without this the next unit would start at another position than after the first attempt, and its rows, under another
name, would be written twice. Rows are counted, not positions compared: a reader may cut its batches otherwise this
time.
"""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.api.batch import Batch, Element, Heartbeat, Rejected
from seatunnel_py.api.sink import Reached
from seatunnel_py.errors import FatalError


def no_further(element: Element, rows: int, reached: Reached) -> Element:
    """Cut the next element at the end that was reached; ``rows`` of the unit have been read."""
    if reached.end is None or isinstance(element, Rejected):
        return element
    left = reached.rows - rows
    if isinstance(element, Batch):
        return element if element.rows < left else _first(element, left, reached)
    return element if left > 0 else Heartbeat(reached.end)


def up_to(element: Element, rows: int, until: Reached, *, ordered: bool) -> Element:
    """Cut the next element at the place where an earlier execution stopped. A reader that follows ``Reader.until``
    stops there by itself; any other might never have a position there again, and would read on forever."""
    end = getattr(element, "end", None)
    left = until.rows - rows
    if end is not None and until.end is not None and end.value == until.end.value:
        return element
    if left <= 0:
        return Heartbeat(until.end) if until.end is not None else element
    if isinstance(element, Batch) and element.rows >= left:
        if element.rows > left and not ordered:
            raise FatalError(
                f"the reader of {element.table} does not stop where it stopped before, and its rows have no order, "
                "so the rows already read cannot be found again",
                "the plugin's author has to implement Reader.until; channel.retain = always works without it",
            )
        return _first(element, left, until)
    if isinstance(element, Rejected) and element.data.num_rows >= left:
        return replace(element, end=until.end)
    return element


def _first(batch: Batch, rows: int, reached: Reached) -> Batch:
    return replace(
        batch,
        data=batch.data.slice(0, rows),
        end=reached.end,
        kinds=None if batch.kinds is None else batch.kinds.slice(0, rows),
        absent=None if batch.absent is None else batch.absent.slice(0, rows),
        metadata={name: values.slice(0, rows) for name, values in batch.metadata.items()},
    )
