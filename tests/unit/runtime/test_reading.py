"""Splits and positions: who reads what, in which order, and how far it has come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import Position, Split, TablePath
from seatunnel_py.runtime.values.split_progress import (
    ReadRange,
    SplitProgress,
    SplitRound,
    assign_splits,
    reading_of,
    splits_of,
    splits_plain,
    took_of,
)

X = TablePath.parse("db.schema.x")
STEP = 10


def splits_like(sizes: Sequence[int | None]) -> list[Split]:
    return [Split(f"s{number}", X, rows=rows) for number, rows in enumerate(sizes)]


sizes = st.lists(st.none() | st.integers(0, 1000), max_size=20)
names = st.text(max_size=8)
positions = st.builds(Position, st.dictionaries(names, st.integers() | st.text() | st.none()), names, st.integers(1, 9))


@given(sizes, st.integers(1, 6))
def test_every_split_is_dealt_to_exactly_one_subtask(rows: list[int | None], hands: int) -> None:
    """Each hand in the source's order, and the same again for the same splits: every driver comes to the same deal."""
    splits = splits_like(rows)
    dealt = assign_splits([SplitRound(tuple(splits))], hands)

    assert len(dealt) == hands
    assert sorted((split for hand in dealt for split in hand), key=splits.index) == splits
    assert all(list(hand) == sorted(hand, key=splits.index) for hand in dealt)
    assert assign_splits([SplitRound(tuple(splits))], hands) == dealt


@given(st.lists(sizes, max_size=4), st.integers(1, 6))
def test_what_is_found_later_changes_nothing_of_what_was_dealt(found: list[list[int | None]], hands: int) -> None:
    """I41: whoever has begun a split goes on with it, and the new ones come behind."""
    rounds = [
        SplitRound(tuple(replace(split, id=f"{number}-{split.id}") for split in splits_like(rows)))
        for number, rows in enumerate(found)
    ]
    for known in range(len(rounds) + 1):
        before, after = assign_splits(rounds[:known], hands), assign_splits(rounds, hands)
        assert all(then == now[: len(then)] for then, now in zip(before, after, strict=True))

    assert sorted(split.id for hand in assign_splits(rounds, hands) for split in hand) == sorted(
        split.id for each in rounds for split in each.splits
    )


@given(st.lists(sizes, max_size=4), st.integers(1, 6))
def test_nobody_has_more_than_the_others_by_more_than_one_split(found: list[list[int | None]], hands: int) -> None:
    """The largest first, each to whoever has least: so much is certain whatever the sizes."""
    rounds = [SplitRound(tuple(splits_like(rows))) for rows in found]
    known = [1 if rows is None else rows for each in found for rows in each]
    loads = [sum(1 if split.rows is None else split.rows for split in hand) for hand in assign_splits(rounds, hands)]

    assert max(loads) - min(loads) <= max(known, default=0)


def test_equal_splits_are_spread_evenly() -> None:
    """Also where nobody knows how large they are, and where they were found one by one."""
    for rows in (None, 0):
        together = [SplitRound(tuple(splits_like([rows] * 12)))]
        one_by_one = [SplitRound((split,)) for split in splits_like([rows] * 12)]
        assert (
            [len(hand) for hand in assign_splits(together, 4)]
            == [len(hand) for hand in assign_splits(one_by_one, 4)]
            == [3, 3, 3, 3]
        )


def read_out(splits: Sequence[Split], *, bounded: bool, steps: int = 10_000) -> list[tuple[str, int]]:
    """What is read, unit by unit, by a subtask that is restarted from plain data after each: split and start."""
    seen: list[tuple[str, int]] = []
    reading = SplitProgress()
    while len(seen) < steps and (split := reading.next(splits, bounded=bounded)) is not None:
        start = reading.at.get(split.id)
        row = 0 if start is None else int(str(start.value["n"]))
        seen.append((split.id, row))
        done = row + STEP >= (split.rows or 0)
        end = None if done else Position({"n": row + STEP})
        reading = reading_of(json.loads(json.dumps(reading.after(split, end, done=done, bounded=bounded).to_plain())))
    return seen


@given(st.lists(st.integers(0, 60), max_size=6))
def test_a_bounded_subtask_reads_its_splits_one_after_the_other(rows: list[int]) -> None:
    """Every row of every split once and in order, whenever it is restarted."""
    splits = splits_like(rows)

    assert read_out(splits, bounded=True) == [
        (split.id, at) for split in splits for at in range(0, max(split.rows or 0, 1), STEP)
    ]


@given(st.lists(st.integers(0, 60), max_size=6))
def test_an_unbounded_subtask_takes_turns_and_reads_everything(rows: list[int]) -> None:
    """Of each split every row once and in order; an ended one is not looked at again."""
    splits = splits_like(rows)
    seen = read_out(splits, bounded=False)

    for split in splits:
        assert [at for name, at in seen if name == split.id] == list(range(0, max(split.rows or 0, 1), STEP))
    assert len(seen) == sum(len(range(0, max(each, 1), STEP)) for each in rows)


@given(st.integers(1, 5), st.integers(1, 20))
def test_no_unbounded_split_waits_for_longer_than_a_round(count: int, rounds: int) -> None:
    """An idle or endless split must not keep the others from being read."""
    splits = splits_like([10**9] * count)
    seen = [name for name, _ in read_out(splits, bounded=False, steps=count * rounds)]

    assert all(
        set(seen[begin : begin + count]) == {split.id for split in splits} for begin in range(0, len(seen), count)
    )


def test_a_split_that_gave_nothing_is_read_from_its_beginning_again() -> None:
    """A first look at an idle split says no position."""
    (split,) = splits_like([None])
    looked = SplitProgress().after(split, None, done=False, bounded=False)

    assert looked.next([split], bounded=False) == split
    assert looked.at == {}


@given(
    st.builds(
        SplitProgress,
        st.integers(0, 99),
        st.lists(names).map(tuple),
        st.dictionaries(names, positions),
        st.integers(0, 99),
    )
)
def test_how_far_it_has_come_survives_json(reading: SplitProgress) -> None:
    """Positions keep their generation and version: a reader decides by them whether they are worth anything."""
    assert reading_of(json.loads(json.dumps(reading.to_plain()))) == reading


def test_a_subtask_without_a_state_is_at_its_beginning() -> None:
    assert reading_of(None) == SplitProgress()


@given(
    st.builds(ReadRange, st.none() | names, st.none() | positions, st.none() | positions, st.booleans(), st.integers())
)
def test_what_a_unit_took_survives_json(taken: ReadRange) -> None:
    assert took_of(json.loads(json.dumps(taken.to_plain()))) == taken


@given(
    st.lists(
        st.builds(
            Split,
            names,
            st.builds(TablePath, names, names, names),
            st.dictionaries(names, st.integers() | st.text() | st.lists(st.integers())),
            st.none() | st.integers(0),
            st.none() | st.integers(0),
            st.integers(1, 9),
            names,
        )
    )
)
def test_splits_survive_json(splits: list[Split]) -> None:
    """They are decided once and kept with checkpoint 0."""
    assert splits_of(json.loads(json.dumps(splits_plain(splits)))) == tuple(splits)
