"""Derives stable properties from a snapshot (O1.6, O3.4), and explains which subtask waits for which in a stuck
pipeline.

A stable property stays true once it is true: if it holds in a consistent cut, it still holds now.

Rules. (Y1) A pipeline has terminated when every source subtask has ended and no channel state holds a batch. (Y3)
Subtasks are deadlocked when each waits, every channel that could wake it is empty, and the sender of each such channel
is deadlocked as well. Deadlocked subtasks contain a cycle, which is reported. (Y4) A subtask that waits for input
continues when one of its inputs has a batch; one that waits for room continues when all its full outputs have room.
(Y5) An explanation starts with the root causes: first deadlocks, then subtasks that wait for no other, ordered by the
number of subtasks that wait for them, ended ones last; then the others, by their distance to a root.

May not know: how a snapshot was taken, what a participant is, clocks (times are arguments), and any remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import Topology

NAMES_MAX = 5
"""Largest number of names in a sentence; further ones are only counted."""

# ---------------------------------------------------------------- properties of a snapshot


def terminated(record: CheckpointRecord, topology: Topology) -> bool:
    """True if all sources had ended and every channel was empty at the cut (Y1). Isolated sources do not count."""
    sources = topology.subtasks(name for name in topology.sources if name in topology.live)
    snapshots = record.snapshots
    return all(source in snapshots and snapshots[source].ended for source in sources) and not any(
        batches for snapshot in snapshots.values() for batches in snapshot.channel_state.values()
    )


# ---------------------------------------------------------------- waiting subtasks


class SubtaskActivity(StrEnum):
    """Activity of a subtask. The value is the text for users, with placeholders in braces."""

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
    """Last known state of a subtask.

    ``unit``: the running one. ``channels``: for INPUT_EMPTY and REPLAYING the empty inputs that could wake it
    (none: a source without new rows), for OUTPUT_FULL the full outputs. ``checkpoint``: the one whose barrier has been
    reached on some inputs but not on those in ``missing``, or 0; ``blocked``: inputs that are not read until
    then. NOT_STARTED includes the time during a restart, ENDED a source that was stopped at a barrier.
    """

    subtask: Subtask
    doing: SubtaskActivity
    since: float
    unit: int = 0
    channels: tuple[Channel, ...] = ()
    checkpoint: int = 0
    blocked: tuple[Channel, ...] = ()
    missing: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class SubtaskFact:
    """A subtask, and the others that it has to do with. ``view``: None: it has not been seen. ``seconds``: since when.
    ``waits_for``: one of these subtasks, or all if its outputs are full, on the channel to it. ``waiters``: of a root,
    all that wait for it, directly or not."""

    subtask: Subtask
    view: SubtaskWait | None
    seconds: float = 0.0
    waits_for: tuple[tuple[Subtask, Channel], ...] = ()
    waiters: tuple[Subtask, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitDiagnosis:
    """``deadlocks``: cycles of subtasks, each waits for the next one; ``facts``: root causes first (Y5)."""

    deadlocks: tuple[tuple[Subtask, ...], ...] = ()
    facts: tuple[SubtaskFact, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each deadlock and one for each subtask."""
        return (*map(_deadlock_sentence, self.deadlocks), *map(_sentence, self.facts))


def explain(seen: Iterable[SubtaskWait], at: float) -> tuple[str, ...]:
    """The sentences about these subtasks. ``at``: the time now."""
    return diagnose(seen, at).sentences


def diagnose(seen: Iterable[SubtaskWait], at: float) -> WaitDiagnosis:
    """Find out which subtask waits for which. ``at``: the time now."""
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
    facts = (
        *(_waiter(views[name], at) for name in in_cycles),
        *(_root(name, views.get(name), dependants[name], at) for name in roots),
        *(_waiter(views[name], at) for name in _outwards([*in_cycles, *roots], waiters)),
    )
    return WaitDiagnosis(cycles, facts)


def _root(name: Subtask, view: SubtaskWait | None, waiters: tuple[Subtask, ...], at: float) -> SubtaskFact:
    return SubtaskFact(name, view, at - view.since if view else 0.0, waiters=waiters)


def _waiter(view: SubtaskWait, at: float) -> SubtaskFact:
    pairs = tuple(zip(_awaited(view), view.channels, strict=True))
    return SubtaskFact(view.subtask, view, at - view.since, waits_for=pairs)


def _awaited(view: SubtaskWait) -> tuple[Subtask, ...]:
    """The subtasks that could wake it. A source that has ended counts, because it still sends barriers: waiting for it
    is the end of a batch pipeline, not a deadlock."""
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


def _sentence(fact: SubtaskFact) -> str:
    view, number = fact.view, len(fact.waiters)
    told = f"{fact.subtask} {_doing(view, fact.seconds)}" if view else f"{fact.subtask} has not been seen"
    if view and fact.waits_for and view.doing is SubtaskActivity.OUTPUT_FULL:
        return (
            f"{told}; it waits for {' and '.join(f'{one} to take from {channel}' for one, channel in fact.waits_for)}"
        )
    if fact.waits_for:
        return f"{told}; it waits for {' or '.join(f'{one} to send on {channel}' for one, channel in fact.waits_for)}"
    if not number:
        return told
    return f"{told}; {names(fact.waiters)} {'waits' if number == 1 else 'wait'} for it"


def _doing(view: SubtaskWait, seconds: float) -> str:
    told = f"{view.doing.value.format(unit=view.unit)}, for {seconds:.0f} s"
    if view.blocked:
        told += f"; it does not read {names(view.blocked)} until"
        told += f" the barrier of checkpoint {view.checkpoint} is there on {names(view.missing)}"
    elif view.missing:
        told += f"; it records {names(view.missing)} until the barrier of checkpoint {view.checkpoint} is there"
    return told


def names(things: Sequence[Subtask] | Sequence[Channel] | Sequence[str]) -> str:
    """The first names, and the number of the others."""
    shown = ", ".join(str(thing) for thing in things[:NAMES_MAX])
    return shown if len(things) <= NAMES_MAX else f"{shown} and {len(things) - NAMES_MAX} more"


# ---------------------------------------------------------------- wait-for graph


def stuck_processes(
    awaited: Mapping[Subtask, Collection[Subtask]], needs_all: Collection[Subtask]
) -> frozenset[Subtask]:
    """Subtasks that wait for each other forever: repeatedly removes those that another subtask outside can wake (Y3).
    Subtasks in ``needs_all`` need all that they wait for, others one of them (Y4)."""
    stuck = set(awaited)
    while free := {
        name for name in stuck if (all if name in needs_all else any)(other not in stuck for other in awaited[name])
    }:
        stuck -= free
    return frozenset(stuck)


def waiting_cycles(
    awaited: Mapping[Subtask, Collection[Subtask]], stuck: Collection[Subtask]
) -> tuple[tuple[Subtask, ...], ...]:
    """Cycles among stuck subtasks: follows from each the first stuck subtask that it waits for, until the path meets
    itself (a cycle) or an earlier path (a known cycle)."""
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
    """Invert the graph: the waiting subtasks of each awaited one."""
    waiters: dict[Subtask, set[Subtask]] = {}
    for name, others in awaited.items():
        for other in others:
            waiters.setdefault(other, set()).add(name)
    return waiters


def _outwards(roots: Iterable[Subtask], waiters: Mapping[Subtask, Collection[Subtask]]) -> tuple[Subtask, ...]:
    """Subtasks that wait for the roots, directly or not, nearest first, without the roots."""
    ring = list(roots)
    seen = set(ring)
    found: list[Subtask] = []
    while ring:
        ring = sorted({other for name in ring for other in waiters.get(name, ())} - seen)
        seen.update(ring)
        found += ring
    return tuple(found)
