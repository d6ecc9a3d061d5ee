"""Redistributes the states of a record to another number of subtasks. Pure.

Rules. (1) Progress is stored by split: each split goes to one of the new subtasks, as it was at one of the old (I41,
I45). (2) Counts go to the first new subtask, because only their total matters. (3) A query stores rows and ended inputs
by sender: if the senders change, it is refused. (4) An isolated vertex keeps its states, if it has any: its recovery
pipeline starts from an older record. (5) ``protocol.failover.restore`` decides everything else (channels, epochs,
pieces).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from seatunnel_py.api.source import Split
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.restore import RestoredSplits, adapted
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.values.split_progress import SplitProgress, SplitRound, assign_splits, reading_of
from seatunnel_py.runtime.values.subtask_state import State, state_of


def rescaled(
    record: CheckpointRecord, new: Topology, rounds: Mapping[str, Sequence[SplitRound]], unbounded: Collection[str]
) -> CheckpointRecord | RestoreRefusal:
    """Convert the record to the graph ``new``, which has the same vertices; unchanged for an equal graph.
    ``rounds``: the splits of each source; ``unbounded``: sources that never end."""
    old = record.topology
    changed = [
        vertex.id
        for vertex in old.vertices
        if vertex.id in new.by_id
        and vertex.id not in old.detached
        and vertex.parallelism != new.vertex(vertex.id).parallelism
    ]
    if not changed:
        return record
    if not record.snapshots:
        return adapted(record, new)
    if why := _gathered(record, changed):
        return RestoreRefusal(why)
    before = {name: [state_of(record.snapshots[one].state) for one in old.subtasks([name])] for name in changed}
    readings = {name: _read(before[name], rounds[name], name in unbounded) for name in changed if name in rounds}
    plain = {
        subtask: _plain(snapshot, subtask, readings, changed, rounds) for subtask, snapshot in record.snapshots.items()
    }
    found = adapted(replace(record, snapshots=plain), new)
    if isinstance(found, RestoreRefusal):
        return found
    snapshots = dict(found.snapshots)
    for name in changed:
        subtasks = new.subtasks([name])
        states = _dealt(before[name], readings.get(name), rounds.get(name, ()), len(subtasks))
        for subtask, state in zip(subtasks, states, strict=True):
            snapshots[subtask] = replace(snapshots[subtask], state=state.to_plain())
    return replace(found, snapshots=snapshots)


def _gathered(record: CheckpointRecord, changed: Collection[str]) -> str:
    """The vertices with state by sender; empty without any."""
    old = record.topology
    for vertex in old.live:
        around = {edge.sender for edge in old.edges if edge.receiver == vertex} | {vertex}
        states = [state_of(record.snapshots[one].state) for one in old.subtasks([vertex])]
        if around.intersection(changed) and any(state.gathered or state.ended for state in states):
            return f"{vertex} has gathered rows of its inputs, whose parallelism is another one now"
    return ""


def _read(
    states: Sequence[State], rounds: Sequence[SplitRound], unbounded: bool
) -> list[tuple[frozenset[str], SplitProgress]]:
    """For each old subtask its finished splits, and the progress of the others."""
    found = []
    for state, hand in zip(states, assign_splits(rounds, len(states)), strict=True):
        reading = reading_of(state.reading)
        left = [split.id for split in hand if split.id not in reading.ended]
        ended = frozenset(reading.ended) | frozenset(() if unbounded else left[: reading.finished])
        found.append((ended, reading))
    return found


def _plain(
    snapshot: SubtaskSnapshot,
    subtask: Subtask,
    readings: Mapping[str, Sequence[tuple[frozenset[str], SplitProgress]]],
    changed: Collection[str],
    rounds: Mapping[str, Sequence[SplitRound]],
) -> SubtaskSnapshot:
    """The snapshot in the form that the protocol redistributes, so that no split is lost or doubled."""
    if subtask.vertex not in changed:
        return snapshot
    if subtask.vertex not in readings:
        return replace(snapshot, state=None)
    progress = readings[subtask.vertex]
    ended, reading = progress[subtask.index]
    hand = [split.id for split in assign_splits(rounds[subtask.vertex], len(progress))[subtask.index]]
    assigned = {name: position.to_plain() for name, position in reading.at.items()}
    unread = tuple(name for name in hand if name not in assigned and name not in ended)
    return replace(snapshot, state=RestoredSplits(assigned, unread, tuple(sorted(ended))).plain())


def _dealt(
    before: Sequence[State],
    readings: Sequence[tuple[frozenset[str], SplitProgress]] | None,
    rounds: Sequence[SplitRound],
    parallelism: int,
) -> list[State]:
    """The states of the new subtasks of one vertex."""
    total = reduce(RowTally.plus, (tally_of(state.tally) for state in before), RowTally())
    after = [State(tally=total.to_plain() if at == 0 else None) for at in range(parallelism)]
    if readings is None:
        return after
    ended = frozenset[str]().union(*(finished for finished, _ in readings))
    stands: dict[str, Any] = {}
    for _, reading in readings:
        stands |= reading.at
    hands = assign_splits(rounds, parallelism)
    return [
        replace(state, reading=_held(hand, ended, stands), **(_of_log(before) if hand else {}))
        for state, hand in zip(after, hands, strict=True)
    ]


def _of_log(before: Sequence[State]) -> dict[str, Any]:
    """The changes of schemas that a log has met belong to the subtask that reads its split."""
    return {
        "altered": tuple(one for state in before for one in state.altered),
        "refused": tuple(dict.fromkeys(name for state in before for name in state.refused)),
    }


def _held(hand: Sequence[Split], ended: frozenset[str], stands: Mapping[str, Any]) -> Any:
    mine = [split.id for split in hand]
    at = {name: stands[name] for name in mine if name in stands}
    return SplitProgress(ended=tuple(name for name in mine if name in ended), at=at).to_plain()
