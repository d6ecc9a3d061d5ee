"""Which pipelines of a job are at work, and which wait for their turn. Pure.

Rules. (1) So many that end are open at a time, in the job file's order: a job may have a thousand tables, and each that
is open has staged tables, connections and splits. (2) Fewer, where each has much to read: what counts is how many
subtasks have work, for tables that take turns are open for longer, and each has checkpoints for as long as it is open.
Tables of one unit need many that are open, for others are preparing and committing. Whatever its size, one begins.
(3) A stream takes no place: it would never give it back. (4) A pipeline that has not begun when the job stops does not
begin. (5) A pipeline that finishes a sink which another one left out begins behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

OPEN_MAX = 128  # that end
WORK_MAX = 128  # subtasks with work, of those: one behind another they keep two cores busy
WORK_MAX_PER_SLOT = 4  # where there are many


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pipeline that wants to begin. ``work``: how many of its subtasks may have work; ``behind``: the key of the one
    that has to be closed first, empty: none has."""

    key: str
    bounded: bool
    work: int
    behind: str = ""


class Admission:
    """Of one driver. ``slots``: how many units its engine runs at the same time, once there is one."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._waiting = {one.key: one for one in candidates}
        self._open: set[str] = set()
        self._work: dict[str, int] = {}  # of those that end
        self.slots = 0

    def __bool__(self) -> bool:
        """Whether any is at work, or will be."""
        return bool(self._open or self._waiting)

    def admit(self) -> tuple[str, ...]:
        """Those whose turn it is: they begin."""
        admitted = []
        while (one := self._next()) is not None and (not one.bounded or self._has_room()):
            del self._waiting[one.key]
            self._open.add(one.key)
            if one.bounded:
                self._work[one.key] = one.work
            admitted.append(one.key)
        return tuple(admitted)

    def counted(self, key: str, work: int) -> None:
        """Its splits have been dealt: so many of its subtasks have work."""
        if key in self._work:
            self._work[key] = work

    def _has_room(self) -> bool:
        return len(self._work) < OPEN_MAX and sum(self._work.values()) < max(WORK_MAX, WORK_MAX_PER_SLOT * self.slots)

    def _next(self) -> Candidate | None:
        """The first whose turn it may be (rule 5)."""
        return next((one for one in self._waiting.values() if not self._at_work(one.behind)), None)

    def _at_work(self, key: str) -> bool:
        return key in self._open or key in self._waiting

    def ended(self, key: str) -> None:
        """Nothing of it is at work any more."""
        self._open.discard(key)
        self._work.pop(key, None)

    def skip(self, key: str) -> None:
        """It will not begin, if it has not yet."""
        self._waiting.pop(key, None)

    def skip_all(self) -> tuple[str, ...]:
        """None will begin any more; those that would have."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting
