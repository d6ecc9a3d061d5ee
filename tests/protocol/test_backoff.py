"""Bounded retries: how many, after which pauses, and what makes them start anew."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.model.backoff import Backoff, Retries

THREE = Backoff(retries=3, first=1.0, factor=2.0, longest=3.0, reset_after=100.0)


def fail(backoff: Backoff, times: list[float]) -> list[float | None]:
    """The pauses after failures at these times."""
    state, pauses = Retries(), []
    for at in times:
        state, pause = backoff.next(state, at)
        pauses.append(pause)
    return pauses


def test_pauses_grow_up_to_the_longest_and_then_there_are_no_more() -> None:
    """B1, B2, F3: 1, 2, and 3 instead of 4; the fourth failure has used them up, and so has each one after it."""
    assert fail(THREE, [0, 1, 3, 6, 7]) == [1.0, 2.0, 3.0, None, None]


def test_without_retries_the_first_failure_is_the_last() -> None:
    """B1."""
    assert fail(Backoff(retries=0), [0]) == [None]


@pytest.mark.parametrize(
    ("later", "pause"),
    [
        (2.0, 2.0),
        (101.0, 2.0),  # 101 s after the failure, but only 99.9 s after the pause of 1 s that ended at 1.1
        (101.1, 1.0),
        (1e9, 1.0),
    ],
)
def test_a_stable_period_is_counted_from_the_end_of_the_pause(later: float, pause: float) -> None:
    """B3: job.retry.reset-after."""
    state, _ = THREE.next(Retries(), 0.1)

    assert state == Retries(1, 1.1)
    assert THREE.next(state, later)[1] == pause


def test_a_stable_period_gives_all_retries_back() -> None:
    """B3: also after they were used up, and more than once."""
    assert fail(THREE, [0, 1, 3, 6, 106, 108]) == [1.0, 2.0, 3.0, None, 1.0, 2.0]
    assert fail(THREE, [0, 200, 400, 600, 800]) == [1.0] * 5


def test_a_refused_retry_does_not_lengthen_the_stable_period() -> None:
    """B3: nothing was tried, so that nothing is due."""
    state = Retries(3, 50.0)
    assert THREE.next(state, 60.0) == (state, None)


def test_a_first_failure_is_never_after_a_stable_period() -> None:
    """B3: nothing is forgotten where nothing was."""
    assert THREE.next(Retries(), 1e6) == (Retries(1, 1e6 + 1), 1.0)


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 1.0), (0.25, 0.75), (1.0, 0.0)])
def test_jitter_shortens(jitter: float, pause: float) -> None:
    """B4."""
    assert THREE.next(Retries(), 10.0, jitter) == (Retries(1, 10.0 + pause), pause)


@pytest.mark.parametrize("jitter", [-0.1, 1.1, math.nan])
def test_jitter_is_a_fraction(jitter: float) -> None:
    """B4."""
    with pytest.raises(ValueError, match="is not a fraction"):
        THREE.next(Retries(), 0.0, jitter)


@pytest.mark.parametrize(
    "wrong",
    [
        {"retries": -1},
        {"first": -1.0},
        {"first": 2.0, "longest": 1.0},
        {"factor": 0.5},
        {"reset_after": -1.0},
    ],
)
def test_what_would_have_no_bound_is_refused(wrong: dict[str, Any]) -> None:
    """B1, B2."""
    with pytest.raises(ValueError, match="no backoff"):
        replace(Backoff(), **wrong)


def test_a_pause_of_nothing_and_one_that_never_grows() -> None:
    assert fail(Backoff(2, 0.0, 2.0, 0.0), [0, 0, 0]) == [0.0, 0.0, None]
    assert fail(Backoff(3, 5.0, 1.0, 60.0), [0, 5, 10]) == [5.0, 5.0, 5.0]


def test_many_retries_overflow_nothing() -> None:
    """B2: the ten-thousandth pause is the longest one, not an infinite one."""
    assert Backoff(retries=10_000).pause(9_999) == 60.0
    assert Backoff(first=0.0).pause(9_999) == 0.0


@pytest.mark.parametrize(("at", "used"), [(-1e9, 2), (5.0, 2), (1e9, 1)])
def test_a_clock_that_jumps_lengthens_no_pause(at: float, used: int) -> None:
    """B5, I49, F27: it was set back below the last due time, or far beyond it."""
    (state, pause), expected = THREE.next(Retries(1, 50.0), at), THREE.pause(used - 1)
    assert (state, pause) == (Retries(used, at + expected), expected)


@given(
    st.integers(0, 6),
    st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0, 1)), max_size=30),
)
def test_whatever_the_clock_says_pauses_are_bounded_and_runs_of_retries_too(
    retries: int, failures: list[tuple[float, float]]
) -> None:
    """B1, B2, B4, B5, I49, F27: between two stable periods there are at most ``retries`` pauses, each within bounds."""
    backoff = Backoff(retries, 1.0, 3.0, 20.0, 600.0)
    state, run = Retries(), 0
    for at, jitter in failures:
        stable = state.used > 0 and at - state.due >= 600.0
        state, pause = backoff.next(state, at, jitter)
        run = (0 if stable else run) + (pause is not None)

        assert run == state.used <= retries
        assert pause is None or 0 <= pause <= 20.0
        assert pause is None or pause <= backoff.pause(state.used - 1)


@given(st.integers(0, 50))
def test_no_pause_is_shorter_than_the_one_before(used: int) -> None:
    """B2."""
    assert Backoff().pause(used) <= Backoff().pause(used + 1) <= 60.0
