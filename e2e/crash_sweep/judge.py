"""What counts as a violation; pure. Rows are (source, split, seq): compared as a multiset and in order, never counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

Row = tuple[str, int, int]
SHOWN_MAX = 5


class Seen(StrEnum):
    """What a reader who looks while the job runs may see: nothing or everything; of each split a beginning; any set that
    only grows."""

    ALL = "all or nothing"
    PREFIX = "a beginning of each split"
    GROWING = "only ever more"


@dataclass(frozen=True, slots=True)
class Glance:
    """What a reader saw: for each (source, split) how many rows, and the highest ``seq`` of them."""

    splits: Mapping[tuple[str, int], tuple[int, int]]

    @classmethod
    def at(cls, found: Iterable[Row]) -> Glance:
        """Of rows that are looked at one by one."""
        counted: dict[tuple[str, int], tuple[int, int]] = {}
        for source, split, seq in found:
            rows, last = counted.get((source, split), (0, 0))
            counted[source, split] = rows + 1, max(last, seq)
        return cls(counted)

    @property
    def rows(self) -> int:
        return sum(rows for rows, _ in self.splits.values())


def rows(wanted: Iterable[Row], found: Sequence[Row], *, ordered: bool) -> list[str]:
    """What is wrong with the rows of a target."""
    return content(wanted, found) + (order(found) if ordered else [])


def content(wanted: Iterable[Row], found: Sequence[Row]) -> list[str]:
    """Rows that are lost, there more than once, or nobody's."""
    expected, there = Counter(wanted), Counter(found)
    return [
        *_shown("lost", expected - there),
        *_shown("duplicated", Counter({row: times for row, times in (there - expected).items() if row in expected})),
        *_shown("never sent", Counter({row: times for row, times in there.items() if row not in expected})),
    ]


def order(found: Iterable[Row]) -> list[str]:
    """Rows of a split that come after a later one of theirs."""
    last: dict[tuple[str, int], int] = {}
    broken: Counter[Row] = Counter()
    for source, split, seq in found:
        if seq < last.get((source, split), 0):
            broken[source, split, seq] += 1
        last[source, split] = seq
    return _shown("out of order", broken)


def glances(wanted: Iterable[Row], seen: Seen, looks: Sequence[Glance]) -> list[str]:
    """What no reader may ever have seen (I4, I5)."""
    whole = len(list(wanted))
    before: Mapping[tuple[str, int], tuple[int, int]] = {}
    for look in looks:
        if seen is Seen.ALL and look.rows not in (0, whole):
            return [f"a reader saw {look.rows} of {whole} rows"]
        for split, (rows, last) in look.splits.items():
            if seen is Seen.PREFIX and rows != last:
                return [f"a reader saw {rows} rows of split {split}, up to number {last}"]
        for split, (rows, _) in before.items():
            now = look.splits.get(split, (0, 0))[0]
            if now < rows:
                return [f"a reader saw {rows} rows of split {split}, and then {now}"]
        before = look.splits
    return []


def _shown(what: str, rows: Counter[Row]) -> list[str]:
    if not rows:
        return []
    first = ", ".join(f"{source}/{split}#{seq}" for source, split, seq in sorted(rows)[:SHOWN_MAX])
    return [f"{rows.total()} rows {what}: {first}{', …' if len(rows) > SHOWN_MAX else ''}"]
