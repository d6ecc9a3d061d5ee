"""The state of a subtask in records. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class State:
    """A subtask's state: progress in its splits, counts, rows collected for a query, and ended inputs."""

    reading: Any = None
    tally: Any = None
    gathered: tuple[Any, ...] = ()
    ended: int = 0

    def to_plain(self) -> list[Any]:
        return [self.reading, self.tally, list(self.gathered), self.ended]


def state_of(plain: Any) -> State:
    return State() if plain is None else State(plain[0], plain[1], tuple(plain[2]), plain[3])
