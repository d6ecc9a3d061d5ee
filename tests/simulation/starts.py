"""How a driver starts: fence, read, decide (I38). What it reads may be stale or damaged.

Where it is refused, a person looks after the store, and the next one sees everything as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_py.errors import RetriableError, SeaTunnelError
from seatunnel_py.runtime.resume.job_claim import JobClaim, claim_job
from tests.simulation.ports.storage import MemoryStorage, StaleStorage
from tests.simulation.ports.store import WatchedStore
from tests.simulation.violation import expect

if TYPE_CHECKING:
    from tests.simulation.world import World

RULE = "I17StoreIsBelieved"


class StartRefusedError(Exception):
    """A driver does not start, because its store is not as it should be."""


@dataclass(frozen=True)
class Reading:
    """What a driver sees of the store: one file of records is not as it is. ``instead`` stands there; None: it cannot be
    seen."""

    hidden: str
    instead: bytes | None

    @property
    def damaged(self) -> bool:
        return self.instead is not None


def claimed(world: World, pipelines: Sequence[str]) -> tuple[WatchedStore, JobClaim]:
    """The claim of a new driver. StartRefusedError: it may not start, and that is right."""
    reading = _reading(world)
    storage: MemoryStorage = world.storage
    if reading is not None:
        storage = StaleStorage(world.storage, reading.hidden, reading.instead)
    store = WatchedStore(storage, world, lambda keys: _went_on(world, reading, keys))
    try:
        claim = claim_job(store, pipelines)
    except RetriableError:
        raise  # the store is away
    except SeaTunnelError as refused:
        expect(reading is not None, RULE, f"a start from a whole store is refused: {refused}")
        raise StartRefusedError(str(refused)) from refused
    if isinstance(storage, StaleStorage):
        storage.looked_after()
    return store, claim


def _reading(world: World) -> Reading | None:
    """What is wrong with the newest record of one pipeline, as far as the store can tell today (F23, F24)."""
    newest = [
        (name, line)
        for name, held in world.files.items()
        for line, checkpoint in held
        if line.hangs_on(checkpoint) and name in world.storage.held
    ]
    if not newest or world.looked_after or any(line.elastic for _, line in newest):
        world.looked_after = False
        return None
    name, _ = newest[-1]
    if world.faults.strikes("store reads stale"):
        return Reading(name, None)
    if world.faults.strikes("record damaged"):
        return Reading(name, _damaged(world, world.storage.held[name]))
    return None


def _damaged(world: World, whole: bytes) -> bytes:
    data, outcome = bytearray(whole), world.choices.outcome
    at = outcome.below(len(data))
    if outcome.chance(0.3):
        del data[at:]
    else:
        data[at] ^= 1 << outcome.below(8)
    return bytes(data)


def _went_on(world: World, reading: Reading | None, keys: Collection[str]) -> None:
    """A driver has published its claim to these pipelines. Without a record it may only where nothing has followed from
    that; a pipeline that the job no longer has is not looked at."""
    if reading is None:
        return
    expect(not reading.damaged, RULE, f"a driver goes on, though {reading.hidden} is damaged")
    for line, checkpoint in world.files[reading.hidden]:
        if line.key in keys and line.hangs_on(checkpoint):
            marked = line.marked >= checkpoint
            expect(not marked, RULE, f"a driver goes on without checkpoint {checkpoint} of {line.key}, which completed")
            line.void()
            world.counters["a start went on from before a record that had no consequence"] += 1


def refused(world: World, why: str) -> None:
    """A driver did not start: a person looks after the store."""
    world.counters["a start was refused"] += 1
    world.counters["a damaged record was noticed" if "damaged" in why else "a missing record was noticed"] += 1
    world.looked_after = True
