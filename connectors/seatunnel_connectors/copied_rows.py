"""Marks rows that are copied without a log, or before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from seatunnel_connectors.jdbc.source.source import JdbcReader
from seatunnel_py.api import PLAIN_READ, Batch, Element, Position, ReadContext, Split

SNAPSHOT_ROW = "SnapshotRow"


class CopyReader(JdbcReader):
    """Reads splits as Jdbc does, and marks their rows."""

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        return as_copied(super().read(split, start, context), context)


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
