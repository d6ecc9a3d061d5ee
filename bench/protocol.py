"""The protocol core by itself: useful events a second, and whether a checkpoint costs more with many pipelines.

    python -m bench.protocol [--pipelines 1000] [--seconds 5]

A steady mix: per checkpoint one timer, the acknowledgements of ten vertices, one durable record, the confirmations of
its commits. Every event changes something; stale ones are not counted. Memory is what Python's allocator holds for
the coordinators, after a few checkpoints each.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench import pairs
from seatunnel_py.protocol.commit.record_batcher import RecordBatch
from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Topology, Vertex

VERTICES = 10
EVENTS_BAR = 50_000.0
GROWTH_BAR = 1.2
"""Cost of one checkpoint with all pipelines, in relation to its cost with a tenth of them."""
SETTINGS = CheckpointSettings(interval=1.0, max_retained=3, alignment_timeout=None)


def topology() -> Topology:
    """A chain of ten vertices, the last one a sink."""
    names = [f"v{at}" for at in range(VERTICES)]
    vertices = [Vertex(name) for name in names[:-1]] + [Vertex(names[-1], sink=SinkKind.TWO_PHASE)]
    return Topology(tuple(vertices), tuple(map(Edge, names, names[1:])))


@dataclass
class World:
    """Answers everything at once, and counts what it says."""

    coordinators: Mapping[str, Coordinator]
    records: RecordBatch = field(default_factory=RecordBatch)
    events: int = 0
    at: float = 0.0
    pieces: int = 0
    due: list[str] = field(default_factory=list)

    def say(self, pipeline: str, event: ev.CoordinatorEvent) -> None:
        self.events += 1
        for command in self.coordinators[pipeline].handle(event):
            self._answer(pipeline, command)

    def _store(self) -> None:
        """What waits is durable at once."""
        while (write := self.records.write()) is not None:
            for pipeline, record in self.records.stored(write.number).items():
                self.say(pipeline, ev.Persisted(self.at, record.checkpoint))

    def _answer(self, name: str, command: cc.CoordinatorCommand) -> None:
        match command:
            case cc.Persist(record):
                self.records.add(name, record)
                self._store()
            case cc.Restart():
                self.say(name, ev.SubtaskReady(self.at, command.incarnation, command.epoch, command.subtask))
            case cc.SendTrigger():
                self._acknowledge(name, command)
            case cc.CommitPieces():
                self.say(name, ev.CommitConfirmed(self.at, command.incarnation, command.scope, command.checkpoint))
            case _:
                pass

    def _acknowledge(self, name: str, trigger: cc.SendTrigger) -> None:
        coordinator = self.coordinators[name]
        self.pieces += 1
        for subtask in coordinator.shared.topology.subtasks():
            last = subtask.vertex == f"v{VERTICES - 1}"
            snapshot = SubtaskSnapshot(pieces=(StagedPiece(f"{name}/{self.pieces}"),) if last else ())
            epoch = coordinator.shared.epochs[subtask.vertex]
            self.say(name, ev.Acknowledged(self.at, 1, epoch, subtask, trigger.checkpoint, snapshot))

    def checkpoint(self) -> None:
        """One of every pipeline."""
        self.at += 1.0
        for name in self.coordinators:
            self.say(name, ev.Progressed(self.at))
            self.say(name, ev.Timer(self.at, "trigger"))


def world(pipelines: int) -> World:
    """So many running pipelines."""
    made = World({f"p{at}": Coordinator(topology(), SETTINGS) for at in range(pipelines)})
    for name in made.coordinators:
        made.say(name, ev.Activated(made.at, 1))
    return made


def events_per_second(seconds: float) -> float:
    """Of one coordinator on one core."""
    one = world(1)
    one.events = 0
    began = time.process_time()
    while (used := time.process_time() - began) < seconds:
        one.checkpoint()
    stale = one.coordinators["p0"].shared.stale
    return (one.events - stale) / used


def cost(pipelines: int, rounds: int = 5) -> tuple[float, float]:
    """Processor microseconds and bytes, of one pipeline's checkpoint and of one pipeline."""
    many = world(pipelines)
    many.checkpoint()
    gc.collect()
    began = time.process_time()
    for _ in range(rounds):
        many.checkpoint()
    used = (time.process_time() - began) / rounds / pipelines
    del many
    gc.collect()
    tracemalloc.start()
    kept = world(pipelines)
    for _ in range(rounds):
        kept.checkpoint()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] / pipelines
    tracemalloc.stop()
    return used * 1e6, held


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.protocol", description=__doc__)
    parser.add_argument("--pipelines", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5.0)
    wanted = parser.parse_args(arguments)
    rate = events_per_second(wanted.seconds)
    print(f"{rate:,.0f} useful events a second on one core, {VERTICES} vertices")
    few, many = max(1, wanted.pipelines // 10), wanted.pipelines
    found = {}
    for pipelines in (few, many):
        found[pipelines] = micros, held = cost(pipelines)
        print(f"{pipelines} pipelines: {micros:.0f} us and {held / 1024:.1f} KiB for each, a checkpoint each")
    pairs.verdict("events a second / bar", rate / EVENTS_BAR, 1.0)
    pairs.verdict("time of a checkpoint, all / a tenth", found[many][0] / found[few][0], GROWTH_BAR, at_most=True)
    pairs.verdict("memory of a pipeline, all / a tenth", found[many][1] / found[few][1], GROWTH_BAR, at_most=True)


if __name__ == "__main__":
    main()
