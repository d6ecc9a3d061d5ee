"""P2-F10: the state of a split is warned of at a sixteenth of what is allowed."""

from __future__ import annotations

import pytest

from seatunnel_py.api import Position, Split, TablePath
from seatunnel_py.runtime.counts.state_size import large_state

ALLOWED = 2**20
PATH = TablePath.parse("t")


@pytest.mark.parametrize(
    ("payload", "position", "found"),
    [
        (0, 0, None),
        (10, 64 * 1024 - 100, None),
        (10, 64 * 1024, "the position in split s0"),
        (64 * 1024, 10, "the payload of split s0"),
        (70_000, 80_000, "the position in split s0"),
    ],
)
def test_the_larger_part_is_named(payload: int, position: int, found: str | None) -> None:
    split = Split("s0", PATH, {"text": "x" * payload} if payload else {})
    at = Position({"text": "x" * position}) if position else None

    large = large_state(split, at, ALLOWED)

    assert (large and large[0]) == found
    assert large is None or large[1] >= max(payload, position)
