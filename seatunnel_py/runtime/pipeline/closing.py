"""Ends a pipeline: takes requests to stop, decides the outcome once, and closes the pipeline.

Rules. (1) The outcome is decided once, when the pipeline begins to close; only the wish to begin again may be taken
back. (2) A pipeline that ends without success and has a checkpoint to go on from keeps the rows that it names; without
one all of them are dropped. Checkpoint 0 is such a checkpoint if a target with a ledger shows rows as soon as they are
staged. (3) A pipeline whose last commit is under way is not stopped: no one can call that back, and its end is near.
One that waits for the next try of it ends: the next driver commits. (4) One that is to be stopped does not begin again,
nor does one whose job another driver has taken over: it would take back rows of that one. (5) A copy that becomes
visible as a whole (``coordinator_settings.py``) has no savepoint before its end: that is waited for, or a stop ends the
copy without one, and the next run copies the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.runtime.messages.effects import CheckClaim, Closed, CloseKind, PlanLogAgain, RefuseRequest
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.coordinator_settings import visible_as_a_whole
from seatunnel_py.runtime.pipeline.isolated_sinks import IsolatedSinks
from seatunnel_py.runtime.pipeline.staged_cleanup import StagedCleanup
from seatunnel_py.runtime.state.journal_entries import DropAll
from seatunnel_py.runtime.state.phases import PhaseEvent
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.storage.journal import dropped_line
from seatunnel_py.runtime.storage.savepoint_names import STOP
from seatunnel_py.runtime.subtasks.segment_retention import SegmentRetention
from seatunnel_py.work.unit import FailureKind, UnitFailure

STOP_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class CloseDecision:
    """The outcome. ``close``: the treatment of staged rows, None: it depends on the newest checkpoint (rule 2)."""

    close: CloseKind | None
    begin_again: bool = False


class Closing:
    """Closes one pipeline. ``wish``: its final state after a request to stop, or a failure that no restart mends;
    ``failure``: the cause if it ended now; ``arrived_as``: the final state of its participants, None: they have not
    ended. ``goes_on``: it is done for this run, and the next one goes on with it."""

    def __init__(
        self, state: SharedState, isolated: IsolatedSinks, cleanup: StagedCleanup, segments: SegmentRetention
    ) -> None:
        self._state = state
        self._isolated = isolated
        self._cleanup = cleanup
        self._segments = segments
        self._decision = CloseDecision(None)
        self.wish: TableState | None = None
        self.failure: UnitFailure | None = None
        self.arrived_as: TableState | None = None
        self.begins_again = False
        self.missed_stop = False
        """A stop came too late for this machine; one that replaces it obeys."""
        self.goes_on = False
        self._replans: PlanLogAgain | None = None

    @property
    def failed_state(self) -> TableState:
        """The state of a pipeline that has failed: isolated, where others go on without it."""
        return TableState.ISOLATED if self._state.context.settings.isolates else TableState.FAILED

    # ---------------------------------------------------------------- requests

    def stop(self, failure: UnitFailure, *, keep: bool) -> None:
        """End the pipeline: after a savepoint with ``keep``, else at once."""
        state = self._state
        last = state.newest is not None and state.newest.kind is RecordKind.FINAL
        if state.shown.state.ended or (last and len(state.calls)):
            return
        self.wish = TableState.STOPPED
        if state.is_over:
            self.missed_stop = True
            return
        if keep and state.coordinator is not None:
            self.stop_behind(STOP)
            return
        self.failure = failure
        self._cancel()

    def savepoint(self, name: str, *, stop: bool) -> None:
        """Take a savepoint; with ``stop``, end the pipeline after it (rule 5)."""
        state = self._state
        if not visible_as_a_whole(state.context, state.prepared):
            if stop:
                self.stop_behind(name)
            else:
                state.to_coordinator(report.SavepointRequested(state.at, name, stop=False))
        elif stop:
            self.stop(UnitFailure(FailureKind.FATAL, f"it was stopped (savepoint {name})"), keep=False)
        else:
            state.emit(RefuseRequest(name, "its copy becomes visible as a whole, at its end"))

    def stop_behind(self, savepoint: str) -> None:
        """End the pipeline after a savepoint of this name."""
        self.wish = TableState.STOPPED
        self._state.to_coordinator(report.SavepointRequested(self._state.at, savepoint, stop=True))

    def stop_refused(self, savepoint: str) -> None:
        """Request the savepoint of a stop again after a pause: it may have expired, or met a restart. Savepoints of
        users are requested again by their request."""
        if savepoint == STOP and self.wish is TableState.STOPPED:
            self._state.after((STOP,), STOP_AGAIN_SECONDS)

    def stop_again(self) -> None:
        """Request the savepoint of a stop again, unless it was withdrawn."""
        if self.wish is TableState.STOPPED and not self._state.is_over:
            self.stop_behind(STOP)

    def give_up(self, failure: UnitFailure) -> None:
        """End the pipeline because of a failure that no restart mends."""
        self.failure = failure
        self.wish = self.failed_state
        self._cancel()

    def begin_again(self, failure: UnitFailure) -> None:
        """Begin the pipeline again, because the rows that it has read are void."""
        self.begins_again = True
        self.failure = failure
        self._state.to_coordinator(report.CancelRequested(self._state.at))

    def plan_again(self, effect: PlanLogAgain | None) -> None:
        """Begin the pipeline again from its newest record, with another plan; None: with the plan that it has."""
        self._replans = effect
        self.end(None, begin_again=True)

    def _cancel(self) -> None:
        state = self._state
        if state.coordinator is not None:
            state.to_coordinator(report.CancelRequested(state.at))
            return
        state.show(self.wish or TableState.STOPPED, self.failure)
        self.end(CloseKind.RELEASE)

    # ---------------------------------------------------------------- the outcome

    def cannot_begin(self, failure: UnitFailure) -> None:
        """End a pipeline that has failed before it began."""
        self.failure = failure
        self._state.show(self.failed_state, failure)
        self.end(CloseKind.RELEASE)

    def arrived(self, state: TableState) -> None:
        """Note that all participants, except isolated ones, have ended in this state."""
        self.failure, self.arrived_as = None, state
        vertices = sorted(self._isolated.nodes.values())
        if vertices and state is TableState.DONE:
            self._state.show(TableState.ISOLATED, self._isolated.cause(vertices[0]))
        else:
            self._state.show(state)

    def end(self, close: CloseKind | None, *, begin_again: bool = False) -> None:
        """Close the pipeline as soon as none of its units and calls is under way."""
        self._state.advance(PhaseEvent.END)
        self._decision = CloseDecision(close, begin_again)

    # ---------------------------------------------------------------- closing

    def close(self) -> None:
        """Close the pipeline, because none of its units and calls is under way."""
        decision = self._decision
        if not decision.begin_again:
            self._sweep(decision.close)
        elif self.wish is None:
            self._sweep(CloseKind.RELEASE)
        else:
            self._stop_instead(self.wish)

    def _stop_instead(self, wish: TableState) -> None:
        self._decision = replace(self._decision, begin_again=False)
        self._state.show(wish, self.failure)
        self._sweep(None)

    def _sweep(self, close: CloseKind | None) -> None:
        kind = close or (CloseKind.RELEASE if self._cleanup.resumable else CloseKind.ABORT)
        if kind is CloseKind.ABORT:
            self._state.advance(PhaseEvent.GIVE_UP)
            self._state.journal([dropped_line(self._state.context.key)], DropAll())
        else:
            self._close_out(kind)

    def drop_all(self, *, ours: bool) -> None:
        """Drop all rows, because the journal records that they are given up. Without ``ours`` another driver has the
        journal, and only unnamed rows are dropped."""
        self._close_out(CloseKind.ABORT if ours else CloseKind.WITHDRAW)

    def _close_out(self, kind: CloseKind) -> None:
        self._state.advance(PhaseEvent.SWEEP)
        self._state.call("close", lambda number: self._cleanup.close_out(number, kind), retried=False)

    def swept(self, failure: UnitFailure | None = None) -> None:
        """Continue after the sources are closed and staged rows dropped; ``failure``: some rows could not be
        dropped."""
        state = self._state
        if failure is not None:
            state.show_failure(failure)
        if self._decision.begin_again:
            state.advance(PhaseEvent.CHECK)
            state.call("claim", CheckClaim, retried=False)
            return
        self._segments.end(done=state.shown.state is TableState.DONE and not self.goes_on)
        state.advance(PhaseEvent.SWEPT)
        state.emit(Closed())

    def checked(self, overtaken: UnitFailure | None) -> None:
        """Continue after the claim was checked; ``overtaken``: another driver has taken over."""
        state = self._state
        if overtaken is not None:
            self._decision = replace(self._decision, begin_again=False)
            state.show(self.failed_state, overtaken)
            self._close_out(CloseKind.WITHDRAW)
        elif self.wish is not None:
            self._stop_instead(self.wish)
        elif self._replans is not None:
            effect, self._replans = self._replans, None
            state.call("plan again", lambda number: replace(effect, call=number))
        else:
            state.advance(PhaseEvent.OURS)
            state.emit(Closed(begin_again=True))

    def planned_again(self, failure: UnitFailure | None = None) -> None:
        """Continue after the log was planned again; ``failure``: it could not be."""
        if failure is not None:
            self.failure, self.wish = failure, self.failed_state
        self.checked(None)
