"""Events of a running job, for the progress display, the log and hooks of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from seatunnel_py.plan.tables.table_refresh import RefreshOutcome
from seatunnel_py.runtime.observe.receipt import Receipt, TableState
from seatunnel_py.work.unit import UnitFailure

ANEW = "begin anew"


@dataclass(frozen=True, slots=True)
class JobStarted:
    """The job has been planned and starts. ``rows``: estimate of all sources, if all have one; ``rows_of``: estimates
    by pipeline; ``driver``: number of drivers so far; ``read_before``: rows that earlier drivers have read, by
    pipeline."""

    job_id: str
    job_name: str
    tables: tuple[str, ...]
    rows: int | None
    at: float
    driver: int = 1
    rows_of: Mapping[str, int] = field(default_factory=dict)
    read_before: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableChanged:
    """A pipeline has changed its state. ``failure``: the cause of a failure; ``tables``: the tables of the pipeline;
    ``good``: its last completed checkpoint, None: it has none."""

    pipeline: str
    name: str
    state: TableState
    at: float
    failure: UnitFailure | None = None
    tables: tuple[str, ...] = ()
    good: int | None = None


@dataclass(frozen=True, slots=True)
class RowsMoved:
    """A unit has succeeded. ``rows``: rows read from a source, 0 for a unit that reads a channel."""

    pipeline: str
    name: str
    rows: int
    bytes: int
    at: float


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """Place of a failure: the vertex (or commit scope), its epoch, the split and the position. ``checkpoint``: the last
    completed one of the pipeline, None: it has none."""

    vertex: str = ""
    epoch: int = 0
    split: str = ""
    position: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: int | None = None


@dataclass(frozen=True, slots=True)
class UnitRetried:
    """A unit will be tried again. ``unit`` is ``prepare`` or ``commit`` if that failed, and ``ANEW`` if the pipeline
    must read everything again."""

    pipeline: str
    name: str
    unit: str
    attempt: int
    delay_seconds: float
    failure: UnitFailure
    at: float
    place: FailurePlace = field(default_factory=FailurePlace)


@dataclass(frozen=True, slots=True)
class UnitGivenUp:
    """A unit has used up its attempts: its vertex restarts, or its pipeline ends."""

    pipeline: str
    name: str
    unit: str
    attempt: int
    failure: UnitFailure
    place: FailurePlace
    at: float


@dataclass(frozen=True, slots=True)
class RegionRestarted:
    """A region of a pipeline restarts from ``checkpoint``; the other vertices go on. ``epochs``: the new epochs of the
    region; ``causes``: its failures; ``twice``: sinks that may show rows twice; ``lost``: sources that cannot read
    their rows again."""

    pipeline: str
    name: str
    epochs: Mapping[str, int]
    checkpoint: int
    causes: Mapping[str, str]
    twice: tuple[str, ...]
    lost: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class SinkIsolated:
    """A sink of a pipeline has failed for good, and the others go on without it. ``targets``: its targets;
    ``good``: the last completed checkpoint of the pipeline, None: it has none."""

    pipeline: str
    name: str
    vertex: str
    targets: tuple[str, ...]
    failure: UnitFailure
    good: int | None
    at: float


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """``kind``: periodic, savepoint or final; ``savepoint``: its name; ``triggered_at`` and ``acknowledged_at``: wall
    clock, the latter None if ``slowest``, the last subtask, is not known. ``bytes``: size of the record; ``rows``: read
    since the checkpoint before."""

    kind: str
    savepoint: str
    triggered_at: float
    acknowledged_at: float | None = None
    slowest: str = ""
    bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointDone:
    """A checkpoint of a pipeline has ended: completed if ``reason`` is empty, else with the reason and the subtasks
    that had not acknowledged. Number 0 is a refused request, without ``facts``. ``good``: the last completed
    checkpoint."""

    pipeline: str
    name: str
    checkpoint: int
    reason: str
    missing: tuple[str, ...]
    at: float
    good: int | None = None
    facts: CheckpointFacts | None = None


@dataclass(frozen=True, slots=True)
class CheckpointCommitted:
    """The rows of a pipeline up to this checkpoint are visible in all its targets."""

    pipeline: str
    name: str
    checkpoint: int
    at: float


@dataclass(frozen=True, slots=True)
class JobStalled:
    """No row has moved for so many seconds, although work is left; ``waits``: sentences, causes first."""

    seconds: float
    waits: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class StateLarge:
    """Each checkpoint of a table holds so many ``bytes`` of ``what``; the limit is ``allowed``. Sent once."""

    pipeline: str
    name: str
    what: str
    bytes: int
    allowed: int
    at: float


@dataclass(frozen=True, slots=True)
class LogAtRisk:
    """A log that is followed may soon be lost, or is longer than the job file allows. ``bytes``: how far its end is
    ahead of the last checkpoint. An empty ``warning``: it is over."""

    pipeline: str
    name: str
    bytes: int
    warning: str
    remedy: str
    at: float


@dataclass(frozen=True, slots=True)
class LogReleased:
    """The log is not kept any more for a table that waits at a change of its schema: it must be copied again.
    ``bytes``: of log since the change; ``allowed``: by the job file. Reported once by each driver."""

    pipeline: str
    name: str
    table: str
    change: str
    bytes: int
    allowed: int
    at: float


@dataclass(frozen=True, slots=True)
class ChangesAnnounced:
    """The job will resume with these changes since the last run, and their effects. Nothing has been done yet."""

    changes: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class DriverAsked:
    """The job to resume has a driver, which is asked whether it works, or has not replied."""

    text: str
    at: float


@dataclass(frozen=True, slots=True)
class TargetSwept:
    """``--fresh`` has deleted rows that earlier lineages had staged in a target; the text also lists visible rows."""

    pipeline: str
    name: str
    sentences: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class SchemaChanged:
    """The log of a pipeline is read under other schemas from here on, and targets were altered: a sentence for each
    table."""

    pipeline: str
    name: str
    sentences: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class TableRefreshed:
    """Rows of a followed table were read again, or the refresh has failed and has changed nothing."""

    pipeline: str
    name: str
    outcome: RefreshOutcome
    at: float


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A request (``wish``) to the running job has a reply; ``done``: the request was met."""

    request: str
    wish: str
    done: bool
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class StoreUnavailable:
    """The job's storage is unavailable (``message``) and is retried; until it answers no checkpoint completes. Without
    a message: it is available again, after so many ``seconds``."""

    message: str
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class JobEnded:
    receipt: Receipt
    at: float
    totals: dict[str, int] = field(default_factory=dict)


JobEvent: TypeAlias = (
    JobStarted
    | TableChanged
    | RowsMoved
    | UnitRetried
    | UnitGivenUp
    | RegionRestarted
    | SinkIsolated
    | StateLarge
    | LogAtRisk
    | LogReleased
    | CheckpointDone
    | CheckpointCommitted
    | JobStalled
    | ChangesAnnounced
    | DriverAsked
    | TargetSwept
    | SchemaChanged
    | TableRefreshed
    | RequestAnswered
    | StoreUnavailable
    | JobEnded
)
