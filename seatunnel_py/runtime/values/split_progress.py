"""Splits of a source's subtask, its progress in them, and its next split. Pure.

Rules. (1) The splits of a source are assigned once, round by round as they were found: in each round the largest
first, each to the subtask with the fewest rows, so that every driver computes the same assignment.
(2) In a batch job a subtask reads its splits one after the other, in a stream in turn. (3) The progress is
plain data: it is the subtask's state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.api.batch import Plain, Position
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import Split

ROWS_UNKNOWN = 1


def assign_splits(rounds: Iterable[SplitRound], hands: int) -> tuple[tuple[Split, ...], ...]:
    """Assign splits to ``hands`` subtasks, round after round, in the source's order within each. A later round does not
    change the assignment of earlier ones."""
    dealt: list[tuple[Split, ...]] = [()] * hands
    rows = [0] * hands
    for splits in (each.splits for each in rounds):
        mine: list[list[int]] = [[] for _ in range(hands)]
        sizes = [(split.rows if split.rows is not None else ROWS_UNKNOWN, -at) for at, split in enumerate(splits)]
        for size, minus_at in sorted(sizes, reverse=True):
            hand = min(range(hands), key=lambda one: (rows[one], len(dealt[one]) + len(mine[one]), one))
            mine[hand].append(-minus_at)
            rows[hand] += size
        dealt = [(*had, *(splits[at] for at in sorted(more))) for had, more in zip(dealt, mine, strict=True)]
    return tuple(dealt)


@dataclass(frozen=True, slots=True)
class SplitRound:
    """Splits that were found together, and the enumerator's snapshot at that time."""

    splits: tuple[Split, ...]
    state: Plain = None


@dataclass(frozen=True, slots=True)
class SplitProgress:
    """Progress of a subtask. ``ended``: splits that were read to their ends; for splits in sequence ``finished`` counts
    further ones, from the first of the others. ``at``: positions in started splits, by split id; ``turn``: number of
    units."""

    finished: int = 0
    ended: tuple[str, ...] = ()
    at: Mapping[str, Position] = field(default_factory=dict)
    turn: int = 0

    def next(self, splits: Sequence[Split], *, bounded: bool) -> Split | None:
        """The next split to read; None: all were read."""
        left = [split for split in splits if split.id not in self.ended] if self.ended else splits
        if bounded:
            return left[self.finished] if self.finished < len(left) else None
        return left[self.turn % len(left)] if left else None

    def after(self, split: Split, end: Position | None, *, done: bool, bounded: bool) -> SplitProgress:
        """A unit has read from this split: to its end, or as far as ``end``."""
        at = {name: position for name, position in self.at.items() if name != split.id}
        if done:
            more = () if bounded else (split.id,)
            return SplitProgress(self.finished + bounded, self.ended + more, at, self.turn + 1)
        return replace(self, at=at if end is None else {**at, split.id: end}, turn=self.turn + 1)

    def to_plain(self) -> list[Any]:
        at = {name: position.to_plain() for name, position in self.at.items()}
        return [self.finished, list(self.ended), at, self.turn]


def reading_of(plain: Any) -> SplitProgress:
    """The inverse of ``SplitProgress.to_plain``; None: nothing read yet."""
    if plain is None:
        return SplitProgress()
    finished, ended, at, turn = plain
    return SplitProgress(finished, tuple(ended), {name: Position.of(position) for name, position in at.items()}, turn)


@dataclass(frozen=True, slots=True)
class ReadRange:
    """The range that one unit has read, so that it can be read again exactly: the rows of ``split`` between two
    positions; the second is None at its end (``done``). No split: the unit read nothing. ``result``: the unit's output
    in segments, if the source cannot give the same rows again. ``altered``: changes of schemas at its end; ``refused``:
    the unit only stopped these tables."""

    split: str | None = None
    start: Position | None = None
    end: Position | None = None
    done: bool = False
    rows: int = 0
    result: Any = None
    altered: tuple[Any, ...] = ()
    refused: tuple[str, ...] = ()

    def to_plain(self) -> list[Any]:
        start, end = (None if at is None else at.to_plain() for at in (self.start, self.end))
        plain = [self.split, start, end, self.done, self.rows, self.result]
        return [*plain, list(self.altered), list(self.refused)] if self.altered or self.refused else plain


def took_of(plain: Any) -> ReadRange:
    """The inverse of ``ReadRange.to_plain``."""
    split, start, end, done, rows, result, *more = plain
    begun, ended = (None if at is None else Position.of(at) for at in (start, end))
    altered, refused = more or ((), ())
    return ReadRange(split, begun, ended, done, rows, result, tuple(altered), tuple(refused))


def rounds_plain(rounds: Iterable[SplitRound]) -> list[Any]:
    """Convert rounds to plain data, for records."""
    return [[splits_plain(each.splits), each.state] for each in rounds]


def rounds_of(plain: Any) -> tuple[SplitRound, ...]:
    """The inverse of ``rounds_plain``."""
    return tuple(SplitRound(splits_of(splits), state) for splits, state in plain)


def splits_plain(splits: Sequence[Split]) -> list[Any]:
    """Convert splits to plain data, for records; without ``asdict``, whose copies take time for many splits."""
    return [
        {
            "id": split.id,
            "table": path_plain(split.table),
            "payload": split.payload,
            "rows": split.rows,
            "bytes": split.bytes,
            "version": split.version,
            "generation": split.generation,
        }
        for split in splits
    ]


def splits_of(plain: Any) -> tuple[Split, ...]:
    """The inverse of ``splits_plain``."""
    return tuple(Split(**{**one, "table": TablePath(**one["table"])}) for one in plain)


def path_plain(path: TablePath) -> dict[str, str]:
    """Convert a table path to plain data: its constructor's arguments."""
    return {"database": path.database, "schema": path.schema, "table": path.table}
