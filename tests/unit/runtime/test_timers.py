"""Timers: what is due comes in order, and what was forgotten or replaced never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.runtime.driver.timers import Timers
from seatunnel_py.runtime.state.beat import _ON_IT, on_beat


class Told(Timers):
    """Timers that each say a word."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def say(self, key: str, at: float, word: str) -> None:
        self.after((key,), at, lambda: self.words.append(word))

    def told(self, now: float) -> list[str]:
        self.words.clear()
        for call in self.due(now):
            call()
        return list(self.words)


def test_what_is_due_comes_in_order() -> None:
    timers = Told()
    timers.say("b", 2.0, "second")
    timers.say("a", 1.0, "first")
    timers.say("c", 3.0, "third")

    assert timers.pause(0.5) == 0.5
    assert timers.told(2.0) == ["first", "second"]
    assert timers.pause(5.0) == 0.0 and timers.told(5.0) == ["third"]
    assert timers.pause(5.0) is None


def test_one_key_is_one_timer() -> None:
    timers = Told()
    timers.say("a", 1.0, "early")
    timers.say("a", 2.0, "late")

    assert timers.told(3.0) == ["late"]


def test_what_is_forgotten_never_comes() -> None:
    timers = Told()
    timers.say("a", 1.0, "a")
    timers.say("b", 1.0, "b")
    timers.forget(("a",))
    timers.forget(("nobody",))

    assert timers.told(1.0) == ["b"]


intervals = st.floats(0.01, 3600)
moments = st.floats(0, 1e8)  # seconds since the machine has started


@given(moments, intervals)
def test_a_beat_is_the_next_one_never_before_and_less_than_an_interval_away(at: float, interval: float) -> None:
    beat = on_beat(at, interval)

    assert 0 <= beat - at < interval
    assert beat / interval == pytest.approx(round(beat / interval), abs=1e-3)


@given(moments, intervals, st.integers(1, 50))
def test_who_asks_at_every_interval_misses_no_beat_and_has_none_twice(at: float, interval: float, times: int) -> None:
    """However sums of floats are rounded. Who is just as little behind a beat as counts for being on it may be rounded
    either way, and is one off at most."""
    beats = [round(on_beat(at + n * interval, interval) / interval) for n in range(times + 1)]

    off = max(abs(beat - beats[0] - n) for n, beat in enumerate(beats))
    assert off <= (abs(at / interval % 1 - _ON_IT) < _ON_IT / 10)


@given(moments, intervals, st.floats(0, 1))
def test_two_that_are_due_in_one_interval_are_due_together_or_one_after_the_other(
    at: float, interval: float, apart: float
) -> None:
    assert round((on_beat(at + apart * interval, interval) - on_beat(at, interval)) / interval) in (0, 1)
