"""Events that the machine of a pipeline handles: answers to its effects, ends of units, requests of users.

Rules. (1) An event is frozen; its time is handed over beside it. (2) Every effect with a ``call`` or an ``entry`` is
answered exactly once, by that number. (3) No event holds a function, a plugin, a file or a lock. The events of the
engine (``engine_port.py``) are the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from seatunnel_py.api.log_source import FollowedTable
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import Split
from seatunnel_py.runtime.messages.engine_port import UnitFinished, UnitLost, UnitStarted
from seatunnel_py.work.unit import FailureKind, UnitFailure, UnitId

TimerKey: TypeAlias = tuple[Any, ...]
"""The name of a timer within its pipeline: plain values."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The pipeline may begin. ``copied``: for a log, the splits that its tables were copied by, by table; ``joins``:
    tables that join it, as it has begun without them."""

    copied: Mapping[TablePath, tuple[Split, ...]] = field(default_factory=dict)
    joins: tuple[FollowedTable, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineReady:
    """The engine takes units from now on."""


@dataclass(frozen=True, slots=True)
class CallDone:
    """A call has succeeded. ``value``: its result, as the effect documents."""

    call: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call has failed."""

    call: int
    failure: UnitFailure


@dataclass(frozen=True, slots=True)
class TimerFired:
    """The time of a timer has come."""

    timer: TimerKey


@dataclass(frozen=True, slots=True)
class Journalled:
    """The lines of this entry are durable, and so are those of all earlier ones."""

    entry: int


@dataclass(frozen=True, slots=True)
class JournalLost:
    """The lines of this entry are not durable: the journal belongs to another driver."""

    entry: int


@dataclass(frozen=True, slots=True)
class RecordStored:
    """The record of this checkpoint is durable, and takes so many ``bytes``."""

    checkpoint: int
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class RecordNotStored:
    """The record of this checkpoint could not be stored. ``fenced``: the store belongs to another driver."""

    checkpoint: int
    failure: UnitFailure
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Ends the pipeline: after a savepoint with ``keep``, else at once. ``failure``: the reason."""

    failure: UnitFailure
    keep: bool

    @classmethod
    def of_user(cls, why: str, *, keep: bool) -> StopRequest:
        return cls(UnitFailure(FailureKind.FATAL, why), keep)


@dataclass(frozen=True, slots=True)
class SavepointRequest:
    """Requests a savepoint of this name; ``stop``: the pipeline ends after it."""

    name: str
    stop: bool


@dataclass(frozen=True, slots=True)
class StopWithdrawn:
    """Withdraws a request to stop after a savepoint."""


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """Another driver has taken the job over."""

    failure: UnitFailure


@dataclass(frozen=True, slots=True)
class UnitPresumedLost:
    """Ends a running unit whose connections are lost."""

    unit: UnitId
    reason: str


PipelineEvent: TypeAlias = (
    Admitted
    | EngineReady
    | CallDone
    | CallFailed
    | TimerFired
    | Journalled
    | JournalLost
    | RecordStored
    | RecordNotStored
    | StopRequest
    | SavepointRequest
    | StopWithdrawn
    | ClaimLost
    | UnitPresumedLost
    | UnitStarted
    | UnitFinished
    | UnitLost
)
