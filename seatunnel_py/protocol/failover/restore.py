"""A record, read into a graph that may have changed since: other parallelism, vertices more or fewer (O4.12, O5.4).

Rules. (RS1) New states partition the old ones: whatever an old subtask held is held by exactly one new one (I45). What
cannot be told apart cannot be moved: it is refused, never guessed. (RS2) A source's state is moved by split: assigned +
unassigned + finished are all splits, each once, before and after (I41). (RS3) The state of a vertex all of whose inputs
are keyed is moved by key group, to the subtask that the key group is routed to. (RS4) A channel between two vertices of
which neither has changed keeps its numbers and what was queued on it. Any other begins anew at 1, which is sound
because both its ends restart; so nothing may have been queued on it. Batches of a forward or broadcast channel belong
to a receiver that is not there any longer; one of a keyed channel holds rows of many key groups, which the protocol
cannot look into and its new readers could not tell from rows of theirs. A savepoint is aligned: its channels are empty.
(RS5) On every channel the receiver has what the sender had sent, neither less nor more: one that is ahead of a sender
that is catching up (the exception of I8) would get again what it holds, cut in another way. (RS6) Pieces are of no
concern here, not even those of vanished subtasks: the record's uncommitted commits name them, by scope, and the queue
issues them whatever the graph looks like now. (RS7) State of a vertex that is gone is given up only where somebody says
so. (RS8) The units of a new subtask are counted on from those of the old ones, so that no name that contains such a
number comes twice; the journal after the snapshot is void. (RS9) Who was left out stays out, as he left: nothing that
he stands on may change meanwhile, neither he himself nor who feeds him or is fed by him.

May not know: what a position is, or a key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import Plain, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Spread, Topology

KEY_GROUPS = 128
"""Keys are hashed into so many groups, for ever. Larger: more entries in a state. Smaller: fewer subtasks can share."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RestoredSplits:
    """The splits of one source vertex, or of one subtask of it; as plain data a mapping with these three keys."""

    assigned: Mapping[str, Plain]
    unassigned: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()

    def plain(self) -> Plain:
        return {"assigned": self.assigned, "unassigned": [*self.unassigned], "finished": [*self.finished]}


def redistribute(
    record: CheckpointRecord, new: Topology, give_up: Collection[str] = ()
) -> Mapping[Subtask, SubtaskSnapshot] | RestoreRefusal:
    """What each subtask of ``new`` begins with, and where those stand who were left out; the same graph gets the same
    snapshots. Empty for checkpoint 0: everything begins from nothing. ``give_up``: vertices that were taken out of the
    graph together with their state (RS7)."""
    if record.kind is RecordKind.ZERO:
        return {}
    old, new = record.topology, _without_those_left_out(record, new)
    if missing := sorted(set(old.subtasks()) - set(record.snapshots)):
        return RestoreRefusal(f"the record says nothing of {missing[0]}")
    if _shape(old) == _shape(new):
        return record.snapshots
    kept = _kept_edges(old, new)
    if why := _shaken(old, new) or _unsettled(record, kept) or _abandoned(record, new, give_up):
        return RestoreRefusal(why)
    found: dict[Subtask, SubtaskSnapshot] = {}
    for vertex in new.live:
        subtasks = new.subtasks([vertex])
        if vertex not in old.live:
            found.update(dict.fromkeys(subtasks, SubtaskSnapshot(since=record.checkpoint)))
            continue
        before = [record.snapshots[subtask] for subtask in old.subtasks([vertex])]
        after = before if len(before) == len(subtasks) else _rescaled(vertex, before, old, new)
        if isinstance(after, RestoreRefusal):
            return after
        for subtask, snapshot in zip(subtasks, after, strict=True):
            found[subtask] = _anew(snapshot, kept, record.checkpoint)
    for subtask, snapshot in record.snapshots.items():
        if subtask.vertex in new.detached:
            found[subtask] = _anew(snapshot, kept, snapshot.since)
    return found


def adapted(
    record: CheckpointRecord, new: Topology, give_up: Collection[str] = ()
) -> CheckpointRecord | RestoreRefusal:
    """The record as if it had been made of ``new``, for a coordinator of that graph to go on from; unchanged where the
    graph is. Epochs of vertices that are gone stay: one that comes back begins above them (I11)."""
    snapshots = redistribute(record, new, give_up)
    if isinstance(snapshots, RestoreRefusal):
        return snapshots
    if snapshots is record.snapshots:
        return record
    new = replace(_without_those_left_out(record, new), version=record.topology.version + 1)
    return replace(record, snapshots=snapshots, topology=new)


# ---------------------------------------------------------------- splits and key groups


def enumerator_state(states: Iterable[Plain]) -> RestoredSplits | RestoreRefusal:
    """What the readers of a source forward to its split enumerator (O5.4)."""
    parts: list[RestoredSplits] = []
    for state in states:
        part = _splits(state)
        if part is None:
            return RestoreRefusal("the state is not made of splits: it cannot be divided")
        parts.append(part)
    every = RestoredSplits(
        {split: position for part in parts for split, position in part.assigned.items()},
        tuple(sorted(split for part in parts for split in part.unassigned)),
        tuple(sorted(split for part in parts for split in part.finished)),
    )
    times = Counter(split for part in parts for split in (*part.assigned, *part.unassigned, *part.finished))
    if twice := sorted(split for split, count in times.items() if count > 1):
        return RestoreRefusal(f"split {twice[0]!r} stands in the record twice")
    return every


def deal(splits: RestoredSplits, parallelism: int) -> tuple[RestoredSplits, ...]:
    """The splits in turn to so many readers (RS2)."""
    assigned = sorted(splits.assigned)
    return tuple(
        RestoredSplits(
            {split: splits.assigned[split] for split in assigned[at::parallelism]},
            splits.unassigned[at::parallelism],
            splits.finished[at::parallelism],
        )
        for at in range(parallelism)
    )


def subtask_of(key_group: int, parallelism: int) -> int:
    """Where the rows of this key group are routed to: consecutive groups together (RS3)."""
    return key_group * parallelism // KEY_GROUPS


def _splits(state: Plain) -> RestoredSplits | None:
    """None where the state is of another shape; a reader that has no state yet holds no split."""
    if state is None:
        return RestoredSplits({})
    if not isinstance(state, Mapping) or state.keys() != {"assigned", "unassigned", "finished"}:
        return None
    assigned, unassigned, finished = state["assigned"], _names(state["unassigned"]), _names(state["finished"])
    if not isinstance(assigned, Mapping) or unassigned is None or finished is None:
        return None
    return RestoredSplits(assigned, unassigned, finished)


def _names(value: Plain) -> tuple[str, ...] | None:
    if not isinstance(value, (list, tuple)):
        return None
    return tuple(map(str, value)) if all(isinstance(one, str) for one in value) else None


def _key_groups(states: Iterable[Plain]) -> Mapping[int, Plain] | RestoreRefusal:
    groups = {str(group): group for group in range(KEY_GROUPS)}
    found: dict[int, Plain] = {}
    for state in states:
        if not isinstance(state, Mapping | None):
            return RestoreRefusal("the state is not made of key groups: it cannot be divided")
        for name, value in (state or {}).items():
            group = groups.get(name)
            if group is None or group in found:
                return RestoreRefusal(f"{name!r} is no key group, or stands in the record twice")
            found[group] = value
    return found


def _rescaled(
    vertex: str, before: list[SubtaskSnapshot], old: Topology, new: Topology
) -> list[SubtaskSnapshot] | RestoreRefusal:
    """The states of one vertex, divided among another number of subtasks."""
    parallelism = new.vertex(vertex).parallelism
    states = [snapshot.state for snapshot in before]
    after = _divided(vertex, states, parallelism, old, new)
    if isinstance(after, RestoreRefusal):
        return RestoreRefusal(f"{vertex}, {len(before)} -> {parallelism} subtasks: {after.why}")
    # Only where all had ended is nothing left; a new subtask that has nothing to read finds that out by itself (I46).
    ended = all(snapshot.ended for snapshot in before)
    taken = max(snapshot.taken for snapshot in before)
    return [SubtaskSnapshot(state=state, taken=taken, ended=ended) for state in after]


def _divided(
    vertex: str, states: list[Plain], parallelism: int, old: Topology, new: Topology
) -> list[Plain] | RestoreRefusal:
    if all(state is None for state in states):
        return [None] * parallelism
    if vertex in old.sources and vertex in new.sources:
        splits = enumerator_state(states)
        return splits if isinstance(splits, RestoreRefusal) else [one.plain() for one in deal(splits, parallelism)]
    if not (_keyed(vertex, old) and _keyed(vertex, new)):
        return RestoreRefusal("it has state, and not all of its inputs are keyed")
    if parallelism > KEY_GROUPS:
        return RestoreRefusal(f"there are {KEY_GROUPS} key groups only")
    groups = _key_groups(states)
    if isinstance(groups, RestoreRefusal):
        return groups
    return [
        {str(group): groups[group] for group in sorted(groups) if subtask_of(group, parallelism) == at}
        for at in range(parallelism)
    ]


def _keyed(vertex: str, topology: Topology) -> bool:
    return {edge.spread for edge in topology.edges if edge.receiver == vertex} == {Spread.KEYED}


# ---------------------------------------------------------------- channels and what is gone


def _shape(topology: Topology) -> tuple[object, ...]:
    """What a snapshot depends on; what a vertex promises and what an edge retains is not part of it."""
    vertices = {vertex.id: vertex.parallelism for vertex in topology.vertices}
    return vertices, [(edge.sender, edge.receiver, edge.spread) for edge in topology.edges], topology.detached


def _kept_edges(old: Topology, new: Topology) -> Mapping[int, int]:
    """Numbers of the edges that are the same in both, old -> new (RS4)."""
    free = list(enumerate(new.edges))
    kept: dict[int, int] = {}
    for number, edge in enumerate(old.edges):
        for at, (other, candidate) in enumerate(free):
            ends = (edge.sender, edge.receiver)
            if (*ends, edge.spread) == (candidate.sender, candidate.receiver, candidate.spread):
                del free[at]
                if all(_unchanged(end, old, new) for end in ends):
                    kept[number] = other
                break
    return kept


def _unchanged(vertex: str, old: Topology, new: Topology) -> bool:
    both = vertex in old.by_id and vertex in new.by_id
    return both and old.vertex(vertex).parallelism == new.vertex(vertex).parallelism


def _without_those_left_out(record: CheckpointRecord, new: Topology) -> Topology:
    """A graph says what there is; who takes part of it the record says (RS9)."""
    return replace(new, detached=record.topology.detached & new.by_id.keys())


def _shaken(old: Topology, new: Topology) -> str:
    """What changes under those who were left out (RS9), or nothing."""
    for name in sorted(new.detached):
        before, after = _edges_of(name, old), _edges_of(name, new)
        near = {name}.union(*(edge[:2] for edge in (*before, *after)))
        changed = sorted(one for one in near if not _unchanged(one, old, new))
        if changed or before != after:
            return f"{name} was left out: {next(iter(changed), 'what it is fed by')} may change once it is back"
    return ""


def _edges_of(vertex: str, topology: Topology) -> list[tuple[str, str, Spread]]:
    ends = [(edge.sender, edge.receiver, edge.spread) for edge in topology.edges]
    return sorted(edge for edge in ends if vertex in edge[:2])


def _unsettled(record: CheckpointRecord, kept: Mapping[int, int]) -> str:
    """Why a channel stands in the way (RS4, RS5), or nothing."""
    for channel in record.topology.channels:
        receiver, sent = record.snapshots[channel.receiver], record.snapshots[channel.sender].sent.get(channel, 0)
        queued = receiver.channel_state.get(channel, ())
        if queued and channel.edge not in kept:
            back = channel.edge in record.topology.back_edges
            more = "let the loop run empty" if back else "restore from a savepoint"
            return f"{len(queued)} batches are queued on {channel}, one end of which has changed: {more}"
        received = queued[-1].number if queued else receiver.applied.get(channel, 0)
        if received != sent:
            return f"{channel}: {received} batches were received of {sent}; restore a checkpoint of settled channels"
    return ""


def _abandoned(record: CheckpointRecord, new: Topology, give_up: Collection[str]) -> str:
    """Whose state would be lost (RS7), or nothing."""
    for subtask, snapshot in record.snapshots.items():
        gone = subtask.vertex not in new.by_id and subtask.vertex not in give_up
        if gone and snapshot.state is not None:
            return f"{subtask.vertex} is gone, and the state of {subtask} would be lost"
    return ""


def _anew(snapshot: SubtaskSnapshot, kept: Mapping[int, int], checkpoint: int) -> SubtaskSnapshot:
    """The snapshot with the channels that go on, under their new numbers (RS4), and nothing staged (RS6)."""

    def going_on(values: Mapping[Channel, T]) -> Mapping[Channel, T]:
        return {replace(one, edge=kept[one.edge]): value for one, value in values.items() if one.edge in kept}

    return replace(
        snapshot,
        applied=going_on(snapshot.applied),
        sent=going_on(snapshot.sent),
        channel_state=going_on(snapshot.channel_state),
        pieces=(),
        since=checkpoint,
    )
