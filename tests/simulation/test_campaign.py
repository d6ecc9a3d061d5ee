"""Some seeds of the long campaign (`make simulate`), in each mode: no violation, every run ends, and much happens."""

from __future__ import annotations

import os

import pytest

from tests.simulation.runner import MODES, SOMETIMES, Tally, campaign

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "200"))


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    return campaign(MODES, 0, SEEDS, jobs=2)


@pytest.mark.parametrize("mode", MODES)
def test_no_invariant_is_violated(tallies: dict[str, Tally], mode: str) -> None:
    """Every seed ends well. A failure names the seed; `python -m tests.simulation --seed N --mode M --trace` shows it."""
    assert tallies[mode].failures == []


@pytest.mark.parametrize("mode", MODES)
def test_the_runs_are_large_enough_to_mean_something(tallies: dict[str, Tally], mode: str) -> None:
    """Averages per run: vertices, batches, completed checkpoints, faults, checked events."""
    tally = tallies[mode]

    assert tally.vertices / tally.runs >= 5
    assert tally.batches / tally.runs >= 24
    assert tally.checkpoints / tally.runs >= 3
    assert tally.faults / tally.runs >= 2
    assert tally.events / tally.runs >= 300


def test_what_is_rare_has_happened(tallies: dict[str, Tally]) -> None:
    """Counters of rare situations and of faults are above zero: what never happens is not tested."""
    total = Tally()
    for tally in tallies.values():
        total.add(tally)

    assert total.never() == []
    assert set(SOMETIMES) <= set(total.counters)
