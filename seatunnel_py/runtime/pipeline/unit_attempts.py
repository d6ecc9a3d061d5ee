"""Repeats failed units: another attempt after a pause, or a decision of the coordinator.

Rules. (1) Attempts are made here; the coordinator hears when they are used up, and answers with another attempt or with
the failure of the unit (FA4). (2) The participant hears of a unit that has failed, and of no attempt (I7).
"""

from __future__ import annotations

from seatunnel_py.protocol.coordinator.commands import FailUnit, RetryUnit
from seatunnel_py.protocol.coordinator.events import UnitExhausted
from seatunnel_py.protocol.letters import to_participant
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.runtime.observe.events import UnitGivenUp
from seatunnel_py.runtime.pipeline.generation_renewal import GenerationRenewal
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.state.troubles import retry_of, unit_of
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.subtasks.unit_table import place_of
from seatunnel_py.work.unit import FailureKind, UnitFailure, UnitId

FOR_EVER_SECONDS = 1.0  # at least, between attempts that never end


class UnitAttempts:
    """Makes the attempts at units of one pipeline."""

    def __init__(self, state: SharedState, renewal: GenerationRenewal) -> None:
        self._state = state
        self._renewal = renewal

    def failed(self, run: SubtaskExecution, failure: UnitFailure) -> None:
        """Handle a failed attempt: try again after a pause, or ask the coordinator."""
        state, unit, command = self._state, run.unit, run.command
        assert unit is not None and command is not None, "no unit was under way"
        context = state.context
        state.failures[run.vertex.id] += 1
        if self._renewal.takes(run, failure):
            return
        delay = context.settings.retry.delay(failure, unit.id.attempt)
        if delay is not None:
            self._again(run, delay, failure)
            return
        run.exhausted = failure
        passes = context.settings.retry.restarts(failure, bounded=context.bounded)
        final = failure.kind is FailureKind.FATAL or (context.bounded and not passes)
        reason = Reason.UNIT_REFUSED if final else Reason.UNIT_FAILED
        driver = context.job.incarnation
        state.to_coordinator(
            UnitExhausted(state.at, driver, command.epoch, run.subtask, command.number, passes, reason)
        )

    def retry(self, run: SubtaskExecution, command: RetryUnit) -> None:
        """Try the unit again, as the coordinator has decided."""
        if run.exhausted is not None:
            failure, run.exhausted = run.exhausted, None
            self._again(run, max(FOR_EVER_SECONDS, command.pause), failure)

    def give_up(self, run: SubtaskExecution, command: FailUnit) -> None:
        """Report the unit as failed, as the coordinator has decided."""
        state, unit, failure = self._state, run.unit, run.exhausted
        if unit is None or failure is None:
            return  # its attempt was ended meanwhile
        run.unit = run.command = run.exhausted = None
        state.troubles.begins(unit_of(run.vertex.id), failure)
        where, line = place_of(unit, state.good), state.context.pipeline
        state.tell(UnitGivenUp(line.id, line.name, str(unit.id), unit.id.attempt, failure, where, state.at))
        state.to_participant(run.subtask, to_participant(state.at, command))

    def due(self, run: SubtaskExecution, unit: UnitId) -> None:
        """Submit an attempt after its pause."""
        if self._state.troubles.ends(retry_of(unit)):
            self._state.recovered()
        run.submit_if(unit)

    def _again(self, run: SubtaskExecution, delay: float, failure: UnitFailure) -> None:
        state, unit = self._state, run.try_again()
        if delay:
            state.troubles.begins(retry_of(unit.id), failure)
        where = place_of(unit, state.good)
        state.retrying(str(unit.id), unit.id.attempt, delay, failure, where)
        state.after(("retry", unit.id), delay)
