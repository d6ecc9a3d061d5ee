"""Which pipelines begin: as many as keep the engine busy, whatever their sizes are, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_toys import straight

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.driver.admission import OPEN_MAX, WORK_MAX, WORK_MAX_PER_SLOT, Admission
from seatunnel_py.runtime.pipeline.runner import PipelineRunner


@dataclass(eq=False)
class Life:
    """What admission asks a pipeline: ``splits`` are dealt when ``prepare`` is called."""

    id: str
    parallelism: int = 2
    splits: int = 2
    bounded: bool = True
    behind: Any = None
    begun: bool = False
    subtasks: dict[int, Any] = field(default_factory=dict)

    @property
    def pipeline(self) -> Pipeline:
        return straight(self.id, parallelism=self.parallelism)

    def begin(self) -> None:
        assert not self.begun
        self.begun = True

    def prepare(self) -> None:
        (vertex,) = self.pipeline.vertices
        hands = [("split",) * (number < self.splits) for number in range(self.parallelism)]
        self.subtasks = {number: SimpleNamespace(vertex=vertex, splits=hand) for number, hand in enumerate(hands)}

    @property
    def work(self) -> int:
        return min(self.splits, self.parallelism) if self.subtasks else self.parallelism


def admission(lives: list[Life]) -> Admission:
    return Admission(cast(list[PipelineRunner], lives))


def open_now(admission: Admission, lives: list[Life]) -> int:
    admission.admit()
    return sum(life.begun for life in lives)


@pytest.mark.parametrize(
    ("parallelism", "splits", "before", "behind"), [(2, 4, 64, 64), (2, 1, 64, 128), (1, 9, 128, 128)]
)
def test_what_counts_is_how_many_subtasks_have_work(parallelism: int, splits: int, before: int, behind: int) -> None:
    """All of a table's, until its splits are known; tables of one split are as many as may be open."""
    lives = [Life(f"t{number}", parallelism, splits) for number in range(200)]
    turns = admission(lives)
    assert open_now(turns, lives) == before
    while any(life.begun and not life.subtasks for life in lives):
        for life in lives:
            if life.begun and not life.subtasks:
                life.prepare()
        turns.admit()
    assert open_now(turns, lives) == behind


def test_a_table_of_any_size_begins() -> None:
    lives = [Life("large", WORK_MAX + 1, WORK_MAX + 1), Life("next")]
    turns = admission(lives)
    assert open_now(turns, lives) == 1
    turns.ended("large")
    assert open_now(turns, lives) == 2


def test_many_slots_need_more() -> None:
    """A cluster of 200 slots is not left idle by tables of four subtasks."""
    lives = [Life(f"t{number}", 4, 9) for number in range(400)]
    turns = admission(lives)
    assert open_now(turns, lives) == WORK_MAX // 4
    turns.slots = 100
    assert open_now(turns, lives) == WORK_MAX_PER_SLOT * 100 // 4
    turns.slots = 200
    assert open_now(turns, lives) == OPEN_MAX, "each has connections"


def test_streams_take_no_place_and_tables_wait_for_their_turn_in_order() -> None:
    lives = [Life(f"s{number}", bounded=False) for number in range(300)]
    lives += [Life("behind", behind=lives[0]), *(Life(f"t{number}") for number in range(100))]
    turns = admission(lives)
    assert open_now(turns, lives) == 300 + 64
    assert not lives[300].begun, "it finishes what another has left out, and that is at work"
    turns.ended("s0")
    turns.ended("t0")
    turns.admit()
    assert lives[300].begun and not lives[301 + 64].begun


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=200),
    st.randoms(use_true_random=False),
)
def test_whatever_happens_in_whatever_order_all_begin_within_the_limits(
    sizes: list[tuple[int, int]], luck: Any
) -> None:
    """Some end before their splits are known; at no turn could another have begun, or is one too many open."""
    lives = [Life(f"t{number}", *size) for number, size in enumerate(sizes)]
    turns, ended = admission(lives), set[str]()
    while turns:
        begun = sum(life.begun for life in lives)
        turns.admit()
        at_work = [life for life in lives if life.begun and life.id not in ended]
        work, newest = sum(life.work for life in at_work), at_work[-1]
        assert len(at_work) <= OPEN_MAX
        if lives.index(newest) >= begun:
            assert work - newest.work < WORK_MAX, "the last one to begin had room"
        if not lives[-1].begun:
            assert work >= WORK_MAX or len(at_work) == OPEN_MAX, "nobody waits while there is room"
        one = luck.choice(at_work)
        if one.subtasks or luck.random() < 0.3:
            ended.add(one.id)
            turns.ended(one.id)
        else:
            one.prepare()
    assert ended == {life.id for life in lives}
