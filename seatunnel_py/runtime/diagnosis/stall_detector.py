"""Detects a job without progress, and reports the causes.

Rules. (1) It checks whenever the driver checks for requests. (2) A job without progress and without waiting work is
idle: nothing is reported. (3) The first report comes after ``STILL_SECONDS``, earlier for a job that a user has
stopped, and further ones with growing pauses, so that a hanging job does not fill its log. (4) Targets are queried on a
separate thread, because a hanging target must not block the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.api.process.resources import sever_lent
from seatunnel_py.api.sink import Sink
from seatunnel_py.api.source import Source
from seatunnel_py.errors import first_line
from seatunnel_py.runtime.diagnosis import lost_units
from seatunnel_py.runtime.diagnosis.diagnostics import blocked_targets, status_of
from seatunnel_py.runtime.diagnosis.log_lags import LogLags
from seatunnel_py.runtime.diagnosis.standing import PipelineDiagnosis
from seatunnel_py.runtime.messages.events import UnitPresumedLost
from seatunnel_py.runtime.observe.events import CheckpointDone, JobEvent, JobStalled, RowsMoved, TableChanged
from seatunnel_py.work.unit import UnitId

if TYPE_CHECKING:
    from seatunnel_py.runtime.diagnosis.job_port import JobPort
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

STILL_SECONDS = 30.0  # several times the usual duration of a unit or commit
STOPPING_SECONDS = 5.0
LOST_EVERY_SECONDS = 2.0  # between two searches for lost units: each visits all tables, on the loop
EXAMINE_SECONDS = 10.0  # between two examinations of one suspected unit
EXAMINED_AT_ONCE = 4
TABLES_MAX = 5  # tables that an unrequested report explains
Standings = Sequence[PipelineDiagnosis]
Places = Mapping[str, Sink | Source]


class StallDetector:
    """Detects stalls of one driver."""

    def __init__(self, driver: JobPort, machines: Mapping[str, PipelineMachine]) -> None:
        self._driver = driver
        self._machines = machines
        self._moved: dict[str, float] = {}  # by pipeline: time of the last row
        self._last = driver.now()  # time of the last progress
        self._patience = STILL_SECONDS
        self._look_for_lost_at = self._last + LOST_EVERY_SECONDS
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="look")
        self._examining = ThreadPoolExecutor(EXAMINED_AT_ONCE, thread_name_prefix="examine")
        self._examined: dict[UnitId, float] = {}  # when it may be examined again
        self._looked: dict[str, float] = {}
        self._lags = LogLags(driver, machines)

    def saw(self, event: JobEvent) -> None:
        """Note an event."""
        if isinstance(event, RowsMoved):
            if event.rows or event.bytes:
                self._moved[event.pipeline] = event.at
        elif not isinstance(event, TableChanged | CheckpointDone):
            return
        self._last = self._driver.now()
        self._patience = STOPPING_SECONDS if self._driver.stopped_by else STILL_SECONDS

    def look(self) -> None:
        """Report a stall if nothing has moved for long; give up units whose connection is lost."""
        at = self._driver.now()
        self._lags.look(at)
        if at >= self._look_for_lost_at:
            self._look_for_lost_at = at + LOST_EVERY_SECONDS
            self._check(at)
        if at - self._last > self._patience:
            self._patience *= 2
            self.explain(self._tell)

    def _check(self, at: float) -> None:
        """Look for lost connections of units, and of the driver's own calls."""
        for key in self._driver.open:  # few of the pipelines of a large job
            machine = self._machines[key]
            if len(machine.state.calls):
                self._check_calls(machine, at)
            if machine.state.shown.started_at is not None and not machine.shown_state.ended:
                self._check_units(machine, at)

    def _check_units(self, machine: PipelineMachine, at: float) -> None:
        for suspect in lost_units.suspects(machine, at, self._moved.get(machine.id)):
            if at >= self._examined.get(suspect.unit, 0.0):
                self._examined[suspect.unit] = at + EXAMINE_SECONDS
                self._examining.submit(self._examine, machine, suspect)

    def _check_calls(self, machine: PipelineMachine, at: float) -> None:
        limit = machine.context.settings.stall_seconds
        since = min(call.since for call in machine.state.calls)
        if at - since > limit and at >= self._looked.get(machine.id, 0.0):
            self._looked[machine.id] = at + EXAMINE_SECONDS
            self._examining.submit(_cut_lost_calls, blocked_targets(machine, at), limit)

    def _examine(self, machine: PipelineMachine, suspect: lost_units.Suspect) -> None:
        """Query the servers of a suspected unit, on another thread."""
        reason = lost_units.verdict(suspect)
        if reason:
            self._driver.post(partial(self._driver.turn, machine, UnitPresumedLost(suspect.unit, reason)))

    def explain(self, then: Callable[[Standings], None]) -> None:
        """Diagnose all pipelines that have not ended or still wait for external calls; waiting ones first."""
        at = self._driver.now()
        machines = [
            machine for machine in self._machines.values() if not machine.shown_state.ended or len(machine.state.calls)
        ]
        found = [
            replace(status_of(machine, at, self._moved.get(machine.id)), log_lag=self._lags.of(machine))
            for machine in machines
        ]
        places = {machine.pipeline.name: blocked_targets(machine, at) for machine in machines}
        asking = {name: blocked for name, blocked in places.items() if blocked}
        found.sort(key=lambda one: (not one.busy, one.state == "PENDING", one.table))
        if not any(one.busy for one in found):
            then(found)
            return
        self._asking.submit(self._ask, found, dict(list(asking.items())[:TABLES_MAX]), then)

    def close(self) -> None:
        """Stop, because the driver ends."""
        self._lags.close()
        self._asking.shutdown(wait=False, cancel_futures=True)
        self._examining.shutdown(wait=False, cancel_futures=True)

    def _ask(self, found: Standings, places: Mapping[str, Places], then: Callable[[Standings], None]) -> None:
        """On another thread: query the engine's faults, and the locks of sources and targets."""
        ails = tuple(self._driver.engine.ails())
        locks = {
            name: tuple(line for place in blocked.items() for line in _locks(*place))
            for name, blocked in places.items()
        }
        complete = [replace(one, blocked=(*ails, *locks.get(one.table, ()))) if one.busy else one for one in found]
        self._driver.post(partial(then, complete))

    def _tell(self, found: Standings) -> None:
        waiting = [one for one in found if one.busy][:TABLES_MAX]
        if waiting:
            now = self._driver.now()
            lines = tuple(f"{one.table}: {text}" for one in waiting for text in (*one.blocked, *one.waits))
            self._driver.tell(JobStalled(now - self._last, lines, now))


def _cut_lost_calls(places: Places, seconds: float) -> None:
    """Cut lost connections, on another thread. The pending calls then retry over new ones."""
    found = lost_units.silent(places, 0)
    if found is not None and found.told:
        sever_lent(seconds)


def _locks(name: str, place: Sink | Source) -> Sequence[str]:
    """Query a source or target; an error is reported, because it may be the cause."""
    try:
        return tuple(place.blocked_by())
    except Exception as error:  # noqa: BLE001 - becomes a part of the report
        return (f"{name} cannot be asked what keeps it: {first_line(str(error))}",)
