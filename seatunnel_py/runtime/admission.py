"""Which pipelines of a job are at work, and which wait for their turn.

Rules. (1) So many that end are open at a time, in the job file's order: a job may have a thousand tables, and each that
is open has staged tables, connections and splits. (2) A stream takes no place: it would never give it back. (3) Who has
not begun when the job stops does not begin.
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

    def __bool__(self) -> bool:
        """Whether anything is at work, or will be."""
        return bool(self._open or self._waiting)

    def admit(self) -> None:
        """Let those begin whose turn it is."""
        if not self._waiting:
            return
        ending = sum(life.bounded for life in self._open.values())
        while self._waiting and (ending < OPEN_MAX or not self._waiting[0].bounded):
            life = self._waiting.popleft()
            self._open[life.id] = life
            ending += life.bounded
            life.begin()

    def ended(self, pipeline: str) -> None:
        """Nothing of it is at work any more."""
        self._open.pop(pipeline, None)

    def skip(self, life: PipelineLife) -> None:
        """It will not begin, if it has not yet."""
        if life in self._waiting:
            self._waiting.remove(life)

    def skip_all(self) -> tuple[PipelineLife, ...]:
        """Nobody will begin any more; those that would have."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting
