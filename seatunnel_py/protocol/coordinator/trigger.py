"""Whether a requested checkpoint starts now, later or not at all, and when the next periodic one is due.

Rules. (TR1) The checks stand in the order of O4.3, then O4.4, then ours: shut down? periodic ones off? too many queued?
minimum pause? concurrency? all subtasks running? commits lag? anything new? The first that blocks is the answer. (TR2)
A check binds the kinds that its row names and no others: a savepoint waits for no pause and needs no news, the final
one is never lost to a full queue. (TR3) What passes by itself is waited for, anything else is refused, and neither has
a side effect (O4.4, O5.5). (TR4) Where barriers may go unaligned, one checkpoint is under way at a time (I16). (TR5)
Only periodic checkpoints begin unaligned: a savepoint stands alone (I44), the final one has to find the channels empty,
and an operation may need what was before it to be through. (TR6) The first periodic one comes after a fraction of the
interval that is handed in, so that many pipelines do not start together (O4.2); a beat that was missed is not made up.
(TR7) What a person asked for goes before what a timer did, in the order in which it was asked; one periodic and one
final request wait at most. (TR8) Only periodic ones run beside each other: anything else begins when nothing is under
way, and while it waits or runs no periodic one begins. Otherwise a savepoint and the final one, each asked for again
when the other's barriers overtook it (O4.8), would chase each other for ever where barriers take long, as in a loop.

May not know: clocks, what a checkpoint consists of, who acknowledges it.
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
    """Options of one pipeline; times in seconds. Raises ValueError for what cannot be meant."""

    interval: float | None = None
    """None: no periodic ones."""
    timeout: float = 60.0
    min_pause: float = 0.0
    """From the end of one checkpoint, however it ended, to the start of the next periodic one."""
    max_concurrent: int = 1
    tolerable_failures: int = 3
    """So many failures in a row are borne; the next one fails the pipeline (I15)."""
    max_retained: int = 3
    max_uncommitted: int = 2
    """With so many completed but unconfirmed ones, nothing more is triggered and sources pause."""
    alignment_timeout: float | None = 10.0
    """0: unaligned from the start; None: never unaligned."""
    initial_delay: float = 0.0
    """A fraction in [0, 1), drawn by the world."""
    queue_max: int = 100
    """Requests that may wait. More than people type; few enough to be listed."""
    at_end_only: bool = False
    """One before the last would show rows early: what can wait for the last one does (LE6)."""

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
        """How many may be under way (TR4). Nobody tells the coordinator that an alignment timed out, so that it may is
        enough."""
        return self.max_concurrent if self.alignment_timeout is None else 1


class TriggerKind(StrEnum):
    """STOP is a savepoint behind which nothing is emitted; FINAL is asked for when all sources have ended; OPERATION
    carries a control operation (O6.2)."""

    PERIODIC = "periodic"
    SAVEPOINT = "savepoint"
    STOP = "stop"
    FINAL = "final"
    OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class TriggerRequest:
    """``name``: the savepoint's; ``operation``: what an OPERATION's barrier asks for."""

    kind: TriggerKind
    at: float
    name: str = ""
    operation: Operation = field(default_factory=Operation)


@dataclass(frozen=True, slots=True)
class TriggerView:
    """All that the decision may know."""

    now: float
    ended: bool = False
    """The pipeline has ended, well or not."""
    active: bool = True
    """The pipeline's state is one in which checkpoints are taken (O4.1)."""
    all_running: bool = True
    """Every subtask that has to trigger or to acknowledge runs, or is a source that ended (O4.4)."""
    periodic: bool = True
    queued: int = 0
    """How many requests wait, this one not counted."""
    pending: int = 0
    crowded: bool = False
    """This one would not be alone, and it or one that is asked for has to be (TR8)."""
    last_end: float | None = None
    """When the last checkpoint ended, however it did; None: there was none."""
    uncommitted: int = 0
    """How many completed checkpoints have unconfirmed commits."""
    moved: bool = True
    """Any position differs from the last completed checkpoint."""


@dataclass(frozen=True, slots=True)
class Run:
    """Start it now, as this."""

    kind: RecordKind
    operation: Operation
    unaligned: bool
    name: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again at ``until``; None: when a checkpoint ends or a commit is confirmed."""

    until: float | None
    reason: Reason


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not this time; nothing was done."""

    reason: Reason


Decision: TypeAlias = Run | Wait | Refuse


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table: whom it binds, what is answered, and when it blocks."""

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
    # A stop is asked for once, by a signal: a pipeline that starts or restarts would run on.
    Check(Reason.NOT_RUNNING, True, STOP, lambda view, _: not (view.active and view.all_running)),
    Check(Reason.NOT_RUNNING, False, ALL, lambda view, _: not (view.active and view.all_running)),
    # A person may want a savepoint, a stop or an isolation just because a target is away: their records carry what is
    # not confirmed (P2). The final one waits: a loop repeats it, and success needs the confirmations anyway (I43).
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
    """One checkpoint at a time where there is a loop. Its head gives up the older of two, so that none would complete
    if barriers took longer to come round than the interval is (O4.8)."""
    return replace(settings, max_concurrent=1) if topology.back_edges else settings


def decide(request: TriggerRequest, view: TriggerView, settings: CheckpointSettings) -> Decision:
    """The first check that binds this kind and blocks is the answer (TR1, TR2); else it runs."""
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
    """When the pause after the last checkpoint is over."""
    return view.now if view.last_end is None else view.last_end + settings.min_pause


def enqueue(queue: tuple[TriggerRequest, ...], request: TriggerRequest) -> tuple[TriggerRequest, ...]:
    """The queue with this request in its place (TR7). Its head is the next to ask ``decide`` about."""
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
    """When the periodic one after that of ``due`` is due. Later than now: missed beats are not made up (TR6)."""
    if settings.interval is None:
        return None
    return due + settings.interval if due + settings.interval > now else now + settings.interval
