"""Many seeds: in two processes, with averages and counters; or one seed, as a trace."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulation.choices import Choices
from tests.simulation.faults import HARMLESS, SWITCHES
from tests.simulation.violation import Violation
from tests.simulation.world import World

MODES = ("aligned", "unaligned")
SLICE = 50
FAILURES_SHOWN = 10

SOMETIMES = (
    "a late ack was seen",
    "channel state was not empty",
    "channel state was replayed",
    "a batch was sent again",
    "a duplicate batch was dropped",
    "a barrier was swallowed",
    "a unit was replayed from the journal",
    "a unit of a past life ended",
    "a unit waited for room",
    "a zombie's write was refused",
    "an envelope of a past life was dropped",
    "a message of a past life was dropped",
    "a restart happened during a restart",
    "a region restarted",
    "a sibling worked during a restart",
    "a commit was retried after success",
    "a driver crashed",
    "a driver was fenced",
    "two drivers at once",
    "a checkpoint completed",
    "a checkpoint was aborted",
    "an unaligned checkpoint completed",
    "an alignment timed out",
    "a back-edge held rows in the cut",
    "a record was deleted",
    "a savepoint was taken",
    "a pipeline was stopped with a savepoint",
    "a pipeline was cancelled",
    "too many checkpoints failed",
    "a source ended",
    "a cancel marker was sent",
    "a trigger came before the start",
    "other rows under a known number were noticed",
    "orphans were dropped",
    "a start was refused",
    "a damaged record was noticed",
    "a missing record was noticed",
    "a start went on from before a record that nobody had heard of",
    "a record was restored into another parallelism",
    "a restore into another parallelism was refused",
    "start effects were asked for",
    "start effects were performed again",
    "positions were void",
    "positions were void too late",
    "rows of a source that can be read only once were lost",
    "rows of a source that can be read only once were kept",
    "a table was left out",
    "a table came back",
    "a table could not come back",
    "a restart without a table that was left out",
)
"""Each must happen in a campaign over both modes; a campaign in which one never does shows less than it seems to."""


@dataclass
class Tally:
    """What a campaign has seen."""

    runs: int = 0
    vertices: int = 0
    subtasks: int = 0
    batches: int = 0
    checkpoints: int = 0
    faults: int = 0
    events: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def take(self, world: World) -> None:
        self.runs += 1
        self.vertices += len(world.pipeline.topology.vertices)
        self.subtasks += len(world.pipeline.topology.subtasks())
        self.batches += world.observer.batches
        self.checkpoints += len(world.observer.completed)
        self.faults += sum(count for name, count in world.faults.struck.items() if name not in HARMLESS)
        self.events += world.events
        self.counters.update(world.counters)
        self.struck.update(world.faults.struck)
        self.shapes[world.pipeline.shape] += 1

    def add(self, other: Tally) -> None:
        for name in ("runs", "vertices", "subtasks", "batches", "checkpoints", "faults", "events"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("counters", "struck", "shapes"):
            getattr(self, name).update(getattr(other, name))
        self.failures.extend(other.failures)

    def never(self) -> list[str]:
        """Counters and faults that were not seen."""
        return [name for name in SOMETIMES if not self.counters[name]] + [
            name for name in SWITCHES if not self.struck[name]
        ]


def run_slice(task: tuple[str, int, int]) -> Tally:
    """Some seeds, in this process."""
    mode, start, end = task
    tally = Tally()
    for seed in range(start, end):
        world = None
        try:
            world = World(Choices(seed), mode, seed=seed)
            world.run()
        except Violation as violation:
            tally.failures.append(str(violation))
        except Exception as error:  # noqa: BLE001 - whatever a machine raises is a finding, with its seed
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{at.filename.rsplit('/', 1)[-1]}:{at.lineno}"
            tally.failures.append(f"{type(error).__name__} (seed {seed}, {mode}): {error} at {place}")
        if world is not None:
            tally.take(world)
    return tally


def campaign(modes: Iterable[str], start: int, seeds: int, jobs: int) -> dict[str, Tally]:
    """All seeds of each mode."""
    modes = tuple(modes)
    tasks = [(mode, at, min(at + SLICE, start + seeds)) for mode in modes for at in range(start, start + seeds, SLICE)]
    found = {mode: Tally() for mode in modes}
    if jobs == 1:
        for task in tasks:
            found[task[0]].add(run_slice(task))
        return found
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for task, tally in zip(tasks, pool.imap(run_slice, tasks), strict=True):
            found[task[0]].add(tally)
    return found


def report(mode: str, tally: Tally) -> None:
    runs = max(1, tally.runs)
    print(
        f"{mode}: {tally.runs} runs; on average {tally.vertices / runs:.1f} vertices ({tally.subtasks / runs:.1f} subtasks), "
        f"{tally.batches / runs:.1f} batches, {tally.checkpoints / runs:.1f} completed checkpoints, "
        f"{tally.faults / runs:.1f} faults, {tally.events / runs:.0f} checked events; {len(tally.failures)} violations"
    )
    for failure in tally.failures[:FAILURES_SHOWN]:
        print(f"  {failure}")


def trace(seed: int, mode: str) -> int:
    """One seed, in words."""
    world = World(Choices(seed), mode, seed=seed, trace=True)
    code = 0
    try:
        world.run()
        end = f"ends well after {world.events} events, hash {world.crc:08x}"
    except Exception as error:  # noqa: BLE001 - the trace up to the error is what was asked for
        end, code = f"{type(error).__name__}: {error}", 1
    print(f"shape {world.pipeline.shape}; {world.settings}; faults {sorted(world.faults.on)}")
    for vertex in world.pipeline.topology.vertices:
        print(
            f"  {vertex.id} x{vertex.parallelism} {world.pipeline.roles[vertex.id]} {vertex.determinism} {vertex.sink}"
        )
    for edge in world.pipeline.topology.edges:
        print(f"  {edge.sender}->{edge.receiver} {edge.spread}{' retained' if edge.retained else ''}")
    assert world.trace is not None
    print("\n".join(world.trace.lines))
    print(end)
    return code


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
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
        return max(trace(options.seed, mode) for mode in modes)
    began = time.monotonic()
    found = campaign(modes, options.start, options.seeds, options.jobs)
    total = Tally()
    for mode, tally in found.items():
        report(mode, tally)
        total.add(tally)
    seconds = time.monotonic() - began
    print(
        f"{total.runs} runs in {seconds:.0f} s, {total.runs / max(seconds, 0.001):.1f} a second, on {options.jobs} processes"
    )
    print("sometimes: " + ", ".join(f"{name} {total.counters[name]}" for name in sorted(total.counters)))
    print("faults: " + ", ".join(f"{name} {total.struck[name]}" for name in SWITCHES))
    if never := total.never():
        print("never seen: " + ", ".join(never), file=sys.stderr)
    return 1 if total.failures else 0
