"""The machine of one pipeline on a bench: a test performs its effects, holds up those that it names, and sees the rest
answered at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from seatunnel_py.errors import GenerationLostError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.driver import side_tasks
from seatunnel_py.runtime.driver.identity import identity_of
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.answers import Prepared, facts_of
from seatunnel_py.runtime.messages.engine_port import UnitFinished
from seatunnel_py.runtime.observe.events import TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume.job_claim import claim_job
from seatunnel_py.runtime.resume.pipeline_start import past_of
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.state.context import context_of
from seatunnel_py.runtime.state.shared_use import SharedUse
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitFailure, UnitResult
from tests.kit.toy_jobs import Row, work
from tests.simulation.ports.storage import MemoryStorage

Asked = TypeVar("Asked")
SETTINGS = Settings(
    RetryPolicy(3, 0.2),
    Budget(7, 1.0),
    exchange="mem:",
    checkpoint=CheckpointSettings(interval=None),
    restarts=Backoff(3, 0.05, longest=0.5),
)
AWAY = UnitFailure(FailureKind.RETRIABLE, "it is away")
BROKEN = UnitFailure(FailureKind.FATAL, "it is broken")
_LOST = f"{GenerationLostError.__module__}.{GenerationLostError.__qualname__}"
GONE = UnitFailure(FailureKind.FATAL, "the snapshot is gone", error_type=_LOST)


class MachineBench:
    """``hold``: kinds of effects that the test answers itself; ``asked``: all effects so far; ``results``: makes the
    result of a unit, where a test wants another one."""

    def __init__(
        self,
        pipeline: Pipeline,
        settings: Settings = SETTINGS,
        *hold: type,
        dropped: bool = False,
        reset: bool = False,
        result: Callable[[UnitResult], UnitResult] = lambda found: found,
    ) -> None:
        storage = MemoryStorage()
        names = keys([pipeline])
        (key,) = names
        authority = claim_job(CheckpointStore(storage), names)
        self._journal = JournalFile(storage, authority.incarnation).journal
        past = replace(past_of(self._journal, key, None, per_split=settings.per_split), dropped=dropped, reset=reset)
        identity, shared = identity_of("j", authority, settings), SharedUse(self._journal, settings)
        context = context_of(key, pipeline, settings, identity, authority.claims[key], past, shared)
        self.machine = PipelineMachine(context)
        self.hold = set(hold)
        self.asked: list[Any] = []
        self.at = 0.0
        self._held: list[Any] = []
        self._vertices = {vertex.id: vertex for vertex in pipeline.vertices}
        self._exchange: dict[str, list[Row]] = {}
        self._result = result

    def begin(self) -> MachineBench:
        """It is admitted, and there is an engine."""
        self.tell(events.EngineReady())
        self.tell(events.Admitted())
        return self

    def tell(self, event: Any) -> list[Any]:
        """Have the machine handle this, and what follows from it. Return the effects."""
        told, seen = deque([event]), len(self.asked)
        while told:
            for effect in self.machine.handle(self.at, told.popleft()):
                self.asked.append(effect)
                if type(effect) in self.hold:
                    self._held.append(effect)
                elif (answer := self.answer_of(effect)) is not None:
                    told.append(answer)
        return self.asked[seen:]

    def held(self, kind: type[Asked]) -> list[Asked]:
        """Those of a kind that have no answer yet."""
        return [one for one in self._held if isinstance(one, kind)]

    def answer(self, effect: Any, answer: Any = None) -> list[Any]:
        """Answer one that was held up: as it goes well, or so."""
        self._held.remove(effect)
        return self.tell(self.answer_of(effect) if answer is None else answer)

    def fail(self, effect: Any, failure: UnitFailure) -> list[Any]:
        """A call that was held up fails."""
        return self.answer(effect, events.CallFailed(effect.call, failure))

    def fire(self, kind: str) -> list[Any]:
        """The time of the latest timer of this kind has come."""
        timer = [one for one in self.asked if isinstance(one, effects.StartTimer) and one.timer[0] == kind][-1]
        self.at = max(self.at, timer.at)
        return self.tell(events.TimerFired(timer.timer))

    def kinds(self) -> list[str]:
        """The names of all effects so far, in order."""
        return [type(one).__name__ for one in self.asked]

    @property
    def closed(self) -> effects.Closed | None:
        """Its last effect, once it is there."""
        return next((one for one in self.asked if isinstance(one, effects.Closed)), None)

    @property
    def shown(self) -> TableState:
        """What people were told last."""
        told = [one.event for one in self.asked if isinstance(one, effects.Tell)]
        return [one.state for one in told if isinstance(one, TableChanged)][-1]

    def work(self, unit: Unit) -> UnitResult:
        """The result of a unit that goes well."""
        return work(self._vertices, self._exchange, unit)

    def answer_of(self, effect: Any) -> Any:
        """The answer to an effect that goes well; None: it has none, or only a timer brings it."""
        match effect:
            case effects.Prepare(call):
                plan = side_tasks.prepare(self.machine.context, effect, TableRefreshes())
                facts = {name: facts_of(one) for name, one in plan.prepared.enumerators.items()}
                return events.CallDone(call, Prepared(plan, facts))
            case effects.HandleReaderEvents(call, vertex):
                rounds = self.machine.state.prepared.rounds[vertex]
                return events.CallDone(call, SplitRound((), rounds[-1].state))
            case effects.AppendJournal(entry, lines):
                for line in lines:
                    self._journal.apply(line)
                return events.Journalled(entry)
            case effects.StoreRecord(record):
                return events.RecordStored(record.checkpoint)
            case effects.SubmitUnit(unit):
                return UnitFinished(self._result(self.work(unit)))
            case _ if hasattr(effect, "call"):
                return events.CallDone(effect.call)
        return None
