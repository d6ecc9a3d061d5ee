"""Marks rows that are copied before a log is followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from seatunnel_py.api import Batch, Element, ReadContext

SNAPSHOT_ROW = "SnapshotRow"


def as_copied(elements: Iterable[Element], context: ReadContext) -> Iterator[Element]:
    """The elements; rows have the mark in their metadata if a later step uses it."""
    if SNAPSHOT_ROW not in context.metadata:
        yield from elements
        return
    import pyarrow as pa

    for element in elements:
        if isinstance(element, Batch):
            marks = pa.repeat(True, element.rows)
            yield replace(element, metadata={**element.metadata, SNAPSHOT_ROW: marks})
        else:
            yield element
