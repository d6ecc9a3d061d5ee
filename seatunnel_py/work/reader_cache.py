"""Keeps readers open between the units of a subtask: this makes a source *resident*.

Rules. (1) A reader is reused only for a unit that begins exactly where its previous one stopped by its budget, and that
has no fixed end. Any other unit opens its split again. (2) Nothing of a failed unit is kept open. (3) No more than
``OPEN_MAX`` are: a subtask may have hundreds of splits, and each reader has a connection. (4) A reader whose server
wants answers between units gives them itself, on a thread of its own (F-C14).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from seatunnel_py.api.batch import Element, Position
from seatunnel_py.api.source import Reader
from seatunnel_py.work.close_quietly import quietly, stop
from seatunnel_py.work.unit import Unit

OPEN_MAX = 64


@dataclass(frozen=True, slots=True)
class OpenReader:
    """A reader and the elements that it yields."""

    reader: Reader
    elements: Iterator[Element]

    def confirm(self, position: Position) -> None:
        """Pass a durable position to the reader."""
        self.reader.confirm(position)

    def close(self) -> None:
        stop(self.elements)
        quietly(self.reader.close)


class ReaderCache:
    """The open readers of one subtask, in one process. ``_stood``: by split the position at which a reader stopped, and
    the reader."""

    def __init__(self) -> None:
        self._stood: OrderedDict[str, tuple[Position, OpenReader]] = OrderedDict()

    def take(self, unit: Unit) -> OpenReader | None:
        """Take the reader that stands at the unit's start."""
        assert unit.split is not None, "a source's unit has a split"
        position, opened = self._stood.pop(unit.split.id, (None, None))
        if opened is not None and (position != unit.start or unit.until is not None):
            opened.close()
            return None
        return opened

    def keep(self, unit: Unit, position: Position, opened: OpenReader) -> None:
        """Keep the reader of a unit that succeeded and stopped here."""
        assert unit.split is not None, "a source's unit has a split"
        self._stood[unit.split.id] = position, opened
        while len(self._stood) > OPEN_MAX:
            self._stood.popitem(last=False)[1][1].close()

    def close(self) -> None:
        """Close all readers; none is opened any more."""
        while self._stood:
            self._stood.popitem()[1][1].close()
