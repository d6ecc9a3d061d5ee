"""Decides whether a requested checkpoint starts now, later or not at all, and when the next periodic one is due.

Rules. (TR1) The checks are in the order of O4.3, then O4.4, then further ones: shut down? periodic ones off? too many
queued? minimum pause? concurrency? all subtasks running? commits lag? anything new? The first that fails is the reply.
(TR2) A check applies only to the kinds in its row: a savepoint ignores the pause and needs no new rows, the final one
is never refused for a full queue. (TR3) A request waits for conditions that pass by themselves and is refused for
others, without side effects (O4.4, O5.5). (TR4) If barriers may be unaligned, one checkpoint is pending at a time
(I16). (TR5) Only periodic checkpoints start unaligned: a savepoint must stand alone (I44), the final one needs empty
channels, and an operation may need all earlier batches processed. (TR6) The first periodic one follows after a given
fraction of the interval, so that many pipelines do not start together (O4.2); a missed beat is not repeated. (TR7)
Users' requests precede periodic ones, in their order; at most one periodic and one final request wait. (TR8) Only
periodic ones overlap: any other starts when nothing is pending, and while it waits or runs no periodic one starts.
Otherwise a savepoint and the final one would overtake each other forever if barriers take long, as in a loop (O4.8).

May not know: clocks, the content of a checkpoint, the subtasks that acknowledge it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind
from seatunnel_py.protocol.model.topology import Topology


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """Options of one pipeline; times in seconds. Raises ValueError for values out of range."""

    interval: float | None = None
    """Seconds between periodic checkpoints; None: none."""
    timeout: float = 60.0
    min_pause: float = 0.0
    """From the end of one checkpoint, with any result, to the start of the next periodic one."""
    max_concurrent: int = 1
    tolerable_failures: int = 3
    """Tolerated failures in a row; the next one fails the pipeline (I15)."""
    max_retained: int = 3
    max_uncommitted: int = 2
    """With so many completed but unconfirmed checkpoints, none is triggered and sources pause."""
    alignment_timeout: float | None = 10.0
    """0: unaligned from the start; None: never unaligned."""
    initial_delay: float = 0.0
    """A random fraction in [0, 1), drawn by the runtime."""
    queue_max: int = 100
    """Largest number of waiting requests: more than users type, few enough to list."""
    at_end_only: bool = False
    """A checkpoint before the last would show rows early, so operations wait for the last one if they can (LE6)."""

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, right in (
                ("interval", self.interval is None or self.interval > 0),
                ("timeout", self.timeout > 0),
                ("min_pause", self.min_pause >= 0),
                ("max_concurrent", self.max_concurrent >= 1),
                ("tolerable_failures", self.tolerable_failures >= 0),
                ("max_retained", self.max_retained >= 1),
                ("max_uncommitted", self.max_uncommitted >= 1),
                ("alignment_timeout", self.alignment_timeout is None or self.alignment_timeout >= 0),
                ("initial_delay", 0 <= self.initial_delay < 1),
                ("queue_max", self.queue_max >= 1),
            )
            if not right
        ]
        if wrong:
            raise ValueError(f"out of range: {', '.join(wrong)}")

    @property
    def concurrency(self) -> int:
        """Number of checkpoints that may be pending (TR4). The coordinator does not learn that an alignment timed out,
        so the possibility counts."""
        return self.max_concurrent if self.alignment_timeout is None else 1


class TriggerKind(StrEnum):
    """STOP is a savepoint after which sources emit nothing; FINAL is requested when all sources have ended; OPERATION
    carries a control operation (O6.2)."""

    PERIODIC = "periodic"
    SAVEPOINT = "savepoint"
    STOP = "stop"
    FINAL = "final"
    OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class TriggerRequest:
    """``name``: of the savepoint; ``operation``: of the barrier of an OPERATION."""

    kind: TriggerKind
    at: float
    name: str = ""
    operation: Operation = field(default_factory=Operation)


@dataclass(frozen=True, slots=True)
class TriggerView:
    """All inputs of the decision."""

    now: float
    ended: bool = False
    """The pipeline has ended, with or without success."""
    active: bool = True
    """The pipeline's state allows checkpoints (O4.1)."""
    all_running: bool = True
    """Every subtask that must trigger or acknowledge runs, or is a source that has ended (O4.4)."""
    periodic: bool = True
    queued: int = 0
    """Number of waiting requests, without this one."""
    pending: int = 0
    crowded: bool = False
    """True if the checkpoint would overlap with another, and one of them must run alone (TR8)."""
    last_end: float | None = None
    """When the last checkpoint ended, with any result; None: there was none."""
    uncommitted: int = 0
    """Number of completed checkpoints with unconfirmed commits."""
    moved: bool = True
    """Any position differs from the last completed checkpoint."""


@dataclass(frozen=True, slots=True)
class Run:
    """Start the checkpoint now."""

    kind: RecordKind
    operation: Operation
    unaligned: bool
    name: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Check the request again at ``until``; None: when a checkpoint ends or a commit is confirmed."""

    until: float | None
    reason: Reason


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse the request, without side effect."""

    reason: Reason


Decision: TypeAlias = Run | Wait | Refuse


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table: the kinds of request that it applies to, its reply, and its condition."""

    reason: Reason
    waits: bool
    binds: frozenset[TriggerKind]
    blocks: Callable[[TriggerView, CheckpointSettings], bool]


PERIODIC = frozenset({TriggerKind.PERIODIC})
ALL = frozenset(TriggerKind)
STOP = frozenset({TriggerKind.STOP})
BUT_FINAL = ALL - {TriggerKind.FINAL}
OURS = frozenset({TriggerKind.PERIODIC, TriggerKind.FINAL})

CHECKS: tuple[Check, ...] = (
    Check(Reason.SHUT_DOWN, False, ALL, lambda view, _: view.ended),
    Check(Reason.PERIODIC_OFF, False, PERIODIC, lambda view, _: not view.periodic),
    Check(Reason.TOO_MANY_QUEUED, False, BUT_FINAL, lambda view, settings: view.queued >= settings.queue_max),
    Check(Reason.MIN_PAUSE, True, PERIODIC, lambda view, settings: view.now < pause_ends(view, settings)),
    Check(Reason.CONCURRENCY, True, ALL, lambda view, settings: view.crowded or view.pending >= settings.concurrency),
    # A signal requests a stop only once: if it were refused during a start, the pipeline would run on.
    Check(Reason.NOT_RUNNING, True, STOP, lambda view, _: not (view.active and view.all_running)),
    Check(Reason.NOT_RUNNING, False, ALL, lambda view, _: not (view.active and view.all_running)),
    # Users may request a savepoint, a stop or an isolation because a target is unavailable: their records carry the
    # unconfirmed commits (P2). The final one waits: success needs the confirmations anyway (I43).
    Check(Reason.COMMIT_LAG, True, OURS, lambda view, settings: view.uncommitted >= settings.max_uncommitted),
    Check(Reason.NOTHING_NEW, False, PERIODIC, lambda view, _: not view.moved),
)

RECORDS: dict[TriggerKind, RecordKind] = {
    TriggerKind.PERIODIC: RecordKind.PERIODIC,
    TriggerKind.SAVEPOINT: RecordKind.SAVEPOINT,
    TriggerKind.STOP: RecordKind.SAVEPOINT,
    TriggerKind.FINAL: RecordKind.FINAL,
    TriggerKind.OPERATION: RecordKind.PERIODIC,
}

MAY_BEGIN_UNALIGNED = frozenset({TriggerKind.PERIODIC})

PRECEDENCE: dict[TriggerKind, int] = {
    TriggerKind.SAVEPOINT: 0,
    TriggerKind.STOP: 0,
    TriggerKind.OPERATION: 0,
    TriggerKind.FINAL: 1,
    TriggerKind.PERIODIC: 2,
}


def settings_for(topology: Topology, settings: CheckpointSettings) -> CheckpointSettings:
    """Allow one checkpoint at a time in a graph with a loop. A newer barrier ends an older checkpoint, so none would
    complete if barriers took longer to return than the interval (O4.8)."""
    return replace(settings, max_concurrent=1) if topology.back_edges else settings


def decide(request: TriggerRequest, view: TriggerView, settings: CheckpointSettings) -> Decision:
    """Reply with the first check that applies to this kind and fails (TR1, TR2); else start the checkpoint."""
    for check in CHECKS:
        if request.kind not in check.binds or not check.blocks(view, settings):
            continue
        if not check.waits:
            return Refuse(check.reason)
        return Wait(pause_ends(view, settings) if check.reason is Reason.MIN_PAUSE else None, check.reason)
    operation = Operation(OperationKind.STOP) if request.kind is TriggerKind.STOP else request.operation
    unaligned = settings.alignment_timeout == 0 and request.kind in MAY_BEGIN_UNALIGNED
    return Run(RECORDS[request.kind], operation, unaligned, request.name)


def pause_ends(view: TriggerView, settings: CheckpointSettings) -> float:
    """When the pause after the last checkpoint ends."""
    return view.now if view.last_end is None else view.last_end + settings.min_pause


def enqueue(queue: tuple[TriggerRequest, ...], request: TriggerRequest) -> tuple[TriggerRequest, ...]:
    """Insert the request in the queue (TR7); ``decide`` is called for its head first."""
    if PRECEDENCE[request.kind] and any(waiting.kind is request.kind for waiting in queue):
        return queue
    return tuple(sorted((*queue, request), key=lambda waiting: PRECEDENCE[waiting.kind]))


def first_trigger(activated_at: float, settings: CheckpointSettings) -> float | None:
    """When the first periodic one is due: between the minimum pause and the interval after the activation (O4.2)."""
    if settings.interval is None:
        return None
    spread = max(settings.interval - settings.min_pause, 0)
    return activated_at + settings.min_pause + settings.initial_delay * spread


def next_trigger(due: float, now: float, settings: CheckpointSettings) -> float | None:
    """When the periodic checkpoint after that of ``due`` is due; later than now, because missed beats are not repeated
    (TR6)."""
    if settings.interval is None:
        return None
    return due + settings.interval if due + settings.interval > now else now + settings.interval
