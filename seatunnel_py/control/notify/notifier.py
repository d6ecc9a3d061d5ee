"""The notifications of one server: its targets, and the threads that look at runs and send. Of several servers only the
leader does so; it begins with what the database knows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from seatunnel_py.control.notify.deliverer import Deliverer
from seatunnel_py.control.notify.notice_writer import NoticeWriter
from seatunnel_py.control.notify.observer import NoticeObserver
from seatunnel_py.control.notify.run_notes import RunNotes
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.store.audit import SUPERVISOR, Act
from seatunnel_py.control.store.database import Database, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.outbox import deliveries, target_states
from seatunnel_py.control.store.outbox.deliveries import DeliveryState
from seatunnel_py.errors import first_line

TURN_SECONDS = 1.0
END_SECONDS = 2.0
_log = logging.getLogger("seatunnel.server")


@dataclass(slots=True)
class Notifier:
    """``notes``: for the supervisor; ``book``: the targets; ``leads``: whether this server is the one that sends."""

    database: Database
    book: TargetBook
    notes: RunNotes
    observer: NoticeObserver
    deliverer: Deliverer
    leads: Callable[[], bool] = lambda: True
    _thread: threading.Thread | None = None

    @classmethod
    def of(
        cls,
        database: Database,
        index: RunIndex,
        book: TargetBook,
        page: str,
        clock: Callable[[], float],
        now: Callable[[], float],
        random: Callable[[], float],
        leads: Callable[[], bool] = lambda: True,
    ) -> Self:
        """The notifications to the targets of ``book``; ``page``: the address of the server's page."""
        writer = NoticeWriter(lambda: book.settings, now, page)
        observer = NoticeObserver(database, index, writer, clock)
        deliverer = Deliverer(database, book, clock, now, random, leads=leads)
        return cls(database, book, RunNotes(writer, index), observer, deliverer, leads)

    def start(self) -> None:
        """Look and send in threads. Later events are reported."""
        with suppress(StoreUnwritableError, StoreUnreadableError):  # the first turn tries again
            self.observer.begin()
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)
        self._thread.start()

    def follow(self) -> None:
        """Take changed settings over, and leave the rest to the server that leads; called in place of ``turn``."""
        if (settings := self.book.changed()) is not None:
            self.book.take(settings)  # the leader writes the audit line
        self.observer.rest()

    def turn(self) -> None:
        """Take changed settings over, look at all runs, and have a thread for each target."""
        fault = self.book.fault
        if (settings := self.book.changed()) is not None:
            with self.database.acting(Act(SUPERVISOR, "notify.settings")):
                _log.warning("notifications: the settings file was read again")
            self.book.take(settings)  # after its audit line, as any other act
            self.observer.targets_changed()
        if self.book.fault and self.book.fault != fault:
            _log.warning("notifications: the settings file is wrong, those of before count: %s", self.book.fault)
        self.deliverer.keep_up()
        self.observer.turn()

    def standings(self) -> Mapping[str, tuple[int, bool]]:
        """How many events wait for each target, and whether it fails; empty if the database cannot be read."""
        try:
            with self.database.reading() as connection:
                counts, states = deliveries.counts(connection), target_states.every(connection)
        except StoreUnreadableError:
            return {}
        fails = {name for name, state in states.items() if state.standing in ("failing", "disabled")}
        names = self.book.settings.targets
        return {name: (counts.get((name, DeliveryState.WAITING), 0), name in fails) for name in names}

    def _run(self) -> None:
        while not self.deliverer.ending.wait(TURN_SECONDS):
            try:
                if not self.leads():
                    self.follow()
                    continue
                with self.database.term():
                    self.turn()
            except (StoreUnreadableError, StoreUnwritableError) as error:
                _log.warning("notifications wait: %s", first_line(error.message))
            except Exception:  # noqa: BLE001 - the next turn may succeed, and no run depends on a notification
                _log.exception("runs could not be looked at for notifications; it is tried again")

    def close(self) -> None:
        """End the threads."""
        self.deliverer.ending.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        self.deliverer.close(END_SECONDS)
