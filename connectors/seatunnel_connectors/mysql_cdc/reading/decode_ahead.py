"""Decodes the next rows of a log in a thread, while the last ones are written.

Rules. (1) Elements are given in the order in which they were made; an error comes after the elements before it. (2) One
element waits at most: the thread decodes another one and stops there. (3) A heartbeat that waits is replaced by the
element after it, whose position is later. (4) The elements are made and closed by the thread alone; ``interrupt`` ends
a wait of theirs, and is called by another thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from seatunnel_py.api import Element, Heartbeat

STOP_SECONDS = 10.0


def decode_ahead(elements: Iterator[Element], interrupt: Callable[[], None]) -> Iterator[Element]:
    """Yield the elements, which a thread makes from the first call on until they end or this iterator is closed."""
    place = _Place()
    thread = threading.Thread(target=_fill, args=(place, elements), name="decode-ahead", daemon=True)
    thread.start()
    try:
        while (element := place.take()) is not None:
            yield element
    finally:
        place.close()
        interrupt()
        thread.join(STOP_SECONDS)


def _fill(place: _Place, elements: Iterator[Element]) -> None:
    failure: BaseException | None = None
    try:
        for element in elements:
            if not place.put(element):
                break
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        failure = error
    finally:
        close = getattr(elements, "close", None)
        if close is not None:
            close()
        place.end(failure)


class _Place:
    """The place of one element between two threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._element: Element | None = None
        self._failure: BaseException | None = None
        self._ended = self._closed = False

    def put(self, element: Element) -> bool:
        """Wait for the place, and take it; False once the consumer has left."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._element is None or self._holds_heartbeat)
            self._element = element
            self._changed.notify_all()
            return not self._closed

    @property
    def _holds_heartbeat(self) -> bool:
        return isinstance(self._element, Heartbeat)

    def end(self, failure: BaseException | None) -> None:
        with self._changed:
            self._failure, self._ended = failure, True
            self._changed.notify_all()

    def take(self) -> Element | None:
        """Wait for the next element; None after the last one. Raises the error that ended them."""
        with self._changed:
            self._changed.wait_for(lambda: self._element is not None or self._ended)
            found, self._element = self._element, None
            self._changed.notify_all()
        if found is None and self._failure is not None:
            raise self._failure
        return found

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
