"""What ``env`` says, in the words of the loop and of the protocol."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.config.env import EnvOptions, Retain
from seatunnel_py.runtime.values.settings import PROGRESS_SECONDS, Settings, settings_of
from seatunnel_py.work.unit import Budget


def settings(**env: Any) -> Settings:
    return settings_of(EnvOptions.model_validate(env), "mem:", "job-7")


def test_a_job_that_says_nothing_gets_what_the_page_of_options_says() -> None:
    found = settings()

    assert (found.retry.times, found.retry.interval_seconds) == (3, 3.0)
    assert found.budget == Budget(500_000, 5.0)
    assert (found.channel_capacity, found.fail_fast, found.per_split, found.exchange) == (16, False, False, "mem:")
    assert (found.checkpoint.interval, found.checkpoint.timeout, found.checkpoint.alignment_timeout) == (None, 60, 10)


def test_an_exchange_that_is_named_is_used() -> None:
    """Jobs that share it have a part of it each."""
    assert settings(exchange_location="file:///x/").exchange == "file:///x/job-7"


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, 5.0),
        ({"job_mode": "STREAMING"}, 0.2),
        ({"checkpoint_interval": 1000}, 0.25),
        ({"checkpoint_interval": 60_000}, 5.0),
        ({"job_mode": "STREAMING", "checkpoint_interval": 60_000}, 0.2),
        ({"job_mode": "STREAMING", "checkpoint_interval": 400}, 0.1),
        ({"checkpoint_interval": 1000, "unit_seconds": 3.0}, 3.0),
    ],
)
def test_units_are_short_where_barriers_wait_for_them(env: dict[str, Any], seconds: float) -> None:
    """At most a quarter of an interval; who names a length gets it."""
    assert settings(**env).budget.seconds == seconds


@given(st.integers(10, 10**6), st.integers(10, 10**6), st.integers(0, 10**6))
def test_milliseconds_become_seconds(interval: int, timeout: int, pause: int) -> None:
    found = settings(checkpoint_interval=interval, checkpoint_timeout=timeout, checkpoint_min_pause=pause).checkpoint

    assert (found.interval, found.timeout, found.min_pause) == (interval / 1000, timeout / 1000, pause / 1000)


@pytest.mark.parametrize(("given", "coordinator", "participants"), [(-1, None, 0.0), (0, 0.0, 0.0), (500, 0.5, 0.5)])
def test_an_alignment_may_time_out_at_once_later_or_never(
    given: int, coordinator: float | None, participants: float
) -> None:
    """0 begins unaligned, which the coordinator says; participants then time nothing."""
    found = settings(checkpoint_alignment_timeout=given)

    assert (found.checkpoint.alignment_timeout, found.alignment_timeout) == (coordinator, participants)


@given(st.integers(0, 20), st.floats(0, 1000), st.floats(0, 10_000))
def test_restarts_and_attempts_have_one_bound_and_one_longest_pause(times: int, interval: float, reset: float) -> None:
    """``job.retry.*`` is for both; no value of it is refused later by the protocol."""
    found = settings(job_retry_times=times, job_retry_interval=interval, job_retry_reset_after=reset)

    assert (found.retry.times, found.restarts.retries) == (times, times)
    assert found.restarts.longest == found.retry.interval_seconds == interval
    assert all(found.restarts.pause(used) <= interval for used in range(times))
    assert found.restarts.reset_after == reset


@pytest.mark.parametrize(
    ("interval", "bounded", "early", "found"),
    [
        (None, True, True, PROGRESS_SECONDS),
        (None, True, False, None),
        (None, False, True, PROGRESS_SECONDS),
        (None, False, False, PROGRESS_SECONDS),
        (3000, True, False, 3.0),
        (3000, False, True, 3.0),
    ],
)
def test_without_an_interval_a_bounded_job_takes_checkpoints_where_they_show_nothing(
    interval: int | None, bounded: bool, early: bool, found: float | None
) -> None:
    """An unbounded one always; an interval that is asked for is kept to."""
    assert settings(checkpoint_interval=interval).checkpoints(bounded=bounded, early=early).interval == found


@pytest.mark.parametrize("interval", [None, 3000])
def test_a_copy_that_becomes_visible_as_a_whole_takes_no_checkpoint_before_its_end(interval: int | None) -> None:
    found = settings(checkpoint_interval=interval).checkpoints(bounded=True, early=False, at_end_only=True)

    assert found.interval is None and found.at_end_only


def test_words_of_the_job_file_become_switches() -> None:
    found = settings(failure_policy="FAIL_FAST", source_consistency="per-split", channel_retain="always")

    assert (found.fail_fast, found.per_split, found.retain) == (True, True, Retain.ALWAYS)
