"""What happens in a running job, for whoever listens: the progress display, the log, hooks of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from seatunnel_py.runtime.observe.receipt import Receipt, TableState
from seatunnel_py.work.unit import UnitFailure

ANEW = "begin anew"


@dataclass(frozen=True, slots=True)
class JobStarted:
    """The plan stands and work begins. ``rows`` are the sources' estimates, where they all have one, ``rows_of`` those
    of single pipelines; ``driver`` counts the drivers that the job has had; ``read_before``: rows that earlier ones
    have read, by pipeline."""

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
    """A pipeline went into another state. ``failure`` says why, where it went wrong; ``tables`` share its fate;
    ``good``: its last checkpoint that is good, None: it has none."""

    pipeline: str
    name: str
    state: TableState
    at: float
    failure: UnitFailure | None = None
    tables: tuple[str, ...] = ()
    good: int | None = None


@dataclass(frozen=True, slots=True)
class RowsMoved:
    """A unit ended well. ``rows`` are rows read from a source: none where a unit reads a channel."""

    pipeline: str
    name: str
    rows: int
    bytes: int
    at: float


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """Where something went wrong: in which life of which vertex (or commit scope), at what position of which split;
    ``checkpoint`` is the last one of the pipeline that is good, None: it has none."""

    vertex: str = ""
    epoch: int = 0
    split: str = ""
    position: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: int | None = None


@dataclass(frozen=True, slots=True)
class UnitRetried:
    """A unit will be tried again; ``unit`` is ``prepare`` or ``commit`` where that failed, and ``ANEW`` where all that
    its pipeline has read is worth nothing, and is read again."""

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
    """A unit will not be tried again in this life of its vertex: that restarts, or its pipeline ends."""

    pipeline: str
    name: str
    unit: str
    attempt: int
    failure: UnitFailure
    place: FailurePlace
    at: float


@dataclass(frozen=True, slots=True)
class RegionRestarted:
    """Vertices of a pipeline have begun new lives together, from ``checkpoint``; all others go on. ``epochs``: of those
    that restarted; ``causes``: why some of them had failed; ``twice`` are sinks that may show rows a second time by it,
    ``lost`` sources that cannot read again what they gave."""

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
    """A sink of a pipeline has failed for good, and the others go on without it. ``targets``: into which it writes;
    ``good``: the last checkpoint of the pipeline, None: it has none."""

    pipeline: str
    name: str
    vertex: str
    targets: tuple[str, ...]
    failure: UnitFailure
    good: int | None
    at: float


@dataclass(frozen=True, slots=True)
class CheckpointDone:
    """A checkpoint of a pipeline has ended: completed where ``reason`` is empty, else why not, and who had not
    answered. Number 0 is a request that was refused. ``good`` is the last one that has completed."""

    pipeline: str
    name: str
    checkpoint: int
    reason: str
    missing: tuple[str, ...]
    at: float
    good: int | None = None


@dataclass(frozen=True, slots=True)
class JobStalled:
    """For so many seconds no row has, although somebody waits; ``waits``: who for what, causes first."""

    seconds: float
    waits: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class StateLarge:
    """Each checkpoint of a table holds so many ``bytes`` of ``what``, of at most ``allowed``. Said once."""

    pipeline: str
    name: str
    what: str
    bytes: int
    allowed: int
    at: float


@dataclass(frozen=True, slots=True)
class ChangesAnnounced:
    """The job is about to go on: what is different from the run before, and what follows. Nothing has been done yet."""

    changes: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class DriverAsked:
    """The job that is to be gone on with has a driver, which is asked whether it works, or has not answered."""

    text: str
    at: float


@dataclass(frozen=True, slots=True)
class TargetSwept:
    """The job begins anew: what its earlier lineages had left in a target is removed, and what stays is said."""

    pipeline: str
    name: str
    sentences: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """Somebody had asked something of the running job (``wish``); ``done``: it is as it was asked for."""

    request: str
    wish: str
    done: bool
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class StoreUnavailable:
    """The job's storage cannot be used, and is asked again and again: ``message``; until it answers no checkpoint
    completes. Or it has answered, after so many ``seconds``: no message."""

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
    | CheckpointDone
    | JobStalled
    | ChangesAnnounced
    | DriverAsked
    | TargetSwept
    | RequestAnswered
    | StoreUnavailable
    | JobEnded
)
