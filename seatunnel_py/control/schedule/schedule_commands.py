"""Acts of a person on schedules. Each act and its audit row are one transaction.

The server reads the schedules at each of its turns, so that a change by another process, as the command line, holds
within a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from seatunnel_py.control.definition_text import is_definition_id
from seatunnel_py.control.run_commands import RunCommands, require_no_secret
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import Fire, FireOutcome, Schedule
from seatunnel_py.control.schedule.stored_schedules import StaleScheduleError
from seatunnel_py.control.schedule.terms import ScheduleTerms, ScheduleTermsError, require_future
from seatunnel_py.control.store import definitions
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import Intent, StartOptions

SCHEDULES_MAX = 1_000
NUMBERED_MAX = 100


@dataclass(frozen=True, slots=True)
class ScheduleCommands:
    """Acts on the schedules of a database. ``now``: wall-clock seconds. Each method takes the ``Act`` for the audit."""

    database: Database
    commands: RunCommands
    now: Callable[[], float]

    def create(
        self, definition: str, id: str, terms: ScheduleTerms, variables: Mapping[str, str], by: str, act: Act
    ) -> Schedule:
        """Add a schedule; ``id``: empty: that of the definition, with a number if it is taken. Raises
        UnknownDefinitionError, ScheduleExistsError, and ScheduleTermsError for terms that never start a run."""
        now = self.now()
        require_future(terms, now)
        options = StartOptions(dict(variables))
        require_no_secret(options)
        with self.database.acting(act) as write:
            definitions.found(write.connection, definition)
            if stored_schedules.number(write.connection) >= SCHEDULES_MAX:
                raise ScheduleTermsError(f"there are {SCHEDULES_MAX:,} schedules already", "delete those without use")
            name = id or _free_id(write.connection, definition)
            if not is_definition_id(name):
                raise ScheduleTermsError(
                    f"{name!r} cannot name a schedule", "use up to 63 letters, digits, '-', '_' and '.'"
                )
            made = Schedule(name, definition, terms, options, anchor=math.floor(now), decided=now)
            made = replace(made, created_at=now, created_by=by, changed_at=now)
            stored_schedules.add(write.connection, made)
            write.note(object=name, revision=made.number)
        return made

    def change(
        self, id: str, terms: ScheduleTerms, variables: Mapping[str, str], act: Act, *, expected: int | None = None
    ) -> Schedule:
        """Give a schedule other terms; ``expected``: the number of the change that the caller has read. With other
        times it goes on from now. Raises as ``create``, UnknownScheduleError and StaleScheduleError."""
        now = self.now()
        require_future(terms, now)
        options = StartOptions(dict(variables))
        require_no_secret(options)
        with self.database.acting(replace(act, object=id)) as write:
            before = stored_schedules.found(write.connection, id)
            if expected is not None and before.number != expected:
                raise StaleScheduleError(
                    f"{id!r} is at change {before.number}, and this one was made to {expected}",
                    "read it again, and repeat the change",
                )
            made = replace(before, terms=terms, options=options)
            if not terms.same_times(before.terms):
                made = replace(made, anchor=math.floor(now))
                made = self._from_now(write.connection, made, "the schedule was changed")
            if made != before:
                made = self._next_number(made)
                stored_schedules.keep(write.connection, made)
            write.note(revision=made.number)
        return made

    def pause(self, id: str, act: Act) -> Schedule:
        """Start nothing until ``resume``; a start that waits is given up. Raises UnknownScheduleError."""
        return self._switch(id, act, paused=True)

    def resume(self, id: str, act: Act) -> Schedule:
        """Go on from now: times that have passed meanwhile start nothing. Raises UnknownScheduleError."""
        return self._switch(id, act, paused=False)

    def _switch(self, id: str, act: Act, *, paused: bool) -> Schedule:
        with self.database.acting(replace(act, object=id)) as write:
            before = stored_schedules.found(write.connection, id)
            made = before
            if before.paused is not paused:
                made = self._from_now(write.connection, replace(before, paused=paused), "the schedule was paused")
                made = self._next_number(made)
                stored_schedules.keep(write.connection, made)
            write.note(revision=made.number)
        return made

    def delete(self, id: str, act: Act) -> Schedule:
        """Delete a schedule with its history; its runs go on. Raises UnknownScheduleError."""
        with self.database.acting(replace(act, object=id)) as write:
            before = stored_schedules.found(write.connection, id)
            stored_schedules.remove(write.connection, id)
            write.note(revision=before.number)
        return before

    def start(self, id: str, act: Act, *, key: str = "", body_digest: str = "") -> Intent:
        """Start a run now, as a time of the schedule does; its times stay as they are. Raises as
        ``RunCommands.start``, and UnknownScheduleError."""
        with self.database.reading() as connection:
            found = stored_schedules.found(connection, id)
        return self.commands.start(found.definition, found.options, act, key=key, body_digest=body_digest)

    def _from_now(self, connection: Connection, schedule: Schedule, why: str) -> Schedule:
        """The schedule without the times that have passed, and without a start that waits."""
        now = self.now()
        if schedule.queued is not None:
            stored_schedules.fired(connection, schedule.id, Fire(schedule.queued, FireOutcome.SKIPPED, why), now)
        return replace(schedule, decided=max(schedule.decided, now), queued=None)

    def _next_number(self, schedule: Schedule) -> Schedule:
        return replace(schedule, number=schedule.number + 1, changed_at=self.now())


def _free_id(connection: Connection, definition: str) -> str:
    for number in range(1, NUMBERED_MAX):
        id = definition if number == 1 else f"{definition[:60]}-{number}"
        if stored_schedules.find(connection, id) is None:
            return id
    raise ScheduleTermsError(f"{definition!r} has many schedules", "choose an id for this one")
