"""The state of a subtask in records. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class State:
    """A subtask's state: progress in its splits, counts, rows collected for a query, and ended inputs. ``altered``:
    changes of tables' schemas that its log has met (``SchemaAlteration``), until the plan of the pipeline has them;
    ``refused``: tables of its log that it has stopped, because their targets refuse a change."""

    reading: Any = None
    tally: Any = None
    gathered: tuple[Any, ...] = ()
    ended: int = 0
    altered: tuple[Any, ...] = ()
    refused: tuple[str, ...] = ()

    def to_plain(self) -> list[Any]:
        plain = [self.reading, self.tally, list(self.gathered), self.ended]
        return [*plain, list(self.altered), list(self.refused)] if self.altered or self.refused else plain


def state_of(plain: Any) -> State:
    if plain is None:
        return State()
    altered, refused = plain[4:] or ((), ())
    return State(plain[0], plain[1], tuple(plain[2]), plain[3], tuple(altered), tuple(refused))


def counts_of(plain: Any) -> Any:
    """The counts of a state (``RowTally.to_plain``), without reading the rest of it."""
    return None if plain is None else plain[1]
