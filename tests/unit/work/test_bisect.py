"""Bad rows are found by trying: exactly they, in order, with a bounded number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.work.bad_rows.bisect import Fault, TooManyFaultsError, conflicts, faults

ANY_NUMBER = 10**9


class Target:
    """Refuses rows that are bad, and a row whose key came before; counts how often it was asked."""

    def __init__(
        self,
        bad: frozenset[int] = frozenset(),
        keys: Sequence[int] = (),
        *,
        names_row: bool = False,
        names_all: int = 0,
    ) -> None:
        self.bad = bad
        self.keys = keys
        self.names_row = names_row or bool(names_all)
        self.names_all = names_all
        self.trials = 0

    def __call__(self, rows: Sequence[int]) -> Fault | None:
        """A target that names all bad rows does so block by block: it does not look at the blocks behind."""
        self.trials += 1
        seen: set[int] = set()
        refused: list[tuple[int, str]] = []
        for at, row in enumerate(rows):
            if refused and (not self.names_all or at % self.names_all == 0):
                break
            if row in self.bad:
                refused.append((at, f"{row} is bad"))
            elif self.keys and self.keys[row] in seen:
                refused.append((at, f"{row} is there"))
            elif self.keys:
                seen.add(self.keys[row])
        if not refused:
            return None
        (at, words), *others = refused
        return Fault("sink", words, at if self.names_row else None, tuple(others))


@given(st.integers(0, 3000).flatmap(lambda n: st.tuples(st.just(n), st.frozensets(st.integers(0, max(0, n - 1))))))
def test_exactly_the_bad_rows_are_found(case: tuple[int, frozenset[int]]) -> None:
    """Each with its own reason, in order, for a price that grows with the bad rows and not with the good ones."""
    rows, bad = case
    target = Target(bad)

    found = faults(rows, target, ANY_NUMBER)

    wanted = sorted(bad & set(range(rows)))
    assert list(found.items()) == [(row, Fault("sink", f"{row} is bad")) for row in wanted]
    many = len(wanted)
    bound = 2 * many * (log2(rows / many) + 2) + 1 if many else 1
    assert target.trials <= bound


@given(st.integers(1, 3000), st.frozensets(st.integers(0, 2999)))
def test_a_refusal_that_names_its_row_saves_the_search(rows: int, bad: frozenset[int]) -> None:
    """A trial for each bad row, and one for what comes behind the last."""
    target = Target(bad, names_row=True)

    found = faults(rows, target, ANY_NUMBER)

    assert list(found) == sorted(row for row in bad if row < rows)
    assert target.trials <= len(found) + 1


@given(st.integers(1, 3000), st.frozensets(st.integers(0, 2999)), st.integers(1, 1000))
def test_a_refusal_that_names_all_its_rows_costs_one_trial(rows: int, bad: frozenset[int], block: int) -> None:
    """One where the target looks at all of them; never more than where it names one row at a time."""
    target = Target(bad, names_all=block)

    found = faults(rows, target, ANY_NUMBER)

    wanted = sorted(row for row in bad if row < rows)
    assert list(found.items()) == [(row, Fault("sink", f"{row} is bad")) for row in wanted]
    assert target.trials <= (min(len(wanted), 1) if block >= rows else len(wanted)) + 1


def test_thousands_of_rows_whose_keys_are_there_cost_a_few_trials() -> None:
    """A topic that holds every row twice, into a table with a key."""
    target = Target(keys=[*range(10_000), *range(10_000)], names_all=20_000)

    assert list(conflicts(range(20_000), target, ANY_NUMBER)) == [*range(10_000, 20_000)]
    assert target.trials == 2


@given(st.lists(st.integers(0, 20), max_size=60), st.booleans(), st.integers(0, 30))
def test_of_rows_that_exclude_one_another_the_first_stays(keys: list[int], names_row: bool, names_all: int) -> None:
    """What is left passes together, and no row went that was the first of its key."""
    target = Target(keys=keys, names_row=names_row, names_all=names_all)

    found = conflicts(range(len(keys)), target, ANY_NUMBER)

    assert sorted(found) == [row for row, key in enumerate(keys) if key in keys[:row]]
    assert target([row for row in range(len(keys)) if row not in found]) is None


@given(st.lists(st.integers(0, 30), max_size=60), st.frozensets(st.integers(0, 59)), st.booleans(), st.integers(0, 30))
def test_both_searches_together_leave_what_passes(
    keys: list[int], bad: frozenset[int], names_row: bool, names_all: int
) -> None:
    """Bad rows of both kinds: a second row of a key is bad, unless the first one was."""
    target = Target(bad, keys, names_row=names_row, names_all=names_all)

    found = faults(len(keys), target, ANY_NUMBER)
    found |= conflicts([row for row in range(len(keys)) if row not in found], target, ANY_NUMBER)

    first: dict[int, int] = {}
    for row, key in enumerate(keys):
        if row not in bad:
            first.setdefault(key, row)
    assert sorted(set(range(len(keys))) - set(found)) == sorted(first.values())


def test_neighbours_that_exclude_one_another_cost_little() -> None:
    """Where they stand side by side only they are tried again, not all that came before."""
    keys = [row - row % 1000 if row % 1000 < 2 else row for row in range(10_000)]
    target = Target(keys=keys)

    assert list(faults(len(keys), target, ANY_NUMBER)) == [row for row in range(10_000) if row % 1000 == 1]
    assert target.trials < 300


@given(st.integers(1, 500), st.integers(0, 20))
def test_the_search_ends_when_too_many_rows_are_bad(rows: int, most: int) -> None:
    """A table in which everything is wrong is given up after a few trials; the first rows are named."""
    target = Target(frozenset(range(rows)))
    if most >= rows:
        assert len(faults(rows, target, most)) == rows
        return

    with pytest.raises(TooManyFaultsError) as many:
        faults(rows, target, most)

    assert list(many.value.found) == list(range(most + 1))
    assert target.trials <= 2 * (most + 1) + log2(rows) + 1
