"""A long run with a violation becomes a short one with the same: delta debugging over the decisions of the run.

Decisions are zeroed (zero is always the simplest choice) and cut out, in chunks that become smaller. What is kept must
violate the same invariant, after no more events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.simulation.choices import STREAMS, Choices, Script
from tests.simulation.violation import JobViolationError
from tests.simulation.world import World

TRIES_MAX = 2000
SIMPLE_SEEDS = 150


@dataclass(frozen=True)
class Failing:
    """A run that fails: its decisions, what is violated, after how many events."""

    script: Script
    checker: str
    events: int
    text: str

    @property
    def size(self) -> tuple[int, int, int]:
        """Fewer events are better, then fewer decisions, then simpler ones."""
        return (
            self.events,
            sum(len(values) for values in self.script.values()),
            sum(value != 0.0 for values in self.script.values() for value in values),
        )


def attempt(script: Script, mode: str, limit: int = 0, seed: int | None = None) -> Failing | None:
    """The failure of these decisions; None if there is none within the limit of events."""
    return _failing(Choices(seed, script), mode, limit)


def _failing(choices: Choices, mode: str, limit: int = 0) -> Failing | None:
    world = World(choices, mode)
    world.limit = limit
    try:
        world.run()
    except JobViolationError as violation:
        return Failing(trimmed(choices.script()), violation.rule, world.events, violation.text)
    except Exception as error:  # noqa: BLE001 - what a machine raises is a failure like any other
        return Failing(trimmed(choices.script()), type(error).__name__, world.events, str(error))
    return None


def trimmed(script: Script) -> Script:
    """Zeroes at the end say nothing: a script that has run out goes on with them."""
    short = {}
    for name, values in script.items():
        end = len(values)
        while end and values[end - 1] == 0.0:
            end -= 1
        short[name] = values[:end]
    return short


def shrink(failing: Failing, mode: str, tries_max: int = TRIES_MAX) -> Failing:
    """The smallest run found with a violation of the same invariant."""
    failing = simplest(failing, mode)
    tries = 0
    improved = True
    while improved:
        improved = False
        for name in sorted(failing.script, key=lambda name: (name not in STREAMS[:6], -len(failing.script[name]))):
            for change in changes(lambda: failing.script[name]):  # noqa: B023 - asked anew after each success
                tries += 1
                if tries > tries_max:
                    return failing
                found = attempt({**failing.script, name: change}, mode, failing.events)
                if found is not None and found.checker == failing.checker and found.size < failing.size:
                    failing = found
                    improved = True
    return failing


def simplest(failing: Failing, mode: str) -> Failing:
    """Often the same goes wrong in the simplest pipelines as well, only not at the same place: look there first."""
    for simple in (("shape", "vertices", "settings", "wishes"), ("shape", "wishes"), ("vertices", "settings")):
        for seed in range(SIMPLE_SEEDS):
            found = attempt(dict.fromkeys(simple, ()), mode, failing.events, seed)  # type: ignore[arg-type]
            if found is not None and found.checker == failing.checker and found.size < failing.size:
                failing = found
    return failing


def changes(now: Callable[[], list[float]]) -> Iterator[list[float]]:
    """Simpler versions of a stream, coarse ones first."""
    yield []
    size = max(1, len(now()) // 2)
    while True:
        at = 0
        while at < len(now()):
            values = now()
            yield values[:at] + values[at + size :]
            values = now()
            if any(values[at : at + size]):
                yield values[:at] + [0.0] * len(values[at : at + size]) + values[at + size :]
            at += size
        if size == 1:
            yield from lowered(now)
            return
        size = max(1, size // 2) if len(now()) // size < 64 else max(size // 2, len(now()) // 96, 1)
        if len(now()) > 400 and size == 1:
            return


def lowered(now: Callable[[], list[float]]) -> Iterator[list[float]]:
    """Each decision of a short stream halved."""
    if len(now()) <= 40:
        for at in range(len(now())):
            values = now()
            if at < len(values) and values[at] > 0.01:
                yield [*values[:at], values[at] / 2, *values[at + 1 :]]


def failing_run(seed: int, mode: str) -> Failing | None:
    """What goes wrong with a seed."""
    return _failing(Choices(seed), mode)


def show(seed: int, mode: str) -> int:
    """Shrink a seed and print the trace of what is left."""
    failing = failing_run(seed, mode)
    if failing is None:
        print(f"seed {seed}, {mode}: nothing to shrink")
        return 0
    small = shrink(failing, mode)
    world = World(Choices(script=small.script), mode, trace=True)
    try:
        world.run()
    except (JobViolationError, Exception) as error:  # noqa: BLE001 - it is what the trace leads to
        assert world.trace is not None
        print("\n".join([*world.about(), *world.trace.lines]))
        print(error)
    print(f"{failing.checker}: from {failing.events} to {small.events} events")
    return 1
