"""Sums the counts of each table over the entries of its pipelines, and keeps the highest sums so far.

Rules. (1) A mark is raised only when all changed pipelines are counted, because a table may move from one pipeline to
another. (2) The mark of a table that has left its last pipeline stays.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from operator import add, itemgetter, sub
from typing import Any

from seatunnel_py.runtime.observe.run_record import COUNTERS, TableRecord

_counts = itemgetter(*COUNTERS)
_NONE = (0,) * len(COUNTERS)


class TableMarks:
    """The sums and marks of one job's tables. ``before``: counts of earlier drivers."""

    def __init__(self, before: Iterable[TableRecord] = ()) -> None:
        self._marks: dict[str, tuple[int, ...]] = {one.table: _counts(one.counts) for one in before}
        self._sums: dict[str, tuple[int, ...]] = {}
        self._changed: set[str] = set()

    def exchange(self, before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> None:
        """Take the entries of one pipeline for those that were counted before."""
        for entries, way in ((before, sub), (after, add)):
            for one in entries:
                table, counts = one["table"], _counts(one)
                if counts == _NONE:
                    self._marks.setdefault(table, counts)
                else:
                    self._sums[table] = tuple(map(way, self._sums.get(table, _NONE), counts))
                    self._changed.add(table)

    def totals(self) -> dict[str, int]:
        """The sums of all tables, as in receipts."""
        whole = tuple(map(sum, zip(*self._sums.values(), strict=True))) or _NONE
        return {name: number for name, number in zip(COUNTERS, whole, strict=True) if name != "attempts"}

    def higher(self, present: Container[str]) -> dict[str, dict[str, int]]:
        """Raise the marks, and return those that differ from the sums of now (rule 1), or whose table is not
        ``present`` in any pipeline."""
        marks, sums = self._marks, self._sums
        for table in self._changed:
            now = sums[table]
            mark = marks.get(table, now)
            marks[table] = now if mark == now else tuple(map(max, mark, now))
        self._changed.clear()
        return {
            table: dict(zip(COUNTERS, mark, strict=True))
            for table, mark in marks.items()
            if mark != sums.get(table, _NONE) or table not in present
        }
