"""The diagnosis of a pipeline, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from seatunnel_py.api.log_source import LogLag
from seatunnel_py.protocol.stuck import SubtaskFact


@dataclass(frozen=True, slots=True)
class WaitingSubtask:
    """A subtask: ``doing`` is the name of its activity, such as ``output_full``, or ``unseen``. ``seconds``: since it
    does that; ``unit``: the running one, or 0; ``waits_for``: subtasks, each with the ``channel`` to it; ``waiters``:
    subtasks that wait for it. The subtask waits for the barrier of ``checkpoint`` on the channels in ``missing``, and
    meanwhile does not read those in ``blocked``; 0: for none."""

    subtask: str
    doing: str
    seconds: float
    unit: int = 0
    waits_for: tuple[Mapping[str, str], ...] = ()
    waiters: tuple[str, ...] = ()
    checkpoint: int = 0
    missing: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    @classmethod
    def of(cls, fact: SubtaskFact) -> WaitingSubtask:
        waits = tuple({"subtask": str(one), "channel": str(channel)} for one, channel in fact.waits_for)
        name, seconds, waiters = str(fact.subtask), max(0.0, fact.seconds), _texts(fact.waiters)
        if (view := fact.view) is None:
            return cls(name, "unseen", seconds, waits_for=waits, waiters=waiters)
        barrier = view.checkpoint, _texts(view.missing), _texts(view.blocked)
        return cls(name, view.doing.name.lower(), seconds, view.unit, waits, waiters, *barrier)


@dataclass(frozen=True, slots=True)
class OpenCheckpoint:
    """A checkpoint that is under way, since ``seconds``. ``missing``: subtasks that have not acknowledged it; none: its
    record is being written."""

    checkpoint: int
    seconds: float
    missing: tuple[str, ...]


def _texts(things: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, things))


@dataclass(frozen=True, slots=True)
class PipelineDiagnosis:
    """``waits``: sentences, causes first; ``blocked``: locks reported by targets; ``busy``: work is in progress;
    ``moved``: seconds since the last row, None: no row yet; ``lag``: number of completed checkpoints
    whose rows are not committed yet; ``log_lag``: of the log that it follows. The facts that ``waits`` are made from:
    ``subtasks``, causes first; ``deadlocks``: subtasks of which each waits for the next; ``checkpoints`` under way."""

    table: str
    state: str
    checkpoint: int | None
    lag: int
    moved: float | None
    busy: bool
    waits: tuple[str, ...]
    blocked: tuple[str, ...] = ()
    log_lag: LogLag | None = None
    subtasks: tuple[WaitingSubtask, ...] = ()
    deadlocks: tuple[tuple[str, ...], ...] = ()
    checkpoints: tuple[OpenCheckpoint, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)
