"""Stable properties, read off a recorded snapshot (O1.6, O3.4), and who waits for whom in a pipeline that hangs.

A property is stable if it stays true once it is true: found in a consistent cut, it holds now, although the program has
gone on since the cut was taken.

Rules. (Y1) A pipeline has terminated when every source subtask has ended and no channel state holds a batch: nothing
is left that could make one. (Y3) Processes are deadlocked when each waits, every channel
that could set it going is empty, and the sender of each such channel is deadlocked as well: what one needs only another
of them could send. Somewhere among them is a cycle, and the cycle is what is reported. (Y4) Whoever waits for input
goes on when one of its inputs has something; whoever waits for room goes on when all its full outputs have room.
(Y5) An explanation begins with the root causes: deadlocks first, then those who wait for nobody, the one for whom most
others wait foremost, those who have ended last; then the others, the nearer to a root the earlier.

May not know: how a snapshot was taken, what a participant is, clocks (times come in), and any remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import Topology

NAMES_MAX = 5
"""Names in one list of a sentence; the others are counted. More would hide the rest of the sentence."""

# ---------------------------------------------------------------- properties of a snapshot


def terminated(record: CheckpointRecord, topology: Topology) -> bool:
    """All sources have ended, and every channel was empty at the cut (Y1). Isolated sources are not asked."""
    sources = topology.subtasks(name for name in topology.sources if name in topology.live)
    snapshots = record.snapshots
    return all(source in snapshots and snapshots[source].ended for source in sources) and not any(
        batches for snapshot in snapshots.values() for batches in snapshot.channel_state.values()
    )


# ---------------------------------------------------------------- who waits for whom


class SubtaskActivity(StrEnum):
    """What a subtask is at. The value is what people read; braces are filled in."""

    NOT_STARTED = "is not started"
    RUNNING = "runs unit {unit}"
    JOURNAL = "waits for the journal to hold unit {unit}"
    INPUT_EMPTY = "has nothing to take"
    REPLAYING = "waits for the batch that unit {unit} took before the restart"
    OUTPUT_FULL = "cannot emit"
    PAUSED = "has to pause"
    ENDED = "has ended"


@dataclass(frozen=True, slots=True)
class SubtaskWait:
    """A subtask as it was seen last.

    ``unit``: the one in flight. ``channels``: for INPUT_EMPTY and REPLAYING the empty inputs that would set it going
    (none: a source without news), for OUTPUT_FULL the full outputs. ``checkpoint``: 0, or the one whose barrier is at
    hand on some inputs and still to come on those in ``missing``; ``blocked`` are the inputs that are not read until
    then. NOT_STARTED also covers the time between two lives, ENDED a source that was stopped behind a barrier.
    """

    subtask: Subtask
    doing: SubtaskActivity
    since: float
    unit: int = 0
    channels: tuple[Channel, ...] = ()
    checkpoint: int = 0
    blocked: tuple[Channel, ...] = ()
    missing: tuple[Channel, ...] = ()


def explain(seen: Iterable[SubtaskWait], at: float) -> tuple[str, ...]:
    """One sentence for each deadlock and one for each subtask, root causes first (Y5). ``at``: the time now."""
    views = {view.subtask: view for view in seen}
    awaited = {name: others for name, view in views.items() if (others := _awaited(view))}
    waiters = _turned_round(awaited)
    cycles = waiting_cycles(
        awaited,
        stuck_processes(awaited, {name for name in awaited if views[name].doing is SubtaskActivity.OUTPUT_FULL}),
    )
    in_cycles = [name for cycle in cycles for name in cycle]
    dependants = {name: _outwards([name], waiters) for name in {*views, *waiters} - awaited.keys()}

    def urgency(name: Subtask) -> tuple[bool, int, float, Subtask]:
        view = views.get(name)
        ended = view is not None and view.doing is SubtaskActivity.ENDED
        return ended, -len(dependants[name]), view.since if view else at, name

    roots = sorted(dependants, key=urgency)
    return (
        *(_deadlock_sentence(cycle) for cycle in cycles),
        *(_waiter_sentence(views[name], at) for name in in_cycles),
        *(_root_sentence(name, views.get(name), dependants[name], at) for name in roots),
        *(_waiter_sentence(views[name], at) for name in _outwards([*in_cycles, *roots], waiters)),
    )


def _awaited(view: SubtaskWait) -> tuple[Subtask, ...]:
    """Who could set it going. A source that has ended counts among them, since it goes on sending barriers: to wait for
    it is the end of a bounded pipeline, no deadlock."""
    match view.doing:
        case SubtaskActivity.OUTPUT_FULL:
            return tuple(channel.receiver for channel in view.channels)
        case SubtaskActivity.INPUT_EMPTY | SubtaskActivity.REPLAYING:
            return tuple(channel.sender for channel in view.channels)
        case _:
            return ()


def _deadlock_sentence(cycle: Sequence[Subtask]) -> str:
    pairs = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    return f"deadlock: {', '.join(f'{one} waits for {other}' for one, other in pairs)}"


def _root_sentence(name: Subtask, view: SubtaskWait | None, dependants: Sequence[Subtask], at: float) -> str:
    told = f"{name} {_doing(view, at)}" if view else f"{name} has not been seen"
    if not dependants:
        return told
    return f"{told}; {names(dependants)} {'waits' if len(dependants) == 1 else 'wait'} for it"


def _waiter_sentence(view: SubtaskWait, at: float) -> str:
    if view.doing is SubtaskActivity.OUTPUT_FULL:
        reasons = " and ".join(f"{channel.receiver} to take from {channel}" for channel in view.channels)
    else:
        reasons = " or ".join(f"{channel.sender} to send on {channel}" for channel in view.channels)
    return f"{view.subtask} {_doing(view, at)}; it waits for {reasons}"


def _doing(view: SubtaskWait, at: float) -> str:
    told = f"{view.doing.value.format(unit=view.unit)}, for {at - view.since:.0f} s"
    if view.blocked:
        told += f"; it does not read {names(view.blocked)} until"
        told += f" the barrier of checkpoint {view.checkpoint} is there on {names(view.missing)}"
    elif view.missing:
        told += f"; it records {names(view.missing)} until the barrier of checkpoint {view.checkpoint} is there"
    return told


def names(things: Sequence[Subtask] | Sequence[Channel]) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(str(thing) for thing in things[:NAMES_MAX])
    return shown if len(things) <= NAMES_MAX else f"{shown} and {len(things) - NAMES_MAX} more"


# ---------------------------------------------------------------- the graph of waiting


def stuck_processes(
    awaited: Mapping[Subtask, Collection[Subtask]], needs_all: Collection[Subtask]
) -> frozenset[Subtask]:
    """Those who wait for one another for ever: who can be set going by somebody outside is taken out, until nobody is
    left to take out (Y3). Those in ``needs_all`` need all whom they wait for, others one of them (Y4)."""
    stuck = set(awaited)
    while free := {
        name for name in stuck if (all if name in needs_all else any)(other not in stuck for other in awaited[name])
    }:
        stuck -= free
    return frozenset(stuck)


def waiting_cycles(
    awaited: Mapping[Subtask, Collection[Subtask]], stuck: Collection[Subtask]
) -> tuple[tuple[Subtask, ...], ...]:
    """From each who is stuck to the first for whom it waits and who is stuck too, and so on, until the way meets itself
    (a cycle) or an earlier way (the same cycle again)."""
    found = []
    seen: set[Subtask] = set()
    for start in sorted(stuck):
        way: list[Subtask] = []
        here = start
        while here not in seen:
            seen.add(here)
            way.append(here)
            here = min(other for other in awaited[here] if other in stuck)
        if here in way:
            found.append(tuple(way[way.index(here) :]))
    return tuple(found)


def _turned_round(awaited: Mapping[Subtask, Collection[Subtask]]) -> Mapping[Subtask, set[Subtask]]:
    """For each who is waited for: by whom."""
    waiters: dict[Subtask, set[Subtask]] = {}
    for name, others in awaited.items():
        for other in others:
            waiters.setdefault(other, set()).add(name)
    return waiters


def _outwards(roots: Iterable[Subtask], waiters: Mapping[Subtask, Collection[Subtask]]) -> tuple[Subtask, ...]:
    """Who waits for the roots, who waits for those, and so on; the nearer the earlier, the roots left out."""
    ring = list(roots)
    seen = set(ring)
    found: list[Subtask] = []
    while ring:
        ring = sorted({other for name in ring for other in waiters.get(name, ())} - seen)
        seen.update(ring)
        found += ring
    return tuple(found)
