"""Many seeds of the simulated job, with counters; or one."""

from __future__ import annotations

import argparse
import multiprocessing
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import get_args

from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.observe.receipt import TableState
from tests.job_simulation.expected import PHASES
from tests.job_simulation.faults import CHANCES
from tests.job_simulation.violation import JobViolationError
from tests.job_simulation.wishes import WISHES
from tests.job_simulation.world import World

SOMETIMES = (
    *(one.__name__ for one in get_args(effects.Effect)),
    *(one.__name__ for one in get_args(events.PipelineEvent)),
    *(f"{before} -> {after}" for (before, _), after in PHASES.items()),
    *(f"shown: {state.value}" for state in TableState if state is not TableState.PENDING),
    *(f"closed: {kind.name}" for kind in effects.CloseKind),
    *WISHES,
    "a driver died",
    "a driver could not start",
    "an overtaken driver ended",
    "a final commit",
)
"""Each must happen in a long campaign; those of ``expected.RARE`` need not in a short one."""
SLICE = 25
FAILURES_SHOWN = 10


@dataclass
class Campaign:
    """What many runs have seen."""

    runs: int = 0
    effects: int = 0
    drivers: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Campaign) -> None:
        self.runs += other.runs
        self.effects += other.effects
        self.drivers += other.drivers
        self.counters.update(other.counters)
        self.struck.update(other.struck)
        self.failures += other.failures

    @property
    def never(self) -> list[str]:
        """Faults that have never struck, and what has never happened."""
        faults = [name for name in CHANCES if not self.struck[name]]
        return faults + [name for name in SOMETIMES if not self.counters[name]]


def run_slice(seeds: range) -> Campaign:
    """These seeds, in this process."""
    found = Campaign()
    for seed in seeds:
        world = World(seed)
        try:
            world.run()
        except BaseException as error:  # noqa: BLE001 - whatever is raised is a finding, with its seed
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = "" if isinstance(error, JobViolationError) else f" at {at.filename.rsplit('/', 1)[-1]}:{at.lineno}"
            found.failures.append(f"seed {seed}: {type(error).__name__}: {error}{place}")
        found.runs += 1
        found.effects += world.effects
        found.drivers += len(world.processes)
        found.counters.update(world.counters)
        found.struck.update(world.faults.struck)
    return found


def failure_of(seed: int) -> str:
    """The rule that one seed breaks, or the kind of its error; empty: it ends well."""
    try:
        World(seed).run()
    except JobViolationError as violation:
        return violation.rule
    except BaseException as error:  # noqa: BLE001 - whatever is raised is a finding
        return type(error).__name__
    return ""


def campaign(start: int, seeds: int, jobs: int) -> Campaign:
    """So many seeds."""
    tasks = [range(at, min(at + SLICE, start + seeds)) for at in range(start, start + seeds, SLICE)]
    found = Campaign()
    if jobs == 1:
        for task in tasks:
            found.add(run_slice(task))
        return found
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for one in pool.imap(run_slice, tasks):
            found.add(one)
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.job_simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args(argv)
    if options.seed is not None:
        world = World(options.seed).run()
        print(
            f"seed {options.seed} ends well: {world.effects} effects, {len(world.processes)} drivers, {world.crc:08x}"
        )
        return 0
    began = time.monotonic()
    found = campaign(options.start, options.seeds, options.jobs)
    seconds = time.monotonic() - began
    print(f"{found.runs} runs in {seconds:.0f} s; {found.effects / found.runs:.0f} effects and "
          f"{found.drivers / found.runs:.1f} drivers a run; {len(found.failures)} violations")  # fmt: skip
    print("happened: " + ", ".join(f"{name} {count}" for name, count in sorted(found.counters.items())))
    print("faults: " + ", ".join(f"{name} {found.struck[name]}" for name in CHANCES))
    print("never seen: " + (", ".join(found.never) or "nothing"))
    for failure in found.failures[:FAILURES_SHOWN]:
        print(f"  {failure}")
    return 1 if found.failures else 0
