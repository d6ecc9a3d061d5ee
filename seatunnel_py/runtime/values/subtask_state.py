"""The state of a subtask as records hold it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class State:
    """A subtask's state as plain data: where its splits stand, its sums, what a query has gathered, who has ended."""

    reading: Any = None
    tally: Any = None
    gathered: tuple[Any, ...] = ()
    ended: int = 0

    def to_plain(self) -> list[Any]:
        return [self.reading, self.tally, list(self.gathered), self.ended]


def state_of(plain: Any) -> State:
    return State() if plain is None else State(plain[0], plain[1], tuple(plain[2]), plain[3])
