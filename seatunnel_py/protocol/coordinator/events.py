"""Events of a coordinator. Each carries the time ``at``, like a participant's; messages of participants carry
incarnation and epoch (I37).

May not know: the reaction to an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import Operation, Plain, SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Activated:
    """Start the pipeline: from the newest record of its store, or from nothing."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer of SetTimer has expired."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A subtask acknowledges a checkpoint with its snapshot."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    checkpoint: int
    snapshot: SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Declined:
    """A subtask cannot acknowledge this checkpoint."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    checkpoint: int
    reason: Reason = Reason.DECLINED


@dataclass(frozen=True, slots=True)
class SubtaskReady:
    """A subtask has restored its state and waits for the start."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class SubtaskFailed:
    """An execution of a subtask has failed."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    reason: Reason = Reason.UNIT_FAILED


@dataclass(frozen=True, slots=True)
class UnitExhausted:
    """All attempts at a unit have failed, the last one for this reason. ``retriable``: another one may succeed. Reply:
    RetryUnit or FailUnit."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    number: int
    retriable: bool = False
    reason: Reason = Reason.UNIT_FAILED


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """A source subtask has read everything."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class Progressed:
    """A unit of the pipeline was done, so a checkpoint has something new to store."""

    at: float


@dataclass(frozen=True, slots=True)
class PlanGrew:
    """Splits were found while the pipeline runs; every later record stores them in its plan. Sent before the splits are
    read, so that a record with a position inside a split also holds the split (I41)."""

    at: float
    plan: Plain


@dataclass(frozen=True, slots=True)
class Persisted:
    """The record of this checkpoint is durable: one atomic act (I10)."""

    at: float
    checkpoint: int


@dataclass(frozen=True, slots=True)
class PersistFailed:
    """Storing the record has failed, and it may be in the store all the same; ``fenced``: a newer incarnation owns the
    store (I34)."""

    at: float
    checkpoint: int
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class RecordsVoided:
    """No driver will resume from the records in doubt."""

    at: float


@dataclass(frozen=True, slots=True)
class CommitConfirmed:
    """The target's ledger contains this checkpoint for this scope."""

    at: float
    incarnation: int
    scope: str
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """A commit has failed. COMMIT_FAILED: a retry may succeed; COMMIT_REFUSED, LOST, FENCED, FOREIGN: it cannot."""

    at: float
    incarnation: int
    scope: str
    checkpoint: int
    reason: Reason = Reason.COMMIT_FAILED


@dataclass(frozen=True, slots=True)
class SetUpDone:
    """The start effects of one table are done, and their record is durable."""

    at: float
    unit: str


@dataclass(frozen=True, slots=True)
class SavepointRequested:
    """A user requests a savepoint; ``stop``: the pipeline ends after its barrier (I44)."""

    at: float
    name: str
    stop: bool = False


@dataclass(frozen=True, slots=True)
class OperationRequested:
    """A user or the runtime requests an operation with the next barrier (O6.2). ISOLATE names one vertex; the
    coordinator computes which vertices leave with it."""

    at: float
    operation: Operation


@dataclass(frozen=True, slots=True)
class RejoinRequested:
    """A user or the runtime requests that isolated vertices rejoin. ``brought``: their snapshots after a separate
    reader processed the rows that they missed, up to the source positions ``reached``. Empty: their own sources
    resume from the record."""

    at: float
    vertices: tuple[str, ...]
    reached: Mapping[Subtask, Plain] = field(default_factory=dict)
    brought: Mapping[Subtask, SubtaskSnapshot] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A user cancels the pipeline: end now, without making unfinished rows visible."""

    at: float


@dataclass(frozen=True, slots=True)
class PositionsVoid:
    """The positions are void, because their generation is gone (a snapshot was lost with its connection)."""

    at: float
    generation: str


OfSubtask: TypeAlias = SubtaskReady | Acknowledged | Declined | SubtaskFailed | UnitExhausted | SourceEnded
"""Messages of an execution: those of an earlier one are dropped (I37)."""

CoordinatorEvent: TypeAlias = (
    Activated
    | Timer
    | Acknowledged
    | Declined
    | SubtaskReady
    | SubtaskFailed
    | UnitExhausted
    | SourceEnded
    | Progressed
    | PlanGrew
    | Persisted
    | PersistFailed
    | RecordsVoided
    | CommitConfirmed
    | CommitFailed
    | SetUpDone
    | SavepointRequested
    | OperationRequested
    | RejoinRequested
    | CancelRequested
    | PositionsVoid
)
