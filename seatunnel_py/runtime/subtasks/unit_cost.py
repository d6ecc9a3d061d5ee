"""Estimates the duration of units; only the packing of units depends on it."""

from __future__ import annotations

from collections.abc import Sequence

from seatunnel_py.api.source import Split
from seatunnel_py.work.unit import Budget, Slice

ROWS_PER_SECOND_GUESS = 200_000  # what a chain moves on one core
UNIT_SECONDS_MIN = 0.01  # begin, commit and a round trip or two
UNIT_SECONDS_UNKNOWN = 0.2  # a split without an estimate: several to a pack, but not hundreds


def cost_of_split(split: Split, budget: Budget) -> float:
    """Seconds that the next unit of a split takes."""
    cost = UNIT_SECONDS_UNKNOWN if split.rows is None else min(split.rows, budget.rows) / ROWS_PER_SECOND_GUESS
    return max(UNIT_SECONDS_MIN, cost)


def cost_of_slices(slices: Sequence[Slice]) -> float:
    """Seconds that a unit of these slices takes."""
    return max(UNIT_SECONDS_MIN, sum(one.rows for one in slices) / ROWS_PER_SECOND_GUESS)
