"""What the soak is judged by; the soak itself is `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.soak.leftovers import of_the_dead
from e2e.soak.memory import Sample, growth
from e2e.soak.report import Outcome, verdicts
from e2e.soak.victims import DRIVER_SHARE, Victim, kills


def outcome(*, slope: float = 0.0, exits: tuple[int, ...] = (143, 143), wrong: tuple[str, ...] = ()) -> Outcome:
    memory = tuple(Sample(at, 7, 100.0, 300.0 + slope * at) for at in range(100))
    return Outcome((), exits, 1, wrong, (), memory, 100.0)


def test_a_seed_says_who_dies_when() -> None:
    """And the second half has one driver only, whose memory can be looked at."""
    once, again = list(kills(7, 1800, 20)), list(kills(7, 1800, 20))

    assert once == again != list(kills(8, 1800, 20))
    assert {kill.victim for kill in once} == set(Victim)
    assert max(kill.at for kill in once if kill.victim is Victim.DRIVER) <= DRIVER_SHARE * 1800


def test_growth_is_that_of_the_line_through_all_samples() -> None:
    """One high sample at the end is none."""
    flat = [(float(at), 100.0 + at % 2) for at in range(100)]

    assert growth([(10.0, 100.0), (20.0, 110.0)]).share == pytest.approx(0.1)
    assert growth([*flat, (100.0, 130.0)]).share < 0.03


@pytest.mark.parametrize(
    ("seen", "broken"),
    [
        (outcome(), None),
        (outcome(slope=1.0), 2),
        (outcome(wrong=("1 rows lost",)), 0),
        (outcome(exits=(1, 143, 143)), 1),
        (outcome(exits=(143, 1)), 1),
    ],
)
def test_each_part_of_the_bar_can_be_missed(seen: Outcome, broken: int | None) -> None:
    assert [met for _, met, _ in verdicts(seen)] == [number != broken for number in range(4)]
    assert seen.reached is (broken is None)


def test_what_dead_drivers_left_in_the_store_is_seen(tmp_path: Path) -> None:
    """A driver that has gone on from a record keeps that one; a journal is its own."""
    for name in ("incarnations/00000003", "records/00000002-00000009", "journal/00000003-00000001"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(of_the_dead(tmp_path)) == []

    for name in ("records/00000001-00000001", "journal/00000002-00000001"):
        (tmp_path / name).touch()
    assert len(list(of_the_dead(tmp_path))) == 2
