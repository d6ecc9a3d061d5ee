"""How many rows may be bad."""

from __future__ import annotations

import pytest

from seatunnel_py.work.bad_rows.limits import RATIO_ROWS_MIN, ErrorLimits


@pytest.mark.parametrize(
    ("max_rows", "max_ratio", "rows", "most", "at_the_end"),
    [
        (0, 0.0, 1_000_000, 0, 0),
        (7, 0.0, 3, 7, 7),
        (0, 0.01, 1_000_000, 10_000, 10_000),
        (0, 0.01, 200, RATIO_ROWS_MIN // 100, 2),
        (50, 0.01, 1_000_000, 50, 50),
        (50, 0.01, 200, 50, 2),
    ],
)
def test_limits(max_rows: int, max_ratio: float, rows: int, most: int, at_the_end: int) -> None:
    """Nothing set allows nothing, one that is set holds alone, two hold both; a share is not judged too early."""
    limits = ErrorLimits("", max_rows, max_ratio)

    assert limits.any_allowed == (max_rows > 0 or max_ratio > 0)
    assert limits.most(rows) == most
    assert limits.most(rows, ended=True) == at_the_end


def test_a_message_names_the_limits_that_are_set() -> None:
    """By the names that stand in a job file."""
    assert str(ErrorLimits("", 5)) == "error.max-rows = 5"
    assert str(ErrorLimits("", 5, 0.25)) == "error.max-rows = 5 and error.max-ratio = 0.25"
    assert str(ErrorLimits("")) == "error.max-rows = 0"
