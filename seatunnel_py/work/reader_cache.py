"""Keeps readers open between the units of a subtask: this makes a source *resident*.

Rules. (1) A reader is reused only for a unit that begins exactly where its previous one stopped by its budget, and that
has no fixed end. Any other unit opens its split again. (2) Nothing of a failed unit is kept open. (3) No more than
``OPEN_MAX`` are: a subtask may have hundreds of splits, and each reader has a connection. (4) While a reader gives
nothing, between units and while its rows are written, a thread lets it keep its connection alive (F-C14). A reader does
one thing at a time: it is never asked while it reads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

from seatunnel_py.api.batch import Element, Position
from seatunnel_py.api.source import Reader
from seatunnel_py.work.close_quietly import quietly, stop
from seatunnel_py.work.unit import Unit

OPEN_MAX = 64
IDLE_SECONDS = 1.0


class OpenReader:
    """A reader and the elements that it yields. ``usable``: neither closed, nor has its connection failed."""

    def __init__(self, reader: Reader, elements: Iterator[Element]) -> None:
        self.reader = reader
        self.elements = self._in_turn(elements)
        self.usable = True
        self._yielded = elements
        self._busy = threading.Lock()

    def _in_turn(self, elements: Iterator[Element]) -> Iterator[Element]:
        while True:
            with self._busy:
                try:
                    element = next(elements)
                except StopIteration:
                    return
            yield element

    def confirm(self, position: Position) -> None:
        """Pass a durable position to the reader."""
        with self._busy:
            self.reader.confirm(position)

    def keep_alive(self) -> None:
        """Let the reader keep its connection alive, unless it reads."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            if self.usable:
                self.reader.idle()
        except Exception:  # noqa: BLE001 - reading on reports what is wrong; a later unit opens its split again
            self.usable = False
        finally:
            self._busy.release()

    def close(self) -> None:
        with self._busy:
            self.usable = False
            stop(self._yielded)
            quietly(self.reader.close)


class ReaderCache:
    """The open readers of one subtask, in one process. ``_stood``: by split the position at which a reader stopped, and
    the reader."""

    def __init__(self) -> None:
        self._stood: OrderedDict[str, tuple[Position, OpenReader]] = OrderedDict()
        self._kept_alive: tuple[OpenReader, ...] = ()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, unit: Unit) -> OpenReader | None:
        """Take the reader that stands at the unit's start."""
        assert unit.split is not None, "a source's unit has a split"
        position, opened = self._stood.pop(unit.split.id, (None, None))
        if opened is not None and (position != unit.start or unit.until is not None or not opened.usable):
            opened.close()
            return None
        return opened

    def keep(self, unit: Unit, position: Position, opened: OpenReader) -> None:
        """Keep the reader of a unit that succeeded and stopped here."""
        assert unit.split is not None, "a source's unit has a split"
        self._stood[unit.split.id] = position, opened
        while len(self._stood) > OPEN_MAX:
            self._stood.popitem(last=False)[1][1].close()

    def keep_alive(self, opened: OpenReader) -> None:
        """Keep the connection of this reader alive until it is closed."""
        if type(opened.reader).idle is Reader.idle:
            return
        self._kept_alive = (*(one for one in self._kept_alive if one.usable), opened)
        if self._thread is None:
            self._thread = threading.Thread(target=self._visit, name="keep-alive", daemon=True)
            self._thread.start()

    def _visit(self) -> None:
        while not self._ends.wait(IDLE_SECONDS):
            for opened in self._kept_alive:
                opened.keep_alive()

    def close(self) -> None:
        """Close all readers; none is opened any more."""
        self._ends.set()
        while self._stood:
            self._stood.popitem()[1][1].close()
