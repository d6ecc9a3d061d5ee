"""Attempts at a unit: another one after a pause, or the coordinator says what follows.

Rules. (1) Attempts are made here; the coordinator hears when they are used up, and answers with another attempt or with
the failure of the unit (FA4). (2) The participant hears of a unit that has failed, and of no attempt (I7).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.protocol.coordinator.commands import FailUnit, RetryUnit
from seatunnel_py.protocol.coordinator.events import UnitExhausted
from seatunnel_py.protocol.letters import to_participant
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.runtime.observe.events import UnitGivenUp
from seatunnel_py.runtime.units.inflight_units import place_of
from seatunnel_py.runtime.values.troubles import unit_of
from seatunnel_py.work.unit import FailureKind, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.subtask_runner import SubtaskRunner

FOR_EVER_SECONDS = 1.0  # at least, between attempts that never end


def failed(run: SubtaskRunner, failure: UnitFailure) -> None:
    """An attempt at the unit of this subtask has failed."""
    unit, command, line = run.unit, run.command, run.line
    assert unit is not None and command is not None, "no unit was under way"
    retry = line.settings.retry
    line.failures[run.vertex.id] += 1
    if line.renewing.takes(run, failure):
        return
    delay = retry.delay(failure, unit.id.attempt)
    if delay is not None:
        _again(run, delay, failure)
        return
    run.exhausted = failure
    passes = retry.restarts(failure, bounded=line.bounded)
    final = failure.kind is FailureKind.FATAL or (line.bounded and not passes)
    reason = Reason.UNIT_REFUSED if final else Reason.UNIT_FAILED
    at, driver = line.now(), line.job.incarnation
    line.hear(UnitExhausted(at, driver, command.epoch, run.subtask, command.number, passes, reason))


def retry(run: SubtaskRunner, command: RetryUnit) -> None:
    """The coordinator wants another attempt."""
    if run.exhausted is not None:
        failure, run.exhausted = run.exhausted, None
        _again(run, max(FOR_EVER_SECONDS, command.pause), failure)


def give_up(run: SubtaskRunner, command: FailUnit) -> None:
    """The coordinator wants the unit to fail."""
    unit, failure, line = run.unit, run.exhausted, run.line
    if unit is None or failure is None:
        return  # its attempt was ended meanwhile
    run.unit = run.command = run.exhausted = None
    at = line.now()
    line.troubles.begins(unit_of(run.vertex.id), failure)
    where = place_of(unit, line.good)
    line.tell(UnitGivenUp(line.id, line.pipeline.name, str(unit.id), unit.id.attempt, failure, where, at))
    line.post(run.subtask, to_participant(at, command))


def _again(run: SubtaskRunner, delay: float, failure: UnitFailure) -> None:
    unit = run.unit
    assert unit is not None, "no unit was under way"
    run.unit = replace(unit, id=replace(unit.id, attempt=unit.id.attempt + 1))
    run.line.retry(run, run.unit, delay, failure)
