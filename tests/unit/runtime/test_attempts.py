"""What follows from a failed unit, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.work.unit import FailureKind, UnitFailure

LOST, RETRIABLE, FATAL = FailureKind.LOST, FailureKind.RETRIABLE, FailureKind.FATAL
UNEXPECTED, DEADLINE = FailureKind.UNEXPECTED, FailureKind.DEADLINE


@pytest.mark.parametrize(
    ("kind", "delays"),
    [
        (LOST, [0.0, 0.0, 0.0, None]),  # says nothing about the rows: again at once
        (RETRIABLE, [0.25, 1.25, 6.25, None]),  # pauses grow
        (UNEXPECTED, [0.25, None]),  # one more chance
        (DEADLINE, [0.25, None]),
        (FATAL, [None]),  # believed
    ],
)
def test_pauses_by_kind(kind: FailureKind, delays: list[float | None]) -> None:
    """Seconds before each further attempt, until the table is given up."""
    policy = RetryPolicy(3, 8.0)

    assert [policy.delay(UnitFailure(kind, ""), attempt) for attempt in range(len(delays))] == delays


def test_no_retries_means_none() -> None:
    """job.retry.times = 0 holds for lost workers as well."""
    assert {RetryPolicy(0, 8.0).delay(UnitFailure(kind, ""), 0) for kind in FailureKind} == {None}


@given(st.sampled_from(FailureKind), st.integers(0, 2_000), st.floats(0, 1e6), st.integers(0, 10_000))
def test_every_failure_comes_to_an_end(kind: FailureKind, times: int, interval: float, attempt: int) -> None:
    """A delay is within the interval, and never given after the allowed attempts."""
    delay = RetryPolicy(times, interval).delay(UnitFailure(kind, ""), attempt)

    assert delay is None or (0 <= delay <= interval and attempt < times)


def test_what_a_server_ends_for_its_time_is_tried_in_one_life_only() -> None:
    """P3-A7: a statement_timeout was tried 16 times. A stream goes on."""
    limited = UnitFailure(FailureKind.RETRIABLE, "too long", error_type="seatunnel_py.errors.TimeLimitError")
    away = UnitFailure(FailureKind.RETRIABLE, "away", error_type="seatunnel_py.errors.RetriableError")

    assert RetryPolicy(3).delay(limited, 2) is not None and RetryPolicy(3).delay(limited, 3) is None
    assert not RetryPolicy.restarts(limited, bounded=True)
    assert RetryPolicy.restarts(limited, bounded=False) and RetryPolicy.restarts(away, bounded=True)
