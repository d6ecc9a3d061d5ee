"""A seed is a run: the same effects in the same order, in every process."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.simulation.choices import Choices
from tests.simulation.world import MODES, World, run

SEEDS = (0, 3, 7, 26, 59)
SHIFT_SECONDS = 40_960.0
"""A common multiple of all intervals, since pipelines share one beat; and no number is rounded by it."""
HASHES = "from tests.simulation.world import run; print([run(seed, 'unaligned').crc for seed in range(8)])"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_and_its_decisions_give_the_same_run_again(seed: int, mode: str) -> None:
    """Hash over time, pipeline and kind of every effect. The shrinker works on decisions, so they are all that a run
    depends on."""
    first, second = run(seed, mode), run(seed, mode)
    third = World(Choices(script=first.choices.script()), mode).run()

    assert (first.crc, first.effects, first.events) == (second.crc, second.effects, second.events)
    assert (first.crc, first.effects, first.events) == (third.crc, third.effects, third.events)


def test_another_process_with_another_hash_seed_sees_the_same_run() -> None:
    """No machine lets the order of a set decide anything."""
    shown = {
        subprocess.run(
            [sys.executable, "-c", HASHES],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2", "3")
    }

    assert len(shown) == 1


def test_a_trace_is_readable() -> None:
    """Time, incarnation, actor, event; and below it what the event led to, in words."""
    world = World(Choices(3), "aligned", trace=True).run()

    assert world.trace is not None
    text = "\n".join(world.trace.lines)
    assert re.search(r"J\d+ x driver \d+ +Activated", text)
    assert re.search(r"-> (Acknowledge|Persist) ", text)
    assert re.search(r"-> PipelineEnded", text)


def test_a_shifted_clock_changes_nothing() -> None:
    """I49: times in events only ever meet other times in events. Jumps are drawn at each step, and a process may wake up
    once more where times are rounded otherwise."""
    for seed in range(12):
        plain, shifted = (World(Choices(seed, {"clock jumps": []}), "aligned") for _ in range(2))
        shifted.clock.jumped = SHIFT_SECONDS
        plain.run()
        shifted.run()

        assert (plain.effects, plain.events) == (shifted.effects, shifted.events)
