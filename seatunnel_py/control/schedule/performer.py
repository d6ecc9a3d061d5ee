"""Does what schedules decide: the only place where a time of a schedule starts a run.

Rules. (1) A fire, the start that it asks for, the next state of its schedule and the audit row are one transaction. So
a server that dies at any moment has started a time once or not at all, and the next one goes on from there. (2) A time
of a schedule has one fire: its key is both. (3) A decision holds for the rows that it was made from: if they have
changed since, it is made again. (4) A schedule that fails does not stop the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from seatunnel_py.control.run_commands import RunCommands
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import FireOutcome, Schedule, ScheduleDecision, decide_times
from seatunnel_py.control.store import intents
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import (
    AuditedWrite,
    Database,
    StoreUnreadableError,
    StoreUnwritableError,
)
from seatunnel_py.control.store.intents import StartKind, StartWish
from seatunnel_py.errors import SeaTunnelError, first_line, worded

_log = logging.getLogger("seatunnel.server")


class ScheduleChangedError(Exception):
    """The rows of a decision have changed since it was made."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A decision with the rows that it was made from."""

    schedule: Schedule
    under_way: tuple[str, ...]
    decision: ScheduleDecision


@dataclass(slots=True)
class SchedulePerformer:
    """``now``: wall-clock seconds. ``faults``: why a schedule could not be decided, by its id."""

    database: Database
    commands: RunCommands
    now: Callable[[], float]
    faults: dict[str, str] = field(default_factory=dict)

    def turn(self) -> None:
        """Start what is due; called at least once a second."""
        try:
            with self.database.reading() as connection:
                found = stored_schedules.every(connection)
        except StoreUnreadableError:
            return  # the supervisor names the fault
        self.faults = {id: why for id, why in self.faults.items() if id in {one.id for one in found}}
        for schedule in found:
            try:
                self._decide(schedule)
                self.faults.pop(schedule.id, None)
            except (StoreUnwritableError, StoreUnreadableError):
                return  # nothing was decided: the next turn does it again
            except ScheduleChangedError:
                continue
            except Exception as error:  # noqa: BLE001 - the others go on; the schedule shows its fault
                if schedule.id not in self.faults:
                    _log.exception("the schedule %s could not be decided; it is tried again", schedule.id)
                self.faults[schedule.id] = worded(error)

    def _decide(self, schedule: Schedule) -> None:
        if not _has_work(schedule, decide_times(self.now(), schedule, ())):
            return
        with self.database.reading() as connection:
            under_way = tuple(intents.open_runs(connection, schedule.definition))
        decision = decide_times(self.now(), schedule, under_way)
        if _has_work(schedule, decision):
            self._perform(schedule, under_way, decision)

    def _perform(self, schedule: Schedule, under_way: tuple[str, ...], decision: ScheduleDecision) -> None:
        made = _Made(schedule, under_way, decision)
        started = next((one for one in decision.fires if one.outcome is FireOutcome.STARTED), None)
        if started is None:
            with self.database.writing() as connection:
                self._keep(connection, made, None)
            return
        try:
            with self.database.acting(_act_of(schedule)) as write:
                self._keep(write.connection, made, write)
        except (StoreUnwritableError, StoreUnreadableError):
            raise
        except SeaTunnelError as error:  # the audit has it
            refused = replace(started, outcome=FireOutcome.REFUSED, why=first_line(error.message))
            fires = [refused if one is started else one for one in decision.fires]
            with self.database.writing() as connection:
                self._keep(connection, replace(made, decision=replace(decision, fires=fires)), None)

    def _keep(self, connection: Connection, made: _Made, write: AuditedWrite | None) -> None:
        """Keep a decision with all that follows from it; ``write``: that of its start."""
        schedule, decision = made.schedule, made.decision
        now_under_way = tuple(intents.open_runs(connection, schedule.definition))
        if stored_schedules.find(connection, schedule.id) != schedule or now_under_way != made.under_way:
            raise ScheduleChangedError
        for fire in decision.fires:
            is_start = write is not None and fire.outcome is FireOutcome.STARTED
            if stored_schedules.is_decided(connection, schedule.id, fire.due):  # before the clock went back by days
                if write is not None and is_start:
                    write.note(result="nothing: that time was decided before")
                continue
            if write is not None and is_start:
                fire = replace(fire, run=self._started(write, schedule))
            stored_schedules.fired(connection, schedule.id, fire, self.now())
        kept = replace(schedule, decided=decision.decided, queued=decision.queued)
        stored_schedules.keep(connection, kept)

    def _started(self, write: AuditedWrite, schedule: Schedule) -> str:
        wish = StartWish("", schedule.definition, 0, StartKind.NEW, schedule.options, _act_of(schedule).actor)
        return self.commands.start_within(write, wish).run


def _has_work(schedule: Schedule, decision: ScheduleDecision) -> bool:
    return bool(decision.fires) or decision.decided != schedule.decided


def _act_of(schedule: Schedule) -> Act:
    return Act(f"schedule:{schedule.id}", "run.start", schedule.definition)
