"""Exactly the planted differences are found, by key and column, and nothing that is only late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.api import FatalError, RetriableError
from seatunnel_py.reconcile import looks, reconciler
from seatunnel_py.reconcile.comparisons import TableComparison
from seatunnel_py.reconcile.reconciler import Patience, Reconciler
from seatunnel_py.reconcile.report import ComparisonState, TableReport
from tests.unit.reconcile.both_sides import TARGET, ListedRows, Row, comparison

VALUES = st.none() | st.sampled_from(["", "a", "b", "ab", "\0"])
TABLES = st.dictionaries(st.integers(-3, 60), st.tuples(VALUES, VALUES), max_size=25)


class VirtualTime:
    """Time that passes only while a comparison sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def compared(
    table: TableComparison, *, settle: float = 0.0, limit: int = 1000, time: VirtualTime | None = None
) -> TableReport:
    time = time or VirtualTime()
    patience = Patience(settle, time.clock, time.sleep)
    return Reconciler(patience, limit, lambda news: None).compare([TARGET], lambda rows: table).tables[0]


def shuffled(rows: dict[int, tuple[Any, Any]], seed: int) -> list[Row]:
    found = [(key, *values) for key, values in rows.items()]
    Random(seed).shuffle(found)
    return found


@settings(max_examples=80, deadline=None)
@given(TABLES, TABLES, st.integers(0, 9), st.integers(1, 7))
def test_exactly_the_planted_differences_are_found(
    source: dict[int, tuple[Any, Any]], target: dict[int, tuple[Any, Any]], seed: int, size: int
) -> None:
    report = compared(
        comparison(
            ListedRows(lambda: shuffled(source, seed), size), ListedRows(lambda: shuffled(target, seed + 1), size + 1)
        )
    )

    expected: dict[int, Any] = dict.fromkeys(source.keys() - target.keys(), "missing")
    expected |= dict.fromkeys(target.keys() - source.keys(), "surplus")
    for key in source.keys() & target.keys():
        pairs = zip(("note", "part"), source[key], target[key], strict=True)
        if columns := {name: (here, there) for name, here, there in pairs if here != there}:
            expected[key] = columns
    found = {
        one.key["id"]: {column.column: (column.source, column.target) for column in one.columns} or one.kind.value
        for one in report.differences
    }
    assert found == expected
    assert report.state is (ComparisonState.DIFFERENT if expected else ComparisonState.EQUAL)
    assert (report.source_rows, report.target_rows) == (len(source), len(target))
    assert report.counts == Counter(one.kind.value for one in report.differences)
    assert (report.late, report.moving, report.differing) == (0, 0, len(expected))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), VALUES, VALUES), max_size=8),
    st.lists(st.tuples(st.integers(0, 2), VALUES, VALUES), max_size=8),
)
def test_rows_of_a_table_without_a_key_are_compared_as_a_whole(source: list[Row], target: list[Row]) -> None:
    """A row that is there twice on one side only is a difference."""
    report = compared(comparison(ListedRows(lambda: source), ListedRows(lambda: target), key=()))

    here, there = Counter(source), Counter(target)
    expected = {row: (here[row], there[row]) for row in here | there if here[row] != there[row]}
    assert {tuple(one.key.values()): (one.source_rows, one.target_rows) for one in report.differences} == expected
    assert all(
        one.kind.value == ("missing" if one.source_rows > one.target_rows else "surplus") for one in report.differences
    )
    assert report.by_key == ()


def test_a_key_that_is_there_twice_is_surplus() -> None:
    """I32: a sink without an enforced key may write a row twice."""
    rows = [(1, "a", None), (2, "b", None)]
    report = compared(comparison(ListedRows(lambda: rows), ListedRows(lambda: [*rows, rows[1]])))

    [found] = report.differences
    assert (found.kind.value, found.key, found.source_rows, found.target_rows) == ("surplus", {"id": 2}, 1, 2)


def test_more_rows_than_one_group_holds_are_found_in_several_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: rows are not kept, hashes of one group at a time; shown rows are read again."""
    monkeypatch.setattr(reconciler, "GROUP_ROWS_MAX", 500)
    monkeypatch.setattr(looks, "KEPT_ROWS_MAX", 20)
    source = ListedRows(lambda: [(number, "a", None) for number in range(3000)], 100)
    target = ListedRows(lambda: [(number, "b", None) for number in range(1000, 4000)], 100)

    report = compared(comparison(source, target), limit=15)

    assert report.counts == {"missing": 1000, "surplus": 1000, "different": 2000}
    assert len(report.differences) == 15 and not report.more
    assert len(source.reads) == 1 + 8 + 1 + 1  # all; groups; all suspects; those that are shown
    for one in report.differences:
        wanted = "missing" if one.key["id"] < 1000 else "surplus" if one.key["id"] >= 3000 else "different"
        assert one.kind.value == wanted


def test_a_count_that_stops_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "GROUP_ROWS_MAX", 500)
    monkeypatch.setattr(reconciler, "SUSPECTS_MAX", 600)

    report = compared(
        comparison(ListedRows(lambda: [(number, "a", None) for number in range(3000)], 100), ListedRows(list))
    )

    assert report.more and 600 <= report.differing < 3000 and report.state is ComparisonState.DIFFERENT


class FollowedTable:
    """A table whose changes arrive after ``lag`` seconds, except for those that are lost."""

    def __init__(self, time: VirtualTime, lag: float, changes: Sequence[tuple[float, int, str | None, bool]]) -> None:
        self.time, self.lag, self.changes = time, lag, sorted(changes, key=lambda one: one[0])

    def source(self) -> list[Row]:
        return self._at(self.time.now, lost=True)

    def target(self) -> list[Row]:
        return self._at(self.time.now - self.lag, lost=False)

    def _at(self, now: float, *, lost: bool) -> list[Row]:
        found = dict.fromkeys(range(20), "old")
        for when, key, note, is_lost in self.changes:
            if when <= now and (lost or not is_lost):
                found.pop(key, None) if note is None else found.update({key: note})
        return [(key, note, None) for key, note in found.items()]


CHANGES = st.lists(
    st.tuples(
        st.floats(-20, 60).map(lambda when: round(when, 1)), st.integers(0, 25),
        st.none() | st.sampled_from("xyz"), st.just(False),
    ),
    max_size=40,
)  # fmt: skip
LOST = st.lists(st.tuples(st.just(-25.0), st.integers(0, 25), st.none() | st.just("lost"), st.just(True)), max_size=4)


@settings(max_examples=80, deadline=None)
@given(CHANGES, LOST, st.floats(0.1, 4.9))
def test_a_late_row_is_no_difference_and_a_lost_one_is(
    changes: list[tuple[float, int, str | None, bool]], lost: list[tuple[float, int, str | None, bool]], lag: float
) -> None:
    """Whatever is written meanwhile: each change arrives within the time to settle, or is lost for ever."""
    time = VirtualTime()
    touched = {key for _, key, _, _ in changes}
    lost = list({key: one for one in lost if (key := one[1]) not in touched}.values())
    table = FollowedTable(time, lag, [*changes, *lost])

    report = compared(
        comparison(ListedRows(table.source), ListedRows(table.target), follows=True), settle=5.0, time=time
    )

    before = dict.fromkeys(range(20), "old")
    really = {key for _, key, note, _ in lost if before.get(key) != note}
    assert {one.key["id"] for one in report.differences} == really
    assert report.differing == len(really)


def test_a_row_that_changes_at_each_look_is_undecided() -> None:
    """It is neither equal nor different, and nothing says success."""
    time = VirtualTime()
    table = FollowedTable(time, 0.3, [(0.05 * step, 7, str(step), False) for step in range(1000)])

    report = compared(
        comparison(ListedRows(table.source), ListedRows(table.target), follows=True), settle=2.0, time=time
    )

    assert (report.state, report.moving, report.differing) == (ComparisonState.UNDECIDED, 1, 0)
    assert time.now < 20


def test_a_table_without_a_log_needs_no_waiting() -> None:
    time = VirtualTime()
    report = compared(comparison(ListedRows(lambda: [(1, "a", None)]), ListedRows(list)), settle=30.0, time=time)
    assert report.differing == 1 and time.now == 0


def test_a_row_that_cannot_be_read_is_neither_equal_nor_missing() -> None:
    """Success is not said of it, and a missing row may be the one that cannot be read."""
    rows: list[Row] = [(number, "a", None) for number in range(5)]
    damaged = comparison(ListedRows(lambda: rows), ListedRows(lambda: rows[:4], unreadable=1))
    report = compared(damaged)
    assert (report.state, report.counts, report.target_unreadable) == (ComparisonState.UNDECIDED, {"missing": 1}, 1)

    report = compared(comparison(ListedRows(lambda: rows), ListedRows(lambda: rows[:3], unreadable=1)))
    assert (report.state, report.counts) == (ComparisonState.DIFFERENT, {"missing": 2})

    report = compared(comparison(ListedRows(lambda: rows, unreadable=2), ListedRows(lambda: rows)))
    assert (report.state, report.source_unreadable) == (ComparisonState.UNDECIDED, 2)


def test_a_lost_connection_is_tried_again_and_an_error_is_reported() -> None:
    failures: list[Exception] = [RetriableError("the connection was lost", "wait")]

    def rows() -> list[Row]:
        if failures:
            raise failures.pop()
        return [(1, "a", None)]

    assert compared(comparison(ListedRows(rows), ListedRows(lambda: [(1, "a", None)]))).state is ComparisonState.EQUAL

    failures += [ZeroDivisionError("division by zero")]
    report = compared(comparison(ListedRows(rows), ListedRows(list)))
    assert (report.state, report.reason) == (ComparisonState.NOT_COMPARED, "ZeroDivisionError: division by zero")

    failures.append(FatalError("no right to read", "grant it"))
    report = compared(comparison(ListedRows(rows), ListedRows(list)))
    assert (report.state, report.reason, report.remedy) == (
        ComparisonState.NOT_COMPARED,
        "no right to read",
        "grant it",
    )
