"""What one machine asks for and hears, held against its rules while it runs: every effect as it is asked for, every
event before it is handled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.engine_port import UnitFinished, UnitLost
from seatunnel_py.runtime.observe.events import TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.state.phases import PhaseEvent, PipelinePhase
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.work.unit import Unit, UnitId
from tests.simulation.machine import positions
from tests.simulation.machine.expected import PHASES, SHOWN
from tests.simulation.machine.pieces import I33NamedStays
from tests.simulation.violation import expect, fail

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node
    from tests.simulation.checks.line import Line
    from tests.simulation.process import Process

_ANY = 1 << 30
"""Later than any epoch."""
_WHILE_OVER = (
    effects.CloseOut, effects.CheckClaim, effects.PlanLogAgain, effects.CancelUnit, effects.AbandonUnit, effects.StopTimer,
    effects.RemoveRecord, effects.RemoveSegments, effects.Tell, effects.HitFailpoint, effects.Closed,
)  # fmt: skip
"""May be asked for by a pipeline that is at its end; of the journal, that all is dropped."""
_OF_SOURCES = (effects.Discover, effects.HandleReaderEvents, effects.ConfirmPositions, effects.ReopenSource)


class MachineWatch:
    """Of one machine. ``asked``: effects that were asked for and not yet performed."""

    def __init__(self, process: Process, machine: PipelineMachine) -> None:
        self._process = process
        self._world = process.world
        self._machine = machine
        self.asked: deque[Any] = deque()
        self._calls: dict[int, Any] = {}
        self._last_call = 0
        self._entries: dict[int, tuple[Mapping[str, Any], ...]] = {}
        self._last_entry = 0
        self._waits: dict[Subtask, dict[int, int]] = {}
        self._units: dict[UnitId, Unit] = {}
        self._submitted: set[UnitId] = set()
        self._heard: set[UnitId] = set()
        self._storing: dict[int, CheckpointRecord] = {}
        self._stored: dict[int, CheckpointRecord] = {}
        self._retained: dict[int, CheckpointRecord] = {}
        self._dropped = False
        self._claim = False
        self._claims = 0
        self._closed_out = 0
        self._closed = False
        self._overtaken = False
        self._chains = False
        self._handling: Any = None
        self._timers: dict[Any, float] = {}
        self._shown = machine.shown_state
        self._rounds: dict[str, tuple[str, ...]] = {}
        self._known: dict[str, int] = {}
        self.pieces = I33NamedStays(machine)
        self._driver: Driver | None = None
        state = machine.state
        self._handle, machine.handle = machine.handle, self._handled  # type: ignore[method-assign]
        self._emit, state.emit = state.emit, self._emitted  # type: ignore[method-assign]
        self._advance, state.advance = state.advance, self._advanced  # type: ignore[method-assign]

    def _handled(self, at: float, event: Any) -> Any:
        if self.asked:
            fail("EffectsInOrder", f"{self._machine.key}: an event before {self.asked} was performed")
        self._world.counters[type(event).__name__] += 1
        follow = _HEARD.get(type(event))
        if follow is not None:
            follow(self, event)
        self._handling = event
        said = self._handle(at, event)
        if self._driver is None and self._machine._start is not None:
            self._listens()
        expect(list(said) == list(self.asked), "EffectsInOrder", "other effects leave than were asked for")
        self._look_at_rounds()
        if isinstance(event, events.RecordStored) and (newest := self._machine.newest) is not None:
            heard = newest.checkpoint == event.checkpoint and newest.kind is not RecordKind.ZERO
            told = [one for one in said if isinstance(one, effects.CompleteRecord)]
            expect(not heard or bool(told), "RecordsComplete", f"the journal may not forget {event.checkpoint}")
        return said

    def _listens(self) -> None:
        """Every letter between its coordinator and its participants is seen with what it led to."""
        line = self._world.line(self._machine.key)
        driver = self._driver = line.prepared(self._machine)
        coordinator = driver.coordinator
        coordinator.handle = _heard(line, driver, coordinator.handle)  # type: ignore[method-assign]
        for node in driver.nodes.values():
            participant = node.participant
            participant.handle = _handled(line, driver, node, participant.handle)  # type: ignore[method-assign]

    def repeats(self, unit: UnitId) -> bool:
        """Whether a unit of the present life stands in the journal that it began with."""
        if self._driver is None:
            return False
        line = self._world.line(self._machine.key)
        life = line.facts.lives.get((self._driver.serial, Subtask(unit.vertex, unit.subtask)))
        return life is not None and life.epoch == unit.epoch + 1 and unit.sequence in life.journal

    def performs(self, effect: Any) -> None:
        """The performer carries this out now."""
        if not self.asked or self.asked.popleft() is not effect:
            fail("EffectsInOrder", f"{effect} is out of turn")

    # ---------------------------------------------------------------- phases

    def _advanced(self, event: PhaseEvent) -> None:
        before = self._machine.state.phase
        self._advance(event)
        after = self._machine.state.phase
        wanted = PHASES.get((before.name, event.name))
        expect(after.name == wanted, "PhaseTable", f"{before.name} {event.name} -> {after.name}, not {wanted}")
        self._world.counters[f"{before.name} -> {after.name}"] += 1
        if before is PipelinePhase.RUNNING:
            self._overtaken = _is_fenced(self._handling)
        if after is PipelinePhase.RUNNING:
            expect(self._chains, "RunsWhenReady", "it runs before its chains are registered")
            expect(not self._entries, "RunsWhenReady", "it runs before its first lines are durable")
        if after in (PipelinePhase.DROPPING, PipelinePhase.SWEEPING):
            expect(not self._calls and not self._units, "ClosesWhenIdle", f"{after.name} with {self._open()}")

    def _open(self) -> str:
        return f"calls {[type(one).__name__ for one in self._calls.values()]}, units {list(self._units)}"

    def _look_at_rounds(self) -> None:
        """Rounds only grow."""
        for vertex, rounds in self._machine.state.prepared.rounds.items():
            self._known[vertex] = len(rounds)
            ids = tuple(split.id for one in rounds for split in one.splits)
            before = self._rounds.get(vertex, ())
            if ids != before:
                expect(ids[: len(before)] == before, "RoundsGrow", f"{vertex}: {before} became {ids}")
                expect(len(set(ids)) == len(ids), "RoundsGrow", f"{vertex}: {ids}")
                self._rounds[vertex] = ids

    # ---------------------------------------------------------------- events

    def _answered(self, event: events.CallDone | events.CallFailed) -> None:
        call = self._calls.pop(event.call, None)
        if call is None:
            fail("AnsweredOnce", f"{event} belongs to no open call")
        if isinstance(call, effects.RegisterChains):
            self._chains = isinstance(event, events.CallDone)
        if isinstance(call, effects.CheckClaim):
            self._claim = isinstance(event, events.CallDone) and event.value is None

    def _journalled(self, event: events.Journalled | events.JournalLost) -> None:
        lines = self._entries.get(event.entry)
        assert lines is not None, f"{event} is not awaited"
        if event.entry != min(self._entries):
            fail("EntriesInOrder", f"{event} before {min(self._entries)}")
        del self._entries[event.entry]
        for waits in self._waits.values():
            waits.pop(event.entry, None)
        if isinstance(event, events.Journalled):
            self._world.logged.add(lines)
            self._dropped |= any("dropped" in line for line in lines)
            for line in lines:
                self.pieces.voided(line.get("void", ()))

    def _ended(self, event: UnitFinished | UnitLost) -> None:
        unit = event.result.id if isinstance(event, UnitFinished) else event.id
        expect(self._units.pop(unit, None) is not None, "UnitsEndOnce", f"{unit} was not under way")
        if isinstance(event, UnitFinished):
            self.pieces.reported(event.result)
            if event.result.events:
                self._heard.add(unit)

    def _record_stored(self, event: events.RecordStored) -> None:
        record = self._storing.pop(event.checkpoint, None)
        assert record is not None, f"record {event.checkpoint} was not on its way"
        self._stored[event.checkpoint] = self._retained[event.checkpoint] = record
        self.pieces.stored(record)

    def _not_stored(self, event: events.RecordNotStored) -> None:
        self._storing.pop(event.checkpoint, None)

    def _fired(self, event: events.TimerFired) -> None:
        expect(event.timer in self._timers, "TimersFireOnce", f"{event.timer} was not set")
        self._timers.pop(event.timer, None)

    # ---------------------------------------------------------------- effects

    def _emitted(self, effect: Any) -> None:
        if self._closed:
            fail("ClosedIsLast", f"{effect} behind the end")
        self.asked.append(effect)
        if self._machine.state.phase.is_over and not isinstance(effect, _WHILE_OVER):
            dropped = isinstance(effect, effects.AppendJournal) and "dropped" in effect.lines[0]
            expect(dropped, "BeginsNothing", f"{effect} while it closes")
        if hasattr(effect, "call"):
            if effect.call <= self._last_call:
                fail("CallsHaveNumbers", f"{effect.call} behind {self._last_call}")
            self._last_call = effect.call
        check = _ASKED.get(type(effect))
        if check is not None:
            check(self, effect)
        if hasattr(effect, "call"):
            self._calls[effect.call] = effect
        self._emit(effect)

    def _of_source(self, effect: Any) -> None:
        beside = [one for one in self._calls.values() if isinstance(one, _OF_SOURCES) and one.vertex == effect.vertex]
        expect(not beside, "OneThingAtATime", f"{type(effect).__name__} beside {beside}")

    def _submits(self, effect: effects.SubmitUnit) -> None:
        unit = effect.unit
        expect(self._machine.state.phase is PipelinePhase.RUNNING, "UnitsWhileRunning", f"{unit.id} is begun")
        expect(unit.id not in self._submitted, "AttemptsHaveNumbers", f"{unit.id} is submitted again")
        subtask = Subtask(unit.id.vertex, unit.id.subtask)
        expect(subtask not in self._machine.state.isolated, "IsolatedTakesNothing", f"{unit.id} is begun")
        waits = self._waits.get(subtask, {})
        own = [entry for entry, epoch in waits.items() if epoch >= unit.id.epoch + 1]
        expect(not own, "JournalFirst", f"{unit.id} is begun before its lines {own} are durable")
        if unit.split is not None:
            found = [split["id"] for lines in self._entries.values() for one in lines for split in _found(one, unit)]
            expect(unit.split.id not in found, "SplitsAreDurable", f"{unit.split.id} is read before it is durable")
        for one in unit.slices:
            if one.stopped is not None:
                continue  # it has no rows
            logged = self._world.logged
            made = logged.made(one.segment)
            expect(made, "JournalFirst", f"{unit.id} takes rows of {logged.makers[one.segment]}, which was not logged")
            expect(one.segment not in self._world.removed, "SegmentsStay", f"{unit.id} needs {one.segment}")
        self._submitted.add(unit.id)
        self._units[unit.id] = unit

    def _cancels(self, effect: effects.CancelUnit | effects.AbandonUnit) -> None:
        """One whose reports are being heard has ended already, which may be on its way for any other, too."""
        known = effect.unit in self._units or effect.unit in self._heard
        expect(known, "UnitsEndOnce", f"{effect.unit} is cancelled, and not under way")

    def _journals(self, effect: effects.AppendJournal) -> None:
        expect(effect.entry > self._last_entry, "CallsHaveNumbers", f"entry {effect.entry}")
        expect(bool(effect.lines), "CallsHaveNumbers", "an entry without lines")
        self._last_entry = effect.entry
        self._entries[effect.entry] = effect.lines
        for line in effect.lines:
            if (
                "s" in line
            ):  # what an execution that is over has taken holds up no other; the cut before an execution does
                subtask = Subtask(*line["s"])
                epoch = self._machine.executions[subtask].participant.epoch
                self._waits.setdefault(subtask, {})[effect.entry] = _ANY if "from" in line else epoch

    def _stores(self, effect: effects.StoreRecord) -> None:
        number = effect.record.checkpoint
        known = [*self._storing, *self._stored]
        expect(all(one < number for one in known), "CheckpointsGrow", f"{number} behind {known}")
        self._storing[number] = effect.record
        self.pieces.storing(effect.record)
        held: Any = effect.record.plan
        for vertex, rounds in self._known.items():
            expect(len(held["rounds"][vertex]) >= rounds, "SplitsAreDurable", f"{number} lacks splits of {vertex}")

    def _completes(self, effect: effects.CompleteRecord) -> None:
        self._world.line(self._machine.key).completes(effect.record)
        expect(effect.record.checkpoint in self._stored, "RecordFirst", f"{effect.record.checkpoint} is not durable")

    def _removes(self, effect: effects.RemoveRecord) -> None:
        newest = max(self._stored, default=0)
        expect(effect.checkpoint < newest, "RecordFirst", f"{effect.checkpoint} is removed, {newest} is the newest")
        self._retained.pop(effect.checkpoint, None)

    def _confirms(self, effect: effects.ConfirmPositions) -> None:
        self._of_source(effect)
        positions.hold(self._machine, effect, self._retained.values())

    def _begins(self) -> CheckpointRecord | None:
        return max(self._stored.values(), key=lambda one: one.checkpoint, default=self._machine.begins_with)

    def _commits(self, effect: effects.CommitScope) -> None:
        newest = self._begins()
        named = () if newest is None else newest.uncommitted
        found = any((one.scope, one.checkpoint) == (effect.scope, effect.checkpoint) for one in named)
        expect(found, "RecordFirst", f"commit {effect.checkpoint} of {effect.scope} is named by no durable record")
        assert newest is not None
        last = newest.kind is RecordKind.FINAL and newest.checkpoint == effect.checkpoint
        expect(effect.final == last, "RecordFirst", f"commit {effect.checkpoint} is final: {effect.final}")
        self._world.counters["a final commit"] += last

    def _sets_up(self, effect: effects.SetUpScope) -> None:
        expect(self._begins() is not None, "RecordFirst", f"{effect.group} is set up before checkpoint 0")

    def _aborts(self, effect: effects.AbortPieces) -> None:
        self.pieces.dropped(effect.pieces, self._begins())

    def _checks_claim(self, _: effects.CheckClaim) -> None:
        expect(self._closed_out == 1, "ClosesOnce", "the claim is checked before everything is closed")
        self._claims += 1

    def _closes_out(self, effect: effects.CloseOut) -> None:
        expect(not self._calls and not self._units, "ClosesWhenIdle", self._open())
        self._closed_out += 1
        expect(self._closed_out <= 1 + self._claims, "ClosesOnce", f"closed {self._closed_out} times")
        if effect.kind is effects.CloseKind.ABORT:
            expect(self._dropped, "JournalFirst", "all rows are dropped, and the journal does not know")
        withdrawn = effect.kind is effects.CloseKind.WITHDRAW
        expect(withdrawn or not self._overtaken, "OvertakenWithdraws", f"{effect.kind.name} by an overtaken driver")
        begun = self._begins()
        goes_on = begun is not None and begun.kind is not RecordKind.ZERO
        again = self._machine.closing.begins_again and self._machine.closing.wish is None
        kept = effect.kind is effects.CloseKind.RELEASE and self.pieces.any
        expect(goes_on or again or not kept, "StrayRowsGo", "rows are kept, and nothing goes on from them")
        self.pieces.closed(effect)
        self._world.counters[f"closed: {effect.kind.name}"] += 1

    def _closes(self, effect: effects.Closed) -> None:
        expect(not self._calls and not self._units, "ClosesWhenIdle", self._open())
        expect(self._closed_out > 0, "ClosesOnce", "it has ended, and was not closed")
        expect(not effect.begin_again or self._claim, "ClaimFirst", "it begins again, and may be another driver's")
        phase = PipelinePhase.REPLACED if effect.begin_again else PipelinePhase.CLOSED
        expect(self._machine.state.phase is phase, "PhaseTable", f"{effect} in {self._machine.state.phase.name}")
        expect(not self._entries or self._lost(), "EntriesInOrder", f"it ends while {self._entries} are awaited")
        self._closed = True

    def _lost(self) -> bool:
        """Only lines of executions that are over, or of one that never began, may be under way at an end."""
        return all(
            "graph" in line or "s" in line or "found" in line or "done" in line
            for one in self._entries.values()
            for line in one
        )

    def _tells(self, effect: effects.Tell) -> None:
        if isinstance(effect.event, TableChanged):
            state = effect.event.state
            right = state is self._shown or state in SHOWN[self._shown]
            expect(right, "ShownStates", f"{state.value} behind {self._shown.value}")
            self._world.counters[f"shown: {state.value}"] += state is not self._shown
            self._shown = state
            if state is TableState.DONE:
                expect(not self._waiting_commits(), "DoneIsCommitted", f"{self._waiting_commits()} are not committed")

    def _waiting_commits(self) -> Any:
        view = self._machine.view
        refused = () if view is None else view.commits.refused
        return () if view is None else tuple(one for one in view.commits.waiting if one.scope not in refused)

    def _hits(self, effect: effects.HitFailpoint) -> None:
        self._world.counters[f"passed {effect.point.name}"] += 1
        if effect.point is failpoints.CONFIRMED:
            event = self._handling
            expect(isinstance(event, events.CallDone), "FailpointsInOrder", f"CONFIRMED at {event}")
            letters = [letter for whom, letter in self._machine.state.mail if whom is None]
            expect(not letters, "FailpointsInOrder", f"CONFIRMED before the coordinator knows: {letters}")
        if effect.point is failpoints.ENDED:
            expect(self._shown.ended, "FailpointsInOrder", f"ENDED while people see {self._shown.value}")

    def _sets_timer(self, effect: effects.StartTimer) -> None:
        expect(effect.at >= self._world.clock.now(), "TimersFireOnce", f"{effect.timer} is set in the past")
        self._timers[effect.timer] = effect.at

    def _stops_timer(self, effect: effects.StopTimer) -> None:
        self._timers.pop(effect.timer, None)

    def _removes_segments(self, effect: effects.RemoveSegments) -> None:
        self._world.removed |= effect.urls

    # ---------------------------------------------------------------- the end of the process

    def look(self) -> None:
        """No timer is overdue."""
        late = [] if self._closed else [one for one, at in self._timers.items() if at < self._world.clock.now() - 0.1]
        expect(not late, "TimersFireOnce", f"{late} of {self._machine.key} have not fired")

    def ended(self) -> None:
        """The process of this machine ends by itself. A log that was planned for more tables than were copied was replaced
        before it began."""
        if self._process.job.pipelines[self._machine.key] is not self._machine and not self._last_call:
            return
        expect(not self._calls and not self._units, "ClosesWhenIdle", self._open())
        expect(self._closed, "ClosesOnce", f"{self._machine.key} was not closed")
        expect(not self.asked, "EffectsInOrder", f"{self.asked} were not performed")


def _heard(line: Line, driver: Driver, handle: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    def handled(event: Any) -> tuple[Any, ...]:
        commands = handle(event)
        line.heard(driver, event, commands)
        return commands

    return handled


def _handled(
    line: Line, driver: Driver, node: Node, handle: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any], tuple[Any, ...]]:
    def handled(event: Any) -> tuple[Any, ...]:
        line.handling(driver, node, event)
        commands = handle(event)
        line.handled(driver, node, event, commands)
        return commands

    return handled


def _is_fenced(event: Any) -> bool:
    """Whether it says that the job is another driver's."""
    match event:
        case events.ClaimLost() | events.RecordNotStored(fenced=True):
            return True
        case events.CallFailed(_, failure):
            return bool(failure.error_type == "FencedError")
    return False


def _found(line: Mapping[str, Any], unit: Unit) -> Any:
    return line["found"] if "found" in line and line["v"] == unit.id.vertex else ()


_HEARD: Mapping[type, Callable[[MachineWatch, Any], None]] = {
    events.CallDone: MachineWatch._answered,
    events.CallFailed: MachineWatch._answered,
    events.Journalled: MachineWatch._journalled,
    events.JournalLost: MachineWatch._journalled,
    events.RecordStored: MachineWatch._record_stored,
    events.RecordNotStored: MachineWatch._not_stored,
    events.TimerFired: MachineWatch._fired,
    UnitFinished: MachineWatch._ended,
    UnitLost: MachineWatch._ended,
}
_ASKED: Mapping[type, Callable[[MachineWatch, Any], None]] = {
    effects.SetUpScope: MachineWatch._sets_up,
    effects.CommitScope: MachineWatch._commits,
    effects.Discover: MachineWatch._of_source,
    effects.HandleReaderEvents: MachineWatch._of_source,
    effects.ConfirmPositions: MachineWatch._confirms,
    effects.ReopenSource: MachineWatch._of_source,
    effects.AbortPieces: MachineWatch._aborts,
    effects.CloseOut: MachineWatch._closes_out,
    effects.CheckClaim: MachineWatch._checks_claim,
    effects.SubmitUnit: MachineWatch._submits,
    effects.CancelUnit: MachineWatch._cancels,
    effects.AbandonUnit: MachineWatch._cancels,
    effects.AppendJournal: MachineWatch._journals,
    effects.StoreRecord: MachineWatch._stores,
    effects.CompleteRecord: MachineWatch._completes,
    effects.RemoveRecord: MachineWatch._removes,
    effects.RemoveSegments: MachineWatch._removes_segments,
    effects.StartTimer: MachineWatch._sets_timer,
    effects.StopTimer: MachineWatch._stops_timer,
    effects.Tell: MachineWatch._tells,
    effects.HitFailpoint: MachineWatch._hits,
    effects.Closed: MachineWatch._closes,
}
