"""Many seeds: in several processes, with averages and counters; or one seed, as a trace."""

from __future__ import annotations

import argparse
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_args

from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.observe.receipt import TableState
from tests.simulation.choices import Choices
from tests.simulation.faults import CHANCES
from tests.simulation.followed.situations import SITUATIONS as FOLLOWED
from tests.simulation.machine.expected import PHASES
from tests.simulation.violation import JobViolationError
from tests.simulation.wishes import WISHES
from tests.simulation.world import MODES, World

SITUATIONS = (
    "a driver died",
    "a driver could not start",
    "an overtaken driver ended",
    "two drivers at once",
    "a start was refused",
    "a damaged record was noticed",
    "a missing record was noticed",
    "a final commit",
    *FOLLOWED,
)
SOMETIMES = (
    *(one.__name__ for one in get_args(effects.Effect)),
    *(one.__name__ for one in get_args(events.PipelineEvent)),
    *(f"{before} -> {after}" for (before, _), after in PHASES.items()),
    *(f"shown: {state.value}" for state in TableState if state is not TableState.PENDING),
    *(f"closed: {kind.name}" for kind in effects.CloseKind),
    *WISHES,
    *SITUATIONS,
)
"""Each must happen in a long campaign; those of ``expected.RARE`` need not in a short one."""
SLICE = 25
FAILURES_SHOWN = 10


@dataclass
class Campaign:
    """What many runs have seen."""

    runs: int = 0
    vertices: int = 0
    effects: int = 0
    events: int = 0
    drivers: int = 0
    checkpoints: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def take(self, world: World) -> None:
        """One run."""
        self.runs += 1
        self.vertices += sum(len(job.pipeline.vertices) for job in world.jobs)
        self.effects += world.effects
        self.events += world.events
        self.drivers += len(world.processes)
        self.checkpoints += sum(len(line.ever) for line in world.lines.values())
        self.counters.update(world.counters)
        self.struck.update(world.faults.struck)

    def add(self, other: Campaign) -> None:
        for name in ("runs", "vertices", "effects", "events", "drivers", "checkpoints"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.counters.update(other.counters)
        self.struck.update(other.struck)
        self.failures += other.failures

    @property
    def never(self) -> list[str]:
        """Faults that have never struck, and what has never happened."""
        faults = [name for name in CHANCES if not self.struck[name]]
        return faults + [name for name in SOMETIMES if not self.counters[name]]


def run_slice(task: tuple[str, int, int]) -> Campaign:
    """Some seeds, in this process."""
    mode, start, end = task
    found = Campaign()
    for seed in range(start, end):
        world = World(Choices(seed), mode)
        try:
            world.run()
        except (JobViolationError, Exception) as error:  # noqa: BLE001 - whatever is raised is a finding, with its seed
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = "" if isinstance(error, JobViolationError) else f" at {at.filename.rsplit('/', 1)[-1]}:{at.lineno}"
            found.failures.append(f"seed {seed}, {mode}: {type(error).__name__}: {error}{place}")
        found.take(world)
    return found


def failure_of(seed: int, mode: str) -> str:
    """The rule that one seed breaks, or the kind of its error; empty: it ends well."""
    try:
        World(Choices(seed), mode).run()
    except JobViolationError as violation:
        return violation.rule
    except Exception as error:  # noqa: BLE001 - whatever is raised is a finding
        return type(error).__name__
    return ""


def campaign(modes: Iterable[str], start: int, seeds: int, jobs: int) -> dict[str, Campaign]:
    """All seeds of each mode."""
    modes = tuple(modes)
    tasks = [(mode, at, min(at + SLICE, start + seeds)) for mode in modes for at in range(start, start + seeds, SLICE)]
    found = {mode: Campaign() for mode in modes}
    if jobs == 1:
        for task in tasks:
            found[task[0]].add(run_slice(task))
        return found
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for task, one in zip(tasks, pool.imap(run_slice, tasks), strict=True):
            found[task[0]].add(one)
    return found


def report(mode: str, found: Campaign) -> None:
    """For people: the averages, and what was violated."""
    runs = max(1, found.runs)
    print(
        f"{mode}: {found.runs} runs; on average {found.vertices / runs:.1f} vertices, {found.drivers / runs:.1f} drivers, "
        f"{found.counters['a batch was sent'] / runs:.1f} batches, {found.checkpoints / runs:.1f} records, "
        f"{sum(found.struck.values()) / runs:.1f} faults, {found.effects / runs:.0f} effects, "
        f"{found.events / runs:.0f} checked letters; {len(found.failures)} violations"
    )
    for failure in found.failures[:FAILURES_SHOWN]:
        print(f"  {failure}")


def trace(seed: int, mode: str, *, shown: bool) -> int:
    """One seed: how it ends, and in words."""
    world = World(Choices(seed), mode, trace=shown)
    code = 0
    try:
        world.run()
        end = f"ends well: {world.effects} effects, {world.events} letters, {len(world.processes)} drivers, {world.crc:08x}"
    except (JobViolationError, Exception) as error:  # noqa: BLE001 - the trace up to the error is what was asked for
        end, code = f"{type(error).__name__}: {error}", 1
    if world.trace is not None:
        print("\n".join([*world.about(), *world.trace.lines]))
    print(f"seed {seed}, {mode}: {end}")
    return code


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="of each mode")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--shrink", action="store_true", help="find a short run with the violation of --seed")
    options = parser.parse_args(argv)
    modes = MODES if options.mode == "both" else (options.mode,)
    if options.seed is not None and options.shrink:
        from tests.simulation.shrink import show

        return max(show(options.seed, mode) for mode in modes)
    if options.seed is not None:
        return max(trace(options.seed, mode, shown=options.trace) for mode in modes)
    began, used = time.monotonic(), time.process_time()
    found, total = campaign(modes, options.start, options.seeds, options.jobs), Campaign()
    for mode, one in found.items():
        report(mode, one)
        total.add(one)
    seconds = time.monotonic() - began
    print(f"{total.runs} runs in {seconds:.0f} s, on {options.jobs} processes")
    if options.jobs == 1:
        print(f"{100 * (time.process_time() - used) / total.runs:.2f} s of CPU for 100 runs")
    print("happened: " + ", ".join(f"{name} {count}" for name, count in sorted(total.counters.items())))
    print("faults: " + ", ".join(f"{name} {total.struck[name]}" for name in CHANCES))
    print("never seen: " + (", ".join(total.never) or "nothing"))
    return 1 if total.failures else 0
