"""Some seeds of the long campaign (`make simulate`), in each mode: no violation, every run ends, and much happens."""

from __future__ import annotations

import os

import pytest

from tests.simulation.machine.expected import RARE
from tests.simulation.runner import Campaign, campaign
from tests.simulation.world import MODES

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "100"))


@pytest.fixture(scope="module")
def found() -> dict[str, Campaign]:
    return campaign(MODES, 0, SEEDS, jobs=2)


@pytest.mark.parametrize("mode", MODES)
def test_no_rule_is_violated(found: dict[str, Campaign], mode: str) -> None:
    """A failure names the seed; `python -m tests.simulation --seed N --mode M --trace` shows it again."""
    assert found[mode].failures == []


@pytest.mark.parametrize("mode", MODES)
def test_the_runs_are_large_enough_to_mean_something(found: dict[str, Campaign], mode: str) -> None:
    """Averages per run: vertices, drivers, batches, records, faults, effects, checked letters."""
    one = found[mode]

    assert one.vertices / one.runs >= 4
    assert one.drivers / one.runs >= 2
    assert one.counters["a batch was sent"] / one.runs >= 20
    assert one.checkpoints / one.runs >= 4
    assert sum(one.struck.values()) / one.runs >= 4
    assert one.effects / one.runs >= 200
    assert one.events / one.runs >= 250


def test_what_is_to_be_tested_has_happened(found: dict[str, Campaign]) -> None:
    """Every effect, phase change, shown state, wish, fault and rare situation: what never happens is not tested."""
    total = Campaign()
    for one in found.values():
        total.add(one)

    assert [name for name in total.never if name not in RARE] == []
