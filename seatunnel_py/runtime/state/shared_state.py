"""The state that the parts of a pipeline's machine share, and their one way out: effects and letters.

Rules. (1) Effects leave in the order in which they were asked for. (2) Letters between coordinator and participants
stay inside, first in first out: each part handles one at a time. (3) Time is the time of the event under way.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from seatunnel_py.api.schema import TablePath
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.commands import Restart
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.messages import effects
from seatunnel_py.runtime.messages.effects import Effect, StartTimer, StopTimer, Tell
from seatunnel_py.runtime.messages.events import TimerKey
from seatunnel_py.runtime.observe.events import CheckpointCommitted, FailurePlace, JobEvent, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.state.calls import Calls, OpenCall
from seatunnel_py.runtime.state.checkpoint_progress import CheckpointProgress
from seatunnel_py.runtime.state.context import PipelineContext
from seatunnel_py.runtime.state.journal_entries import Deliver, EmptyTargets, Entry
from seatunnel_py.runtime.state.phases import PhaseEvent, PipelinePhase, advance
from seatunnel_py.runtime.state.shown_state import ShownState
from seatunnel_py.runtime.state.troubles import Troubles, retry_of
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.work.unit import UnitFailure, UnitId


class SharedState:
    """The state that the parts of one pipeline share. ``at``: the time of the current event; ``is_over``: the pipeline
    only waits for units and calls under way; ``entries``: the next step after each journal entry; ``restarting``:
    restarts that wait for entries under way; ``isolated``: the isolated subtasks; ``failures``: failed attempts, by
    vertex. ``awaits_record``: no record holds the schemas of the plan, so its log is not read. ``released``: tables
    that wait at a change without their log, by the change. ``told``: number of events so far; while it is the same, so
    are the counts of the pipeline."""

    def __init__(self, context: PipelineContext) -> None:
        self.context = context
        self.at = 0.0
        self.told = 0
        self.phase = PipelinePhase.WAITING
        self.is_over = False
        self.effects: list[Effect] = []
        self.mail: deque[tuple[Subtask | None, Any]] = deque()
        self.calls = Calls()
        self.entries: dict[int, Entry] = {}
        self._last_entry = 0
        self.restarting: dict[Subtask, Restart] = {}
        self.coordinator: Coordinator | None = None
        self.participants: dict[Subtask, Participant] = {}
        self.isolated: set[Subtask] = set()
        self.awaits_record = False
        self.released: dict[str, TablePath] = {}
        self.prepared = PreparedPipeline({}, {})
        self.troubles = Troubles()
        self.failures: Counter[str] = Counter()
        self.shown = ShownState(context.pipeline)
        self.checkpoints = CheckpointProgress()

    # ---------------------------------------------------------------- phase

    def advance(self, event: PhaseEvent) -> None:
        """Enter the phase that this event leads to."""
        self.phase = advance(self.phase, event)
        self.is_over = self.phase.is_over

    # ---------------------------------------------------------------- effects and letters

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def call(self, name: str, make: Callable[[int], effects.Call], *, retried: bool = True) -> None:
        """Make a call on another thread. ``name``: for messages."""
        self._begin(OpenCall(make(self.calls.next_number()), name, self.at, retried=retried))

    def call_again(self, number: int) -> None:
        """Repeat a failed call after its pause."""
        call = self.calls.again(number)
        if call is not None and not self.is_over:
            effect = replace(call.effect, call=self.calls.next_number())
            self._begin(replace(call, effect=effect, since=self.at))

    def _begin(self, call: OpenCall) -> None:
        self.calls.begins(call)
        self.emit(call.effect)

    def journal(self, lines: Iterable[Mapping[str, Any]], entry: Entry) -> None:
        """Make these lines durable; ``entry`` follows."""
        self._last_entry += 1
        self.entries[self._last_entry] = entry
        self.emit(effects.AppendJournal(self._last_entry, tuple(lines)))

    @property
    def logging(self) -> set[Subtask | None]:
        """The subtasks with a journal entry under way."""
        return {entry.subtask for entry in self.entries.values() if isinstance(entry, Deliver)}

    @property
    def is_emptying(self) -> bool:
        """Whether the line before the targets are emptied is under way."""
        return any(isinstance(entry, EmptyTargets) for entry in self.entries.values())

    def after(self, timer: TimerKey, seconds: float) -> None:
        self.emit(StartTimer(timer, self.at + seconds))

    def cancel_retry(self, unit: UnitId) -> None:
        """A unit that waits for its next attempt is not tried again."""
        if self.troubles.ends(retry_of(unit)):
            self.emit(StopTimer(("retry", unit)))

    def to_coordinator(self, event: report.CoordinatorEvent) -> None:
        self.mail.append((None, event))

    def to_participant(self, subtask: Subtask, event: Any) -> None:
        """Send a letter to a participant, or to its execution."""
        self.mail.append((subtask, event))

    # ---------------------------------------------------------------- the coordinator, seen from outside

    @property
    def view(self) -> CoordinatorView | None:
        """The state of the coordinator; None: it has not begun."""
        coordinator = self.coordinator
        return None if coordinator is None else coordinator.view

    @property
    def topology(self) -> Topology:
        """The current topology: without isolated vertices, and with the observed determinism."""
        view = self.view
        return self.context.graph.topology if view is None else view.topology

    @property
    def newest(self) -> CheckpointRecord | None:
        """The newest completed checkpoint."""
        view = self.view
        return None if view is None else view.newest

    @property
    def good(self) -> int | None:
        """The number of the newest completed checkpoint; None: there is none."""
        newest = self.newest
        return None if newest is None else newest.checkpoint

    @property
    def commit_lag(self) -> int:
        """How many completed checkpoints are not committed yet."""
        view = self.view
        return 0 if view is None else view.commits.lag

    @property
    def plan(self) -> Mapping[str, Any]:
        """The decisions as records hold them: without the values of secrets by reference."""
        sealed: Mapping[str, Any] = self.context.references.sealed(self.prepared.to_plain())
        return sealed

    def receiver(self, subtask: Subtask) -> Participant | None:
        """The participant that takes from a channel; None: it is isolated."""
        return None if subtask in self.isolated else self.participants[subtask]

    @property
    def exchange_full(self) -> bool:
        """Whether the segments of the job have reached their maximum size. False for a wide query, which needs all of
        its input, and without checkpoints, which alone would make room."""
        context = self.context
        full = context.shared.exchange_bytes > context.settings.exchange_max_bytes
        return full and not context.sends_end_markers and self.takes_checkpoints

    @property
    def takes_checkpoints(self) -> bool:
        """Whether checkpoints may be taken before the end. Without an interval nothing may become visible early."""
        return self.view is not None and self.view.settings.interval is not None

    # ---------------------------------------------------------------- reports

    def tell(self, event: JobEvent) -> None:
        self.told += 1
        self.emit(Tell(event))

    def show(self, state: TableState, failure: UnitFailure | None = None) -> None:
        """Change the state that users see, and report it."""
        event = self.shown.change(state, failure, self.at, self.good)
        if event is not None:
            self.tell(event)

    def tell_committed(self, completed: int | None = None) -> None:
        """Report the checkpoints whose rows are visible in all targets since the last call. ``completed``: one that is
        durable since then."""
        view, line = self.view, self.context.pipeline
        assert view is not None, "a checkpoint without a coordinator"
        for checkpoint in self.checkpoints.committed(view, completed):
            self.tell(CheckpointCommitted(line.id, line.name, checkpoint, self.at))

    def show_failure(self, failure: UnitFailure) -> None:
        """Report a failure that changes no state."""
        self.tell(self.shown.told(failure, self.at, self.good))

    def retrying(
        self, what: str, attempt: int, delay: float, failure: UnitFailure, place: FailurePlace | None = None
    ) -> None:
        """Report that a unit or call will be tried again after a pause."""
        if delay:
            self.show(TableState.RETRYING, failure)
        line, where = self.context.pipeline, place or FailurePlace(checkpoint=self.good)
        self.tell(UnitRetried(line.id, line.name, what, attempt, delay, failure, self.at, where))

    def recovered(self) -> None:
        """Leave the state RETRYING, unless another failure persists."""
        view = self.view
        if view is None or view.restarting or self.troubles or self.shown.state.ended:
            return
        self.show(TableState.COMMITTING if view.final_durable else TableState.RUNNING)
