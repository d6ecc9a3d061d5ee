"""How a driver starts: fence, read, decide (I38). What it reads may be stale, damaged or gone, and the graph another one.

Whoever is refused tries again, and sees everything then: a person has looked after the store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seatunnel_py.protocol.commit.claims import DamagedRecord, RestoreRefusal, Stored, claim_from
from seatunnel_py.protocol.encoding.record_format import RecordRefusedError, decode, encode
from seatunnel_py.protocol.failover.restore import adapted
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology
from tests.simulation.driver import Driver
from tests.simulation.pipelines import Pipeline, resized

if TYPE_CHECKING:
    from tests.simulation.world import World


@dataclass(frozen=True)
class Reading:
    """What a driver sees of the store. ``hidden``: the newest record, if it is not among it as it is."""

    records: tuple[Stored, ...]
    hidden: CheckpointRecord | None = None
    damaged: bool = False


def widths(topology: Topology) -> dict[str, int]:
    return {vertex.id: vertex.parallelism for vertex in topology.vertices}


def start_driver(world: World) -> None:
    """A new incarnation. Where it may not go on nobody does, until somebody has looked after the store."""
    store = world.store
    incarnation = store.claim()
    world.journal.incarnation = incarnation
    for target in world.targets.values():
        target.claim(incarnation, max(store.ever, default=0))
    completed = max(world.journal.completed, *(target.ledger for target in world.targets.values()))
    reading = read(world)
    claim = claim_from(incarnation, store.claims, reading.records, completed)
    world.tell("read", reading, claim, completed)
    if isinstance(claim, RestoreRefusal):
        world.note(f"driver {incarnation}", f"may not start: {claim.why}")
        world.count("a start was refused")
        world.limits.driver_ended(claim.why)
        world.looked_after = True
        world.start_later()
        return
    if reading.hidden is not None:
        world.count("a start went on from before a record that nobody had heard of")
        store.void.add(reading.hidden.checkpoint)
        world.observer.completed = [one for one in world.observer.completed if one is not reading.hidden]
        if reading.hidden.kind is RecordKind.ZERO and len(store.ever) > 1:
            world.void = True  # what was lost is lost still, and no record says so any more
    store.claims.append(claim)
    record = store.newest()
    before = world.pipeline
    pipeline, record = graph(world, record)
    graphs = [widths(one.topology) for one in (before, pipeline, store.newest() or before)]
    world.take_graph(pipeline)
    driver = Driver(world, incarnation, claim, pipeline, record, replay=graphs[0] == graphs[1] == graphs[2])
    world.begin(driver, claim)


def read(world: World) -> Reading:
    """The records of the store, as well as it can tell today (F23, F24)."""
    store, faults = world.store, world.faults
    newest = store.newest()
    whole = tuple(store.records.values())
    older = [one for one in whole if newest and one.checkpoint < newest.checkpoint and one.checkpoint not in store.void]
    if world.looked_after:
        world.looked_after = False
        return Reading(whole)
    if newest is None or (older and widths(older[-1].topology) != widths(newest.topology)):
        return Reading(whole)
    others = tuple(one for one in whole if one is not newest)
    if faults.strikes("store reads stale"):
        return Reading(others, newest)
    if faults.strikes("record damaged"):
        data = bytearray(encode(newest))
        at = world.choices.outcome.below(len(data))
        if world.choices.outcome.chance(0.3):
            del data[at:]
        else:
            data[at] ^= 1 << world.choices.outcome.below(8)
        try:
            return Reading((*others, decode(bytes(data))), newest, damaged=True)
        except RecordRefusedError as damage:
            damaged = DamagedRecord(newest.checkpoint, newest.incarnation, str(damage))
            return Reading((*others, damaged), newest, damaged=True)
    return Reading(whole)


def graph(world: World, record: CheckpointRecord | None) -> tuple[Pipeline, CheckpointRecord | None]:
    """The graph to go on with, perhaps in another parallelism, and the record as it fits there."""
    now = wanted = world.pipeline
    if record is None:
        return now, None
    held = widths(record.topology)
    if now.elastic and world.drivers and world.choices.graph.chance(0.7):
        wanted = resized(now, world.choices.graph)
    if widths(wanted.topology) == held != widths(now.topology):
        wanted = now  # back to a graph whose journals another one has overwritten
    for pipeline in (wanted, now):
        topology = replace(pipeline.topology, detached=record.topology.detached)
        if widths(topology) == held:
            return pipeline, record
        found = adapted(record, topology)
        world.tell("adapted", record, topology, found)
        if not isinstance(found, RestoreRefusal):
            world.count("a record was restored into another parallelism")
            return pipeline, found
        world.count("a restore into another parallelism was refused")
    raise world.violation("I45RescaledWhole", f"checkpoint {record.checkpoint}: {found.why}, and was not before")
