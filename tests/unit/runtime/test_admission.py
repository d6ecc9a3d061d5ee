"""Which pipelines begin: as many as keep the engine busy, whatever their sizes are, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.runtime.driver.admission import OPEN_MAX, WORK_MAX, WORK_MAX_PER_SLOT, Admission, Candidate


@dataclass(eq=False)
class Table:
    """A pipeline: how many of its subtasks have work is known once it is prepared."""

    key: str
    parallelism: int = 2
    splits: int = 2
    bounded: bool = True
    behind: str = ""
    begun: bool = False
    prepared: bool = False

    @property
    def work(self) -> int:
        return min(self.splits, self.parallelism) if self.prepared else self.parallelism


class Turns:
    """The admission of these tables."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = {table.key: table for table in tables}
        self.admission = Admission(
            Candidate(one.key, one.bounded, one.parallelism, frozenset(filter(None, [one.behind]))) for one in tables
        )

    def admit(self) -> None:
        for key in self.admission.admit():
            assert not self.tables[key].begun
            self.tables[key].begun = True

    def prepare(self, table: Table) -> None:
        table.prepared = True
        self.admission.counted(table.key, table.work)

    def open_now(self) -> int:
        self.admit()
        return sum(table.begun for table in self.tables.values())


@pytest.mark.parametrize(
    ("parallelism", "splits", "before", "behind"), [(2, 4, 64, 64), (2, 1, 64, 128), (1, 9, 128, 128)]
)
def test_what_counts_is_how_many_subtasks_have_work(parallelism: int, splits: int, before: int, behind: int) -> None:
    """All of a table's, until its splits are known; tables of one split are as many as may be open."""
    tables = [Table(f"t{number}", parallelism, splits) for number in range(200)]
    turns = Turns(tables)
    assert turns.open_now() == before
    while any(table.begun and not table.prepared for table in tables):
        for table in tables:
            if table.begun and not table.prepared:
                turns.prepare(table)
        turns.admit()
    assert turns.open_now() == behind


def test_a_table_of_any_size_begins() -> None:
    tables = [Table("large", WORK_MAX + 1, WORK_MAX + 1), Table("next")]
    turns = Turns(tables)
    assert turns.open_now() == 1
    turns.admission.ended("large")
    assert turns.open_now() == 2


def test_many_slots_need_more() -> None:
    """A cluster of 200 slots is not left idle by tables of four subtasks."""
    tables = [Table(f"t{number}", 4, 9) for number in range(400)]
    turns = Turns(tables)
    assert turns.open_now() == WORK_MAX // 4
    turns.admission.slots = 100
    assert turns.open_now() == WORK_MAX_PER_SLOT * 100 // 4
    turns.admission.slots = 200
    assert turns.open_now() == OPEN_MAX, "each has connections"


def test_streams_take_no_place_and_tables_wait_for_their_turn_in_order() -> None:
    tables = [Table(f"s{number}", bounded=False) for number in range(300)]
    tables += [Table("behind", behind="s0"), *(Table(f"t{number}") for number in range(100))]
    turns = Turns(tables)
    assert turns.open_now() == 300 + 64
    assert not tables[300].begun, "it finishes what another has left out, and that is at work"
    turns.admission.ended("s0")
    turns.admission.ended("t0")
    turns.admit()
    assert tables[300].begun and not tables[301 + 64].begun


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=200),
    st.randoms(use_true_random=False),
)
def test_whatever_happens_in_whatever_order_all_begin_within_the_limits(
    sizes: list[tuple[int, int]], luck: Any
) -> None:
    """Some end before their splits are known; at no turn could another have begun, or is one too many open."""
    tables = [Table(f"t{number}", *size) for number, size in enumerate(sizes)]
    turns, ended = Turns(tables), set[str]()
    while turns.admission:
        begun = sum(table.begun for table in tables)
        turns.admit()
        at_work = [table for table in tables if table.begun and table.key not in ended]
        work, newest = sum(table.work for table in at_work), at_work[-1]
        assert len(at_work) <= OPEN_MAX
        if tables.index(newest) >= begun:
            assert work - newest.work < WORK_MAX, "the last one to begin had room"
        if not tables[-1].begun:
            assert work >= WORK_MAX or len(at_work) == OPEN_MAX, "nobody waits while there is room"
        one = luck.choice(at_work)
        if one.prepared or luck.random() < 0.3:
            ended.add(one.key)
            turns.admission.ended(one.key)
        else:
            turns.prepare(one)
    assert ended == {table.key for table in tables}


def test_what_will_not_begin_still_has_to_end() -> None:
    """The job waits for it: its sinks and sources may have been named to people, and requests wait for its end."""
    turns = Turns([Table("one"), Table("two")])

    turns.admission.skip("one")
    assert turns.admission.skip_all() == ("two",) and turns.admission and not turns.admission.admit()
    turns.admission.ended("one")
    assert turns.admission
    turns.admission.ended("two")
    assert not turns.admission


def test_an_open_pipeline_waits_for_those_that_have_waited_for_it() -> None:
    """A table leaves its log, is copied again, and joins the log."""
    log, copy = Candidate("log", False, 1), Candidate("copy", True, 1, frozenset({"log"}))
    admission = Admission([log, copy])
    assert admission.admit() == ("log",)
    assert admission.admit() == ()

    admission.again(Candidate("log", False, 1, frozenset({"copy"})))
    assert admission.admit() == ("copy",)
    assert admission.admit() == () and admission
    admission.ended("copy")
    assert admission.admit() == ("log",)
    admission.ended("log")
    assert not admission
