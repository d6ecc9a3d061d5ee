"""Decides which pipelines of a job begin, and which wait for their turn. Pure.

Rules. (1) At most ``OPEN_MAX`` bounded pipelines are open at a time, in the job file's order: a job may have a thousand
tables, and each open one has staged tables, connections and splits. (2) Fewer are open if their subtasks with work
exceed the bound on work: tables that share the cores stay open for longer, and an open table takes checkpoints. Many
small tables may be open, because some of them are preparing or committing. One pipeline always begins, of any size.
(3) A stream does not count against these bounds, because it never ends. (4) A pipeline that has not begun when the job
stops does not begin. (5) A pipeline that finishes an isolated sink begins when the pipeline of that sink has ended; one
that follows a log begins when the copies of its tables have ended. (6) An open pipeline may wait again, for
pipelines that have waited for it: a table leaves its log, is copied again, and joins the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seatunnel_py.runtime.state.context import PipelineContext

OPEN_MAX = 128  # bounded pipelines
WORK_MAX = 128  # subtasks with work in bounded pipelines: enough to keep two cores busy
WORK_MAX_PER_SLOT = 4  # if the engine has many slots


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pipeline that has not begun. ``work``: how many of its subtasks may have work; ``after``: the keys of
    the pipelines that have to end first."""

    key: str
    bounded: bool
    work: int
    after: frozenset[str] = frozenset()


class Admission:
    """Admits the pipelines of one driver. ``slots``: how many units its engine runs at once; 0: not known yet.
    ``open``: the keys of the open pipelines."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._waiting = {one.key: one for one in candidates}
        self.open: set[str] = set()
        self._work: dict[str, int] = {}  # bounded pipelines only
        self.slots = 0

    def __bool__(self) -> bool:
        """Whether a pipeline is open or waits for its turn."""
        return bool(self.open or self._waiting)

    def admit(self) -> tuple[str, ...]:
        """Open the pipelines whose turn has come; return their keys."""
        admitted = []
        while (candidate := self._next()) is not None and (not candidate.bounded or self._has_room()):
            del self._waiting[candidate.key]
            self.open.add(candidate.key)
            if candidate.bounded:
                self._work[candidate.key] = candidate.work
            admitted.append(candidate.key)
        return tuple(admitted)

    def counted(self, key: str, work: int) -> None:
        """Note how many subtasks of a pipeline have work, because its splits are assigned."""
        if key in self._work:
            self._work[key] = work

    def _has_room(self) -> bool:
        return len(self._work) < OPEN_MAX and sum(self._work.values()) < max(WORK_MAX, WORK_MAX_PER_SLOT * self.slots)

    def _next(self) -> Candidate | None:
        """Return the first pipeline that does not wait for another one (rule 5)."""
        return next((one for one in self._waiting.values() if not any(map(self._at_work, one.after))), None)

    def _at_work(self, key: str) -> bool:
        return key in self.open or key in self._waiting

    def ended(self, key: str) -> None:
        """Remove a pipeline that is closed."""
        self.open.discard(key)
        self._work.pop(key, None)

    def again(self, candidate: Candidate) -> None:
        """Let an open pipeline wait for others, which wait for it no longer (rule 6)."""
        self.ended(candidate.key)
        for key, one in self._waiting.items():
            self._waiting[key] = replace(one, after=one.after - {candidate.key})
        self._waiting[candidate.key] = candidate

    def skip(self, key: str) -> None:
        """Remove a pipeline that has not begun; the job still waits for its end."""
        if self._waiting.pop(key, None) is not None:
            self.open.add(key)

    def skip_all(self) -> tuple[str, ...]:
        """Remove all pipelines that have not begun, and still have to end; return their keys."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        self.open.update(waiting)
        return waiting


def candidate_of(context: PipelineContext, after: frozenset[str]) -> Candidate:
    """The candidate of a pipeline; each of its subtasks may have work until its splits are assigned."""
    work = sum(vertex.parallelism for vertex in context.pipeline.vertices)
    return Candidate(context.key, context.bounded, work, after)
