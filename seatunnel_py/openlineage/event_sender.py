"""Sends the events of a run from a thread of its own, so that no lineage server slows a job or makes it fail.

Rules. (1) Events are delivered in their order; one that fails is tried again, with growing pauses, until the run has
ended and its time to wait is over. (2) Of the events that only count, at most one waits: a newer one takes its place.
The first and the last event of a run always stay. So at most three wait. (3) An event is made on this thread, when its
turn comes. (4) Events that are left at the end are kept for a later run, except for counts. (5) An event that the
server refuses is given up.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from seatunnel_py.openlineage.run_events import RunEventType
from seatunnel_py.openlineage.transports import Deliver, NotDeliveredError
from seatunnel_py.openlineage.unsent_events import UnsentEvents
from seatunnel_py.redaction import redacted_text

PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before another attempt; the last one stays."""

Make = Callable[[], bytes]


@dataclass(slots=True, eq=False)
class _PendingEvent:
    kind: RunEventType
    make: Make
    stays: bool
    made: bytes | None = None

    def event(self) -> bytes:
        if self.made is None:
            self.made = self.make()
        return self.made


@dataclass(slots=True)
class EventSender:
    """``notes``: sentences for the log, which another thread takes."""

    deliver: Deliver
    unsent: UnsentEvents
    run_id: str
    notes: list[str] = field(default_factory=list)
    _waiting: list[_PendingEvent] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ends_at: float | None = None
    _thread: threading.Thread | None = None

    def put(self, kind: RunEventType, make: Make, *, stays: bool) -> None:
        """Send this event when those before it are delivered. Returns at once. ``stays``: a newer one does not take its
        place."""
        with self._changed:
            if not stays:
                self._waiting = [one for one in self._waiting if one.stays]
            self._waiting.append(_PendingEvent(kind, make, stays))
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._send_all, name="openlineage", daemon=True)
                self._thread.start()

    def close(self, wait_seconds: float) -> None:
        """Wait so many seconds for the rest to be delivered, and keep what is left."""
        with self._changed:
            self._ends_at = time.monotonic() + wait_seconds
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(wait_seconds)
        with self._changed:
            left, self._waiting = self._waiting, []
        events = [event for one in left if one.stays and (event := self._made(one))]
        if events:
            self._keep(events)

    def _keep(self, events: list[bytes]) -> None:
        try:
            self.unsent.keep(self.run_id, events)
        except OSError as error:
            self.notes.append(f"{len(events)} lineage events are lost: {error.strerror or error}")
            return
        self.notes.append(f"{len(events)} lineage events were not delivered; a later run sends them")

    # ---------------------------------------------------------------- on the thread

    def _send_all(self) -> None:
        looked = False
        while (one := self._next()) is not None:
            delivered = self._sent(one)
            with self._changed:
                if one in self._waiting and delivered is not None:
                    self._waiting.remove(one)
            if delivered and not looked:
                looked = True
                with suppress(OSError, NotDeliveredError):
                    self.unsent.send(self._deliver_kept)

    def _deliver_kept(self, event: bytes) -> None:
        """Deliver an event of an earlier run; one that is refused is given up."""
        try:
            self.deliver(event)
        except NotDeliveredError as error:
            if error.again or self._is_over():
                raise
            self.notes.append(f"a lineage event of an earlier run is refused: {error}")

    def _next(self) -> _PendingEvent | None:
        """The first event that waits, once there is one; None: the run has ended, and nothing is left."""
        with self._changed:
            while not self._waiting:
                if self._ends_at is not None:
                    return None
                self._changed.wait()
            return None if self._is_over() else self._waiting[0]

    def _is_over(self) -> bool:
        return self._ends_at is not None and time.monotonic() >= self._ends_at

    def _sent(self, one: _PendingEvent) -> bool | None:
        """True: delivered; False: given up; None: it is left, because the time is over or a newer one came."""
        event = self._made(one)
        if event is None:
            return False
        for attempt in itertools.count():
            try:
                self.deliver(event)
                return True
            except NotDeliveredError as error:
                if not error.again:
                    self.notes.append(f"a lineage event ({one.kind}) is refused: {error}")
                    return False
                if attempt == 0:
                    self.notes.append(f"a lineage event ({one.kind}) is not delivered yet: {error}")
            with self._changed:
                pause = PAUSES[0] if self._ends_at is not None else PAUSES[min(attempt, len(PAUSES) - 1)]
                self._changed.wait(pause)
                if self._is_over() or one not in self._waiting:
                    return None
        raise AssertionError("attempts have no end")

    def _made(self, one: _PendingEvent) -> bytes | None:
        try:
            return one.event()
        except Exception as error:  # noqa: BLE001 - no run depends on its lineage
            text = redacted_text(f"{type(error).__name__}: {error}")
            self.notes.append(f"a lineage event ({one.kind}) cannot be made: {text}")
            return None
