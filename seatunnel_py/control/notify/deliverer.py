"""Sends what waits in the outbox, each target by a thread of its own.

Rules. (1) An event is sent before it is noted as sent: a server that dies in between sends it again, with the same id.
(2) The events of a target go out in their order; the next one waits for the one before, until that is sent or given up.
(3) A target that hangs or fails keeps up nothing but itself: neither other targets nor runs. (4) An event that a target
has not taken in ``give_up_seconds`` is given up, and shown. (5) If an attempt cannot be noted because the database
cannot be written, it is noted later, and not made again. (6) Of several servers only the leader sends. A server that
was the leader forgets its state: the database has all notes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from seatunnel_py.control.notify import delivery_rules
from seatunnel_py.control.notify.sending.attempt import AttemptResult, attempt
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.notify.target_settings import NotifyTarget
from seatunnel_py.control.store.audit import SUPERVISOR, Act
from seatunnel_py.control.store.database import Database, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.outbox import deliveries, outbox_events, target_states
from seatunnel_py.control.store.outbox.deliveries import Delivery
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.control.store.outbox.target_states import OutboxTarget
from seatunnel_py.errors import first_line

LOOK_SECONDS = 1.0
BROKEN_SECONDS = 5.0
_log = logging.getLogger("seatunnel.server")
Send = Callable[[NotifyTarget, OutboxEvent, float], AttemptResult]


@dataclass(slots=True)
class _Standing:
    """The knowledge of one thread about its target. ``unnoted``: an attempt that could not be noted yet."""

    not_before: float
    state: OutboxTarget
    unnoted: tuple[Delivery, AttemptResult, float] | None = None


@dataclass(slots=True)
class Deliverer:
    """Sends to the targets of ``book``. ``clock``: monotonic seconds; ``now``: of the wall; ``random``: from 0 to 1;
    ``leads``: whether this server is the one that sends."""

    database: Database
    book: TargetBook
    clock: Callable[[], float]
    now: Callable[[], float]
    random: Callable[[], float]
    send: Send = attempt
    leads: Callable[[], bool] = lambda: True
    ending: threading.Event = field(default_factory=threading.Event)
    _known: dict[str, _Standing] = field(default_factory=dict)
    _threads: dict[str, threading.Thread] = field(default_factory=dict)
    _closed: bool = False

    def keep_up(self) -> None:
        """Have a thread for each target; one whose target is gone ends by itself."""
        for name in self.book.settings.targets:
            thread = self._threads.get(name)
            if thread is None or not thread.is_alive():
                self._threads[name] = threading.Thread(
                    target=self._run, args=(name,), name=f"notify {name}", daemon=True
                )
                self._threads[name].start()

    def close(self, seconds: float) -> None:
        """End all threads, within this time. A thread that hangs in an attempt is abandoned, and notes nothing any
        more: the next server makes that attempt again."""
        self.ending.set()
        until = self.clock() + seconds
        for thread in self._threads.values():
            thread.join(max(0.0, until - self.clock()))
        self._closed = True

    def resume(self, name: str) -> None:
        """The next attempt is due now, also for a target that was switched off."""
        with self.database.writing() as connection:
            state = target_states.of_target(connection, name)
            target_states.keep(connection, replace(state, next_at=None, disabled=""))
        self._known.pop(name, None)

    def _run(self, name: str) -> None:
        while self.book.target(name) is not None:
            try:
                wait = self.step(name)
            except (StoreUnreadableError, StoreUnwritableError):
                wait = BROKEN_SECONDS
            except Exception:  # noqa: BLE001 - the next look may succeed, and no run depends on a notification
                _log.exception("the target %s could not be looked after; it is tried again", name)
                wait = BROKEN_SECONDS
            if self.ending.wait(wait):
                return
        self._known.pop(name, None)

    def step(self, name: str) -> float:
        """Send the next event to a target, if it is due; return the seconds until the next look."""
        target = self.book.target(name)
        if not self.leads():
            self._known.pop(name, None)
        elif target is not None:
            with self.database.term():
                return self._step(name, target)
        return LOOK_SECONDS

    def _step(self, name: str, target: NotifyTarget) -> float:
        known = self._known.get(name)
        if known is None:
            with self.database.reading() as connection:
                state = target_states.of_target(connection, name)
            known = _Standing(self.clock() + delivery_rules.first_wait(state, self.now()), state)
            self._known[name] = known
        if known.unnoted is not None:
            self._note(name, known, *known.unnoted)
            return 0.0
        with self.database.reading() as connection:
            found = deliveries.first_waiting(connection, name)
        if found is None:
            return LOOK_SECONDS
        delivery, row = found
        border = self.now() - self.book.settings.give_up_seconds
        if delivery.at <= border:
            self._give_up(name, border, delivery.error)
            return 0.0
        if known.state.disabled or self.clock() < known.not_before:
            return LOOK_SECONDS
        result = self.send(target, outbox_events.event_of(row._mapping), self.now())
        if self._closed:
            return LOOK_SECONDS
        self._note(name, known, delivery, result, self.now())
        return 0.0 if result.sent else LOOK_SECONDS

    def _give_up(self, name: str, border: float, error: str) -> None:
        with self.database.acting(Act(SUPERVISOR, "notify.gave-up", name)) as write:
            number = deliveries.give_up(write.connection, name, border, self.now(), "it was given up")
            write.note(result=f"{number} given up: {first_line(error)}")

    def _note(self, name: str, known: _Standing, delivery: Delivery, result: AttemptResult, at: float) -> None:
        found = delivery_rules.after(known.state, result, at, self.random())
        known.unnoted = (delivery, result, at)
        with self.database.writing() as connection:
            deliveries.tried(connection, delivery.id, found.delivery, at, code=result.code, error=result.error)
            target_states.keep(connection, found.target)
        known.unnoted = None
        known.state, known.not_before = found.target, self.clock() + found.wait
        if found.act:
            self._audit(name, found.act, result)

    def _audit(self, name: str, act: str, result: AttemptResult) -> None:
        """The server's log and the audit show a target that begins to fail, and one that works again."""
        with self.database.acting(Act(SUPERVISOR, act, name, result=first_line(result.error) or "done")):
            _log.warning("notifications: %s %s %s", act, name, first_line(result.error))
