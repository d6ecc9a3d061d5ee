"""Which pipelines of a job are at work, and which wait for their turn.

Rules. (1) So many that end are open at a time, in the job file's order: a job may have a thousand tables, and each that
is open has staged tables, connections and splits. (2) Fewer, where each has much to read: what counts is how many
subtasks have work, for tables that take turns are open for longer, and each has checkpoints for as long as it is open.
Tables of one unit need many that are open, for theirs are preparing and committing. Whatever its size, one begins.
(3) A stream takes no place: it would never give it back. (4) Who has not begun when the job stops does not begin.
(5) What finishes a sink that a pipeline left out begins behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner

OPEN_MAX = 128  # that end
WORK_MAX = 128  # subtasks with work, of those: one behind another they keep two cores busy
WORK_MAX_PER_SLOT = 4  # where there are many


def work_of(life: PipelineRunner) -> int:
    """How many of its subtasks have work: all of them, until it is known what there is to read."""
    if not life.subtasks:
        return sum(vertex.parallelism for vertex in life.pipeline.vertices)
    return sum(run.vertex.source is None or bool(run.splits) for run in life.subtasks.values())


class Admission:
    """Of one driver. ``slots``: how many units its engine runs at the same time, once there is one."""

    def __init__(self, lives: Iterable[PipelineRunner]) -> None:
        self._waiting = deque(lives)
        self._open: dict[str, PipelineRunner] = {}
        self._work: dict[str, int] = {}  # of those that end
        self._unknown: list[PipelineRunner] = []  # which of those count in full, so far
        self.slots = 0

    def __bool__(self) -> bool:
        """Whether anything is at work, or will be."""
        return bool(self._open or self._waiting)

    def admit(self) -> None:
        """Let those begin whose turn it is."""
        self._weigh()
        while (life := self._next()) is not None and (not life.bounded or self._has_room()):
            self._waiting.remove(life)
            self._open[life.id] = life
            if life.bounded:
                self._work[life.id] = work_of(life)
                self._unknown.append(life)
            life.begin()

    def _has_room(self) -> bool:
        return len(self._work) < OPEN_MAX and sum(self._work.values()) < max(WORK_MAX, WORK_MAX_PER_SLOT * self.slots)

    def _weigh(self) -> None:
        """Count again those whose splits have been dealt."""
        known = [life for life in self._unknown if life.subtasks]
        for life in known:
            self._unknown.remove(life)
            self._work[life.id] = work_of(life)

    def _next(self) -> PipelineRunner | None:
        """The first whose turn it may be (rule 5)."""
        return next((one for one in self._waiting if one.behind is None or not self._at_work(one.behind)), None)

    def _at_work(self, life: PipelineRunner) -> bool:
        return life.id in self._open or life in self._waiting

    def ended(self, pipeline: str) -> None:
        """Nothing of it is at work any more."""
        life = self._open.pop(pipeline, None)
        self._work.pop(pipeline, None)
        if life in self._unknown:
            self._unknown.remove(life)

    def skip(self, life: PipelineRunner) -> None:
        """It will not begin, if it has not yet."""
        if life in self._waiting:
            self._waiting.remove(life)

    def skip_all(self) -> tuple[PipelineRunner, ...]:
        """Nobody will begin any more; those that would have."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting
