"""How much of a log is kept for tables that wait for a decision."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import Position, SchemaPolicy, Split, TablePath
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.targets.kept_log import kept_log
from tests.unit.plan.test_held_changes import held

ALLOWED = 100


class Source:
    """As much of a log as the decision asks for."""

    schema_policy = SchemaPolicy(log_bytes_max=ALLOWED)

    def log_bytes(self, split: Split, earlier: Position, later: Position) -> int:
        return later.int("end") - earlier.int("end")


def waits_at(end: int) -> HeldChange:
    return held(f"t{end}", Position({"end": end}))


def decided(durable: int, *places: int) -> tuple[int, list[int]]:
    source: Any = Source()
    found = kept_log(
        source, Split("log", TablePath("", "public", "t")), Position({"end": durable}), map(waits_at, places)
    )
    return found.confirmed.int("end"), [one.position.int("end") for one, _ in found.released]


def test_the_log_is_kept_from_the_oldest_place_on() -> None:
    assert decided(90) == (90, [])
    assert decided(90, 40, 70) == (40, [])


def test_a_place_that_is_too_far_behind_is_given_up_and_the_others_are_kept() -> None:
    assert decided(150, 40, 70) == (70, [40])
    assert decided(500, 40, 70) == (500, [40, 70])


def test_a_log_that_has_gone_back_is_confirmed_to_its_own_place_only() -> None:
    """F-C1: nothing is confirmed past the checkpoint that a restore begins at, such as the place of a later table."""
    assert decided(50, 70) == (50, [])


@given(st.integers(0, 300), st.lists(st.integers(0, 300), max_size=4, unique=True))
def test_each_place_is_kept_or_reported(durable: int, places: list[int]) -> None:
    confirmed, released = decided(durable, *places)
    assert confirmed <= durable
    for place in places:
        assert (place in released) == (durable - place > ALLOWED)
        assert place in released or confirmed <= place
