"""Decides which waiting runs begin, and names what the others wait for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seatunnel_py.control.store.queue import QueueEntry
from seatunnel_py.nouns import counted


@dataclass(frozen=True, slots=True)
class StartLimits:
    """``max_running``: drivers at once, of all runs on this machine; ``spawn_seconds``: least time between two
    starts."""

    max_running: int = 8
    spawn_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class StartFacts:
    """``running``: drivers that are alive or on their way. ``busy``: the runs of which one is. ``since_spawn``: seconds
    since the last start. ``delays``: seconds until a failed run is restored, by run. ``closed``: why no run may begin
    at all, empty: one may."""

    running: int
    busy: frozenset[str]
    since_spawn: float
    delays: Mapping[str, float] = field(default_factory=dict)
    closed: str = ""


@dataclass(frozen=True, slots=True)
class WaitingStart:
    """A start that waits. ``place``: in the queue, from 1; ``why``: what it waits for."""

    entry: QueueEntry
    place: int
    why: str


@dataclass(frozen=True, slots=True)
class StartOrder:
    """``next``: the start to begin now, None: none; ``waiting``: the others in their order."""

    next: QueueEntry | None
    waiting: Sequence[WaitingStart]


def order(entries: Sequence[QueueEntry], facts: StartFacts, limits: StartLimits) -> StartOrder:
    """The order of a queue. A start whose run has a live driver waits, and lets those after it pass."""
    chosen: QueueEntry | None = None
    waiting: list[WaitingStart] = []
    for entry in entries:
        why = _own_reason(entry, facts) or _common_reason(facts, limits)
        if not why and chosen is None:
            chosen = entry
            continue
        place = len(waiting) + 1
        waiting.append(WaitingStart(entry, place, why or f"its turn: {counted(place, 'start')} before it"))
    return StartOrder(chosen, waiting)


def _own_reason(entry: QueueEntry, facts: StartFacts) -> str:
    run = entry.intent.run
    if run in facts.busy:
        return "the end of its driver, which is alive"
    delay = facts.delays.get(run, 0.0)
    return f"its next try in {math.ceil(delay)} s, because it has failed" if delay > 0 else ""


def _common_reason(facts: StartFacts, limits: StartLimits) -> str:
    if facts.closed:
        return facts.closed
    if facts.running >= limits.max_running:
        running = counted(facts.running, "run")
        return f"a free place: {running} of at most {limits.max_running} (max-running)"
    if facts.since_spawn < limits.spawn_seconds:
        return f"the next second: one start every {limits.spawn_seconds:g} s"
    return ""
