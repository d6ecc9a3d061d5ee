"""Which pipelines of a job are at work, and which wait for their turn.

Rules. (1) So many that end are open at a time, in the job file's order: a job may have a thousand tables, and each that
is open has staged tables, connections and splits. (2) A stream takes no place: it would never give it back. (3) Who has
not begun when the job stops does not begin. (4) What finishes a sink that a pipeline left out begins behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline_life import PipelineLife

OPEN_MAX = 128  # that end


class Admission:
    """Of one driver."""

    def __init__(self, lives: Iterable[PipelineLife]) -> None:
        self._waiting = deque(lives)
        self._open: dict[str, PipelineLife] = {}
        self._ending = 0  # how many of them end: counted, for it is asked at every turn of the loop

    def __bool__(self) -> bool:
        """Whether anything is at work, or will be."""
        return bool(self._open or self._waiting)

    def admit(self) -> None:
        """Let those begin whose turn it is."""
        while (life := self._next()) is not None and (self._ending < OPEN_MAX or not life.bounded):
            self._waiting.remove(life)
            self._open[life.id] = life
            self._ending += life.bounded
            life.begin()

    def _next(self) -> PipelineLife | None:
        """The first whose turn it may be (rule 4)."""
        return next((one for one in self._waiting if one.behind is None or not self._at_work(one.behind)), None)

    def _at_work(self, life: PipelineLife) -> bool:
        return life.id in self._open or life in self._waiting

    def ended(self, pipeline: str) -> None:
        """Nothing of it is at work any more."""
        if (life := self._open.pop(pipeline, None)) is not None:
            self._ending -= life.bounded

    def skip(self, life: PipelineLife) -> None:
        """It will not begin, if it has not yet."""
        if life in self._waiting:
            self._waiting.remove(life)

    def skip_all(self) -> tuple[PipelineLife, ...]:
        """Nobody will begin any more; those that would have."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting
