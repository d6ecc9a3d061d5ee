"""What goes into a coordinator. Each event carries ``at`` as a participant's do; messages of participants carry
incarnation and epoch (I37).

May not know: what an event leads to.
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
    """The pipeline shall run: from the newest record of its store, or from nothing."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that was asked for."""

    at: float
    name: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A subtask's part of a checkpoint."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    checkpoint: int
    snapshot: SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class Declined:
    """A subtask will not acknowledge this checkpoint."""

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
    """A life of a subtask is over."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask
    reason: Reason = Reason.UNIT_FAILED


@dataclass(frozen=True, slots=True)
class UnitExhausted:
    """All attempts at a unit have failed, the last one for this reason. ``retriable``: another one may succeed. Answer:
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
    """A source subtask has nothing more to read."""

    at: float
    incarnation: int
    epoch: int
    subtask: Subtask


@dataclass(frozen=True, slots=True)
class Progressed:
    """A unit of the pipeline was done: there is something new to be kept."""

    at: float


@dataclass(frozen=True, slots=True)
class PlanGrew:
    """Splits were found while the pipeline runs: what every later record carries on as its plan. Told before anybody
    reads of them, so that no record stands inside a split that it does not hold (I41)."""

    at: float
    plan: Plain


@dataclass(frozen=True, slots=True)
class Persisted:
    """The record of this checkpoint is durable: one atomic act (I10)."""

    at: float
    checkpoint: int


@dataclass(frozen=True, slots=True)
class PersistFailed:
    """The record is not there; ``fenced``: a newer incarnation owns the store (I34)."""

    at: float
    checkpoint: int
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class CommitConfirmed:
    """The target's ledger holds this checkpoint for this scope."""

    at: float
    incarnation: int
    scope: str
    checkpoint: int


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """A try of a commit has failed. COMMIT_FAILED: another one may succeed; COMMIT_REFUSED, LOST, FENCED, FOREIGN: none
    ever will."""

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
    """By a person; ``stop``: the pipeline ends behind its barrier (I44)."""

    at: float
    name: str
    stop: bool = False


@dataclass(frozen=True, slots=True)
class OperationRequested:
    """By a person or the runtime: a control operation that shall travel with the next barrier (O6.2). ISOLATE names one
    vertex: who leaves with it is found out here."""

    at: float
    operation: Operation


@dataclass(frozen=True, slots=True)
class RejoinRequested:
    """By a person or the runtime: these isolated vertices shall come back. ``brought``: their snapshots after somebody
    else read for them what they had missed, up to where each source had ``reached``; nothing: they had sources of their
    own, and go on from what the record holds."""

    at: float
    vertices: tuple[str, ...]
    reached: Mapping[Subtask, Plain] = field(default_factory=dict)
    brought: Mapping[Subtask, SubtaskSnapshot] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """By a person: end now, nothing unfinished becomes visible."""

    at: float


@dataclass(frozen=True, slots=True)
class PositionsVoid:
    """The generation of positions is gone (a snapshot died with its connection)."""

    at: float
    generation: str


OfSubtask: TypeAlias = SubtaskReady | Acknowledged | Declined | SubtaskFailed | UnitExhausted | SourceEnded
"""Messages of a life: those of a past one are dropped (I37)."""

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
    | CommitConfirmed
    | CommitFailed
    | SetUpDone
    | SavepointRequested
    | OperationRequested
    | RejoinRequested
    | CancelRequested
    | PositionsVoid
)
