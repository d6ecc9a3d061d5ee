"""Effects that the machine of a pipeline asks for; the performer carries them out in order.

Rules. (1) An effect is frozen, and holds no function, plugin, file or lock: plugins are named by vertex, scope, group
or node, and the performer finds them in the plan. (2) One with a ``call`` is answered by CallDone or CallFailed, one
with an ``entry`` by Journalled or JournalLost, SubmitUnit by UnitFinished or UnitLost, StoreRecord by RecordStored or
RecordNotStored, StartTimer by TimerFired unless it is cancelled. All others have no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from seatunnel_py.api.batch import Position
from seatunnel_py.api.process.failpoints import Failpoint
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Setup
from seatunnel_py.api.source import Split
from seatunnel_py.plan.altered_log import LogJoin
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import StagedPiece
from seatunnel_py.runtime.messages.events import TimerKey
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import SinkPiece, Unit, UnitId

Setups: TypeAlias = Mapping[str, Setup]
"""The decisions of sinks, by node id."""


class CloseKind(StrEnum):
    """The treatment of staged rows when a pipeline is closed."""

    RELEASE = "kept for the next driver"
    ABORT = "dropped, all of them"
    WITHDRAW = "dropped where no record names them: another driver has the job"


# ---------------------------------------------------------------- calls: each blocks, and runs on another thread


@dataclass(frozen=True, slots=True)
class Prepare:
    """Examine sources and targets, before anything is changed. ``copied``: for a log, the splits that its tables were
    copied by. Value: StartPlan."""

    call: int
    past: EarlierRun
    copied: Mapping[TablePath, tuple[Split, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegisterChains:
    """Hand the chains of these vertices to the engine: later units run them."""

    call: int
    vertices: tuple[str, ...]
    setups: Setups


@dataclass(frozen=True, slots=True)
class SetUpScope:
    """Perform the start effects of a group of sinks that share a committer."""

    call: int
    group: str
    setups: Setups


@dataclass(frozen=True, slots=True)
class CommitScope:
    """Commit one checkpoint of a commit scope."""

    call: int
    scope: str
    checkpoint: int
    pieces: tuple[StagedPiece, ...]
    setups: Setups
    final: bool


@dataclass(frozen=True, slots=True)
class Discover:
    """Ask the enumerator of a source for splits whose ids are not ``known``. Value: SplitRound."""

    call: int
    vertex: str
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class HandleReaderEvents:
    """Pass reader events to the enumerator of a source. Value: SplitRound, or UnitFailure if it fails."""

    call: int
    vertex: str
    splits: tuple[Split, ...]
    events: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ConfirmPositions:
    """Pass the positions of the oldest restorable checkpoint to the enumerator of a source, by split id."""

    call: int
    vertex: str
    positions: Mapping[str, Position]


@dataclass(frozen=True, slots=True)
class ReopenSource:
    """Open a source again, with the state of its last round. Value: its rounds under the new generation."""

    call: int
    vertex: str
    rounds: tuple[SplitRound, ...]


@dataclass(frozen=True, slots=True)
class AbortPieces:
    """Drop staged rows of an execution that is over, which no record names."""

    call: int
    pieces: tuple[SinkPiece, ...]
    setups: Setups


@dataclass(frozen=True, slots=True)
class CloseOut:
    """Close the sources of a pipeline without units and calls, and treat ``pieces`` according to ``kind``. Isolated
    sinks, by node id: ``given_up`` keep no pieces, ``kept`` keep those of their checkpoint."""

    call: int
    kind: CloseKind
    pieces: tuple[SinkPiece, ...]
    setups: Setups
    given_up: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlanLogAgain:
    """Plan a log for the schemas at its position, or with more tables (``join``); the machine that replaces this one
    gets the plan. ``without``: tables whose steps have refused an earlier change; ``decided``: changes about which
    persons have decided; ``ruled``: decisions of rules, which are durable first (``ChangeDecision``)."""

    call: int
    alterations: tuple[SchemaAlteration, ...]
    without: tuple[TablePath, ...] = ()
    join: LogJoin | None = None
    decided: Mapping[TablePath, HeldChange] = field(default_factory=dict)
    ruled: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckClaim:
    """Ask the store whether the job still belongs to this driver. Value: None, or UnitFailure where it does not."""

    call: int


# ---------------------------------------------------------------- the engine, timers, durable lines and records


@dataclass(frozen=True, slots=True)
class SubmitUnit:
    """Have the engine run a unit."""

    unit: Unit


@dataclass(frozen=True, slots=True)
class CancelUnit:
    """Ask for the early end of a unit; it still ends in an event."""

    unit: UnitId


@dataclass(frozen=True, slots=True)
class AbandonUnit:
    """End a unit that is taken for lost; it still ends in an event."""

    unit: UnitId


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Fire ``timer`` at this time; a second one of the same name takes the place of the first."""

    timer: TimerKey
    at: float


@dataclass(frozen=True, slots=True)
class StopTimer:
    """Do not fire this timer."""

    timer: TimerKey


@dataclass(frozen=True, slots=True)
class AppendJournal:
    """Make these lines durable, after those of earlier entries."""

    entry: int
    lines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """Make a record durable, perhaps together with those of other pipelines."""

    record: CheckpointRecord


@dataclass(frozen=True, slots=True)
class CompleteRecord:
    """A record is durable: the journal may forget what it holds, and requests may wait for it."""

    record: CheckpointRecord


@dataclass(frozen=True, slots=True)
class RemoveRecord:
    """Remove the record of a checkpoint from the store."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class RemoveSegments:
    """Remove segments of channels that nothing refers to any more. The end of the job removes the rest."""

    urls: frozenset[str]


# ---------------------------------------------------------------- for people and for the job


@dataclass(frozen=True, slots=True)
class Tell:
    """Send an event to the listeners of the job."""

    event: JobEvent


@dataclass(frozen=True, slots=True)
class RefuseRequest:
    """The coordinator refuses for now what a request of this name asked for."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportWork:
    """Report the number of subtasks of the pipeline that have work."""

    subtasks: int


@dataclass(frozen=True, slots=True)
class HitFailpoint:
    """Pass a place between two durable acts, at which a test may kill the driver."""

    point: Failpoint


@dataclass(frozen=True, slots=True)
class Closed:
    """Reports that the pipeline is closed. ``begin_again``: another machine replaces it."""

    begin_again: bool = False


Call: TypeAlias = (
    Prepare
    | RegisterChains
    | SetUpScope
    | CommitScope
    | Discover
    | HandleReaderEvents
    | ConfirmPositions
    | ReopenSource
    | AbortPieces
    | CloseOut
    | CheckClaim
    | PlanLogAgain
)
Effect: TypeAlias = (
    Call
    | SubmitUnit
    | CancelUnit
    | AbandonUnit
    | StartTimer
    | StopTimer
    | AppendJournal
    | StoreRecord
    | CompleteRecord
    | RemoveRecord
    | RemoveSegments
    | Tell
    | RefuseRequest
    | ReportWork
    | HitFailpoint
    | Closed
)
