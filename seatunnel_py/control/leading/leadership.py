"""Whether this server leads: it alone starts drivers, restarts them, keeps schedules and sends notifications.

Rules. (1) A server leads while it has the lease, and its own clock shows that it was renewed in time: it counts from
before the question, with a clock that goes on while the machine sleeps. (2) A server that was suspended knows that it
does not lead before it asks. (3) One that cannot reach the database stops to lead in time, for another one may take
over.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from seatunnel_py.control.leading import lease
from seatunnel_py.control.leading.lease import Lease
from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.errors import first_line

RENEWED_PER_LEASE = 3
LOOK_SECONDS = 2.0
END_SECONDS = 5.0
_log = logging.getLogger("seatunnel.server")


class ServerRole(StrEnum):
    """The role of a server among those of one store."""

    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class Standing:
    """``role``: of this server; ``leader``: the address of the one that leads, empty: none is known; ``number``: of its
    lease, and ``age``: seconds since that was renewed, None: there is no lease."""

    role: ServerRole
    leader: str
    number: int | None = None
    age: float | None = None


class Leadership(Protocol):
    """The part of this server in leading."""

    @property
    def number(self) -> int | None:
        """The number of the lease with which this server leads; None: it does not, or there is no lease."""

    @property
    def leads(self) -> bool:
        """Whether this server leads now."""

    def standing(self) -> Standing:
        """The role of this server, and the leader."""

    def begin(self) -> None:
        """Ask for the lease once, and go on in a thread."""

    def end(self) -> None:
        """Give the lease back."""


@dataclass(frozen=True, slots=True)
class SoleLeadership:
    """``Leadership`` of the only server of a store."""

    address: str
    number: int | None = None
    leads: bool = True

    def standing(self) -> Standing:
        """It leads."""
        return Standing(ServerRole.LEADER, self.address)

    def begin(self) -> None:
        """Lead without asking for a lease."""

    def end(self) -> None:
        """Do nothing: there is no lease."""


def sleepless_clock() -> float:
    """Seconds of a clock that no setting of the time changes, and that goes on while the machine sleeps."""
    number = getattr(time, "CLOCK_BOOTTIME", None)  # only Linux has it
    return time.monotonic() if number is None else time.clock_gettime(number)


class LeasedLeadership:
    """``Leadership`` by the lease of a store. ``address``: where this server answers; ``changed``: called after it has
    begun to lead, or has ceased."""

    def __init__(
        self,
        place: PostgresStore,
        address: str,
        changed: Callable[[], None],
        clock: Callable[[], float] = sleepless_clock,
    ) -> None:
        self._engine: Engine = place.engine(1)
        self._seconds, self._address, self._changed, self._clock = place.lease_seconds, address, changed, clock
        self._holder = secrets.token_hex(8)
        self._held: tuple[int, float] | None = None  # the number, and until when by the own clock
        self._seen: tuple[Lease, float] | None = None
        self._fails = False
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def number(self) -> int | None:
        held = self._held
        return held[0] if held is not None and self._clock() < held[1] else None

    @property
    def leads(self) -> bool:
        return self.number is not None

    def standing(self) -> Standing:
        """As it was known at the last look."""
        number = self.number
        seen, at = self._seen or (None, 0.0)
        role = ServerRole.FOLLOWER if number is None else ServerRole.LEADER
        if seen is None or not seen.number:
            return Standing(role, "")
        since = self._clock() - at
        led = seen.number == number or seen.left > since
        return Standing(role, seen.address if led else "", seen.number, round(seen.age + since, 3))

    def begin(self) -> None:
        """Look once, so that a server that is alone leads at once, and go on in a thread."""
        self.turn()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        led = self.leads
        while not self._ending.wait(self._pause()):
            try:
                self.turn()
            except Exception:  # noqa: BLE001 - without a renewal this server ceases to lead, which is safe
                _log.exception("the lease could not be looked at; it is tried again")
            if self.leads != led:
                led = not led
                _log.warning("this server %s", "leads now" if led else "does not lead any more")
                self._changed()

    def _pause(self) -> float:
        every = self._seconds / RENEWED_PER_LEASE
        return every if self.leads else min(every, LOOK_SECONDS)

    def turn(self) -> None:
        """Renew the lease, or take it if it has expired. Without the database nothing changes but the time."""
        began, number = self._clock(), self.number
        try:
            with self._engine.begin() as connection:
                if number is None or not lease.renewed(connection, number, self._seconds):
                    number = lease.taken(connection, self._holder, self._address, self._seconds)
                seen = lease.found(connection)
        except (DBAPIError, NoConnectionError) as error:
            if not self._fails:
                why = error.orig if isinstance(error, DBAPIError) else error
                _log.warning("the lease could not be looked at: %s", first_line(str(why)))
            self._fails = True
            return
        self._fails = False
        self._seen = (seen, self._clock())
        self._held = None if number is None else (number, began + self._seconds)

    def end(self) -> None:
        """Another server leads at its next look."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        number, self._held = self.number, None
        if number is not None:
            with suppress(DBAPIError, NoConnectionError), self._engine.begin() as connection:
                lease.given_back(connection, number)
        self._engine.dispose()
