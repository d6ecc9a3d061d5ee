"""Kills drivers that were asked to end with force, and have not ended in time.

Rules. (1) Only the driver that was asked is killed: one that has the run since is another one. (2) The signal is sent
within the transaction that forgets the wish, so a server that dies in between kills it at its next start. (3) The time
counts by the wall clock, and by the monotonic one since this server knows the wish: whichever is over first.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.control.launching import Launcher
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store import forced_ends
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.forced_ends import ForcedEnd


class ForcedStep(StrEnum):
    """The next step of a wish. ``OVER``: the driver has ended."""

    WAIT = "wait"
    KILL = "kill"
    OVER = "over"


def forced_step(wish: ForcedEnd, row: RunRow | None, now: float, waited: float) -> ForcedStep:
    """``row``: the run now; ``now``: wall-clock seconds; ``waited``: monotonic seconds since the server knows the
    wish."""
    if row is None or not row.alive or row.driver != wish.driver:
        return ForcedStep.OVER
    late = max(now - wish.at, waited) >= wish.seconds
    return ForcedStep.KILL if late else ForcedStep.WAIT


@dataclass(slots=True)
class ForcedEndPerformer:
    """``clock``: monotonic seconds; ``now``: wall-clock seconds."""

    database: Database
    index: RunIndex
    launcher: Launcher
    clock: Callable[[], float]
    now: Callable[[], float]
    _known_since: dict[tuple[str, str], float] = field(default_factory=dict)

    def turn(self) -> None:
        """Do what is due; called at least once a second. Raises StoreUnwritableError and StoreUnreadableError."""
        with self.database.reading() as connection:
            found = forced_ends.every(connection)
        clock = self.clock()
        known = {(one.run, one.driver): clock for one in found}
        self._known_since = {key: self._known_since.get(key, since) for key, since in known.items()}
        for one in found:
            row = self.index.look(one.run)
            step = forced_step(one, row, self.now(), clock - self._known_since[one.run, one.driver])
            if step is ForcedStep.OVER:
                with self.database.writing() as connection:
                    forced_ends.remove(connection, one.run)
            elif step is ForcedStep.KILL and row is not None:
                self._kill(one, row)

    def _kill(self, wish: ForcedEnd, row: RunRow) -> None:
        act = Act(wish.actor, "run.kill", wish.run, wish.address, request=wish.request)
        with self.database.acting(act) as write:
            forced_ends.remove(write.connection, wish.run)
            if row.process is None or not self.launcher.signal(row.process, signal.SIGKILL):
                write.note(result="refused: the process of the driver is not known on this machine")
