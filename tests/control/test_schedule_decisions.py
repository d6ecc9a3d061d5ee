"""The decision about the times of a schedule, as a pure function."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.control.schedule.decision import (
    CLOCK_SECONDS,
    ON_TIME_SECONDS,
    FireOutcome,
    Schedule,
    ScheduleDecision,
    decide_times,
    following,
)
from seatunnel_py.control.schedule.terms import Missed, Overlap, ScheduleTerms

START = 1_800_000_000.0
HOUR = 3_600.0


def hourly(**terms: object) -> Schedule:
    made = ScheduleTerms(**{"every": 3_600, **terms})  # type: ignore[arg-type]
    return Schedule("nightly", "shop", made, anchor=START, decided=START)


def outcomes(decision: ScheduleDecision) -> list[tuple[float, str]]:
    return [(fire.due - START, fire.outcome.value) for fire in decision.fires]


def test_a_time_starts_a_run_once() -> None:
    schedule = hourly()
    assert decide_times(START + HOUR - 0.5, schedule, ()).fires == ()
    decision = decide_times(START + HOUR, schedule, ())
    assert outcomes(decision) == [(HOUR, "started")]
    after = replace(schedule, decided=decision.decided)
    assert decide_times(START + HOUR + 0.5, after, ()).fires == ()
    assert following(START + HOUR + 0.5, after) == START + 2 * HOUR


@pytest.mark.parametrize(
    ("overlap", "expected"), [(Overlap.SKIP, "skipped"), (Overlap.QUEUE, "queued"), (Overlap.ALLOW, "started")]
)
def test_a_run_that_is_under_way_decides_with_the_overlap(overlap: Overlap, expected: str) -> None:
    decision = decide_times(START + HOUR, hourly(overlap=overlap), ("shop-1",))
    assert outcomes(decision) == [(HOUR, expected)]
    assert "shop-1" in decision.fires[0].why or overlap is Overlap.ALLOW


def test_one_start_is_queued_and_begins_when_the_run_before_has_ended() -> None:
    schedule = hourly(overlap=Overlap.QUEUE)
    for hour, expected in ((1, "queued"), (2, "skipped"), (3, "skipped")):
        decision = decide_times(START + hour * HOUR, schedule, ("shop-1",))
        assert outcomes(decision) == [(hour * HOUR, expected)]
        schedule = replace(schedule, decided=decision.decided, queued=decision.queued)
    ended = decide_times(START + 3.5 * HOUR, schedule, ())
    assert outcomes(ended) == [(HOUR, "started")] and ended.queued is None


def test_a_queued_start_and_a_due_time_are_two_turns() -> None:
    """At most one start at once: the second one sees the first as under way."""
    schedule = replace(hourly(overlap=Overlap.QUEUE), queued=START)
    decision = decide_times(START + HOUR, schedule, ())
    assert outcomes(decision) == [(0.0, "started")] and decision.decided == START
    after = replace(schedule, queued=None)
    assert outcomes(decide_times(START + HOUR, after, ("shop-2",))) == [(HOUR, "queued")]


@pytest.mark.parametrize(
    ("missed", "expected"),
    [(Missed.SKIP, [(HOUR, "missed")]), (Missed.ONCE, [(HOUR, "missed"), (5 * HOUR, "started")])],
)
def test_times_that_were_missed(missed: Missed, expected: list[tuple[float, str]]) -> None:
    """One fire names them all."""
    decision = decide_times(START + 5.5 * HOUR, hourly(missed=missed), ())
    assert outcomes(decision) == expected and decision.decided == START + 5 * HOUR
    assert "passed while no server could start runs" in decision.fires[0].why


def test_a_single_late_time_starts_once_or_is_missed() -> None:
    late = START + HOUR + ON_TIME_SECONDS
    assert outcomes(decide_times(late, hourly(), ())) == [(HOUR, "started")]
    assert outcomes(decide_times(late + 1, hourly(), ())) == [(HOUR, "missed")]
    assert outcomes(decide_times(late + 1, hourly(missed=Missed.ONCE), ())) == [(HOUR, "started")]


def test_no_time_is_before_the_begin_or_after_the_end() -> None:
    schedule = hourly(begins=START + 10 * HOUR, ends=START + 11 * HOUR)
    assert following(START, schedule) == START + 10 * HOUR
    assert decide_times(START + 10 * HOUR - 1, schedule, ()).fires == ()
    assert outcomes(decide_times(START + 10 * HOUR, schedule, ())) == [(10 * HOUR, "started")]
    done = replace(schedule, decided=START + 10 * HOUR)
    assert outcomes(decide_times(START + 11 * HOUR, done, ())) == [(11 * HOUR, "started")]
    done = replace(schedule, decided=START + 11 * HOUR)
    assert decide_times(START + 99 * HOUR, done, ()).fires == () and following(START + 11 * HOUR, done) is None


def test_a_paused_schedule_does_nothing() -> None:
    schedule = replace(hourly(), paused=True, queued=START)
    decision = decide_times(START + 9 * HOUR, schedule, ())
    assert (decision.fires, decision.decided, decision.queued) == ((), START, START)
    assert following(START, schedule) is None


def test_o15_a_clock_that_goes_back_repeats_no_time() -> None:
    """Hours: it waits until the clock is there again. Days: it goes on from now."""
    schedule = replace(hourly(), decided=START + 5 * HOUR)
    for back in (1, 4):
        assert decide_times(START + back * HOUR, schedule, ()).fires == ()
        assert following(START + back * HOUR, schedule) == START + 6 * HOUR
    wrong = replace(hourly(), decided=START + CLOCK_SECONDS * 400)
    decision = decide_times(START + 0.5 * HOUR, wrong, ())
    assert decision.fires == () and decision.decided == START + 0.5 * HOUR
    assert following(START + 0.5 * HOUR, wrong) == START + HOUR


steps = st.tuples(st.floats(-HOUR, 4 * HOUR) | st.floats(0, 90), st.booleans())


@given(st.sampled_from(Overlap), st.sampled_from(Missed), st.integers(10, 7_200), st.lists(steps, max_size=60))
def test_o15_u33_no_time_is_doubled_or_skipped_without_a_fire(
    overlap: Overlap, missed: Missed, every: int, moves: list[tuple[float, bool]]
) -> None:
    """While the clock jumps by an hour, the server is away, and runs end or do not."""
    schedule = hourly(every=every, overlap=overlap, missed=missed)
    now, started, running = START, [], False
    for seconds, ends in moves:
        now += seconds
        running = running and not ends
        decision = decide_times(now, schedule, ("before",) if running else ())
        starts = [fire.due for fire in decision.fires if fire.outcome is FireOutcome.STARTED]
        assert len(starts) <= 1 and (not starts or not running or overlap is Overlap.ALLOW)
        assert all(schedule.decided < fire.due <= now or fire.due == schedule.queued for fire in decision.fires)
        if decision.decided != schedule.decided:
            first, last = schedule.timing.after(schedule.decided), schedule.timing.last(schedule.decided, now)
            dues = {fire.due: fire.outcome for fire in decision.fires}
            assert decision.decided == last, "no time is left undecided"
            assert first in dues and (last in dues or dues[first] is FireOutcome.MISSED)
            if now - decision.decided <= ON_TIME_SECONDS or missed is Missed.ONCE:
                assert dues[last] is not FireOutcome.MISSED, "the newest time counts"
        started += starts
        running = running or bool(starts)
        schedule = replace(schedule, decided=decision.decided, queued=decision.queued)
    assert len(started) == len(set(started))
