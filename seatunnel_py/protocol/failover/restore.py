"""Restores a record into a changed graph: another parallelism, more or fewer vertices (O4.12, O5.4).

Rules. (RS1) New states partition the old ones: each part of an old subtask's state goes to exactly one new subtask
(I45). State that cannot be assigned uniquely is refused, never guessed. (RS2) A source's state is moved by split:
assigned + unassigned + finished are all splits, each once, before and after (I41). (RS3) If all inputs of a vertex are
keyed, its state is moved by key group, to the subtask that gets the key group's rows. (RS4) A channel between two
unchanged vertices keeps its numbers and queued batches. Any other channel starts again at 1, which is sound
because both its ends restart; so no batch may be queued on it. A batch of a forward or broadcast channel belongs
to a receiver that no longer exists; a batch of a keyed channel has rows of many key groups, which the protocol
cannot divide. A savepoint is aligned, so its channels are empty.
(RS5) On every channel the receiver has exactly the batches that the sender had sent: a receiver that is ahead of a
repeating sender (the exception of I8) would get its rows again in other batches. (RS6) Pieces are ignored here, also
those of removed subtasks: the record's uncommitted commits name them by scope, and the queue
issues them for any graph. (RS7) State of a removed vertex is dropped only if the user allows it. (RS8) The unit numbers
of a new subtask continue after those of the old ones, so that names with such a number stay unique; the journal after
the snapshot is void. (RS9) An isolated vertex stays isolated, with its state: neither it nor its neighbours may change.

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
"""Number of key groups; it must never change. Larger: more entries in a state. Smaller: a lower maximal parallelism."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RestoredSplits:
    """Splits of one source vertex, or of one subtask of it; as plain data a mapping with these three keys."""

    assigned: Mapping[str, Plain]
    unassigned: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()

    def plain(self) -> Plain:
        return {"assigned": self.assigned, "unassigned": [*self.unassigned], "finished": [*self.finished]}


def redistribute(
    record: CheckpointRecord, new: Topology, give_up: Collection[str] = ()
) -> Mapping[Subtask, SubtaskSnapshot] | RestoreRefusal:
    """Initial snapshots of the subtasks of ``new``, isolated ones included; an unchanged graph gets the same snapshots.
    Empty for checkpoint 0: everything starts from nothing. ``give_up``: removed vertices whose state may be dropped
    (RS7)."""
    if record.kind is RecordKind.ZERO:
        return {}
    old, new = record.topology, _without_those_left_out(record, new)
    if missing := sorted(set(old.subtasks()) - set(record.snapshots)):
        return RestoreRefusal(f"the record has no snapshot of {missing[0]}")
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
    """Convert the record to one of ``new``, for a coordinator of that graph; unchanged if the graph is. Epochs of
    removed vertices stay, because a vertex that returns must start above them (I11)."""
    snapshots = redistribute(record, new, give_up)
    if isinstance(snapshots, RestoreRefusal):
        return snapshots
    if snapshots is record.snapshots:
        return record
    new = replace(_without_those_left_out(record, new), version=record.topology.version + 1)
    return replace(record, snapshots=snapshots, topology=new)


# ---------------------------------------------------------------- splits and key groups


def enumerator_state(states: Iterable[Plain]) -> RestoredSplits | RestoreRefusal:
    """Combine the states of a source's readers for its split enumerator (O5.4)."""
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
    """Assign the splits to so many readers in turn (RS2)."""
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
    """The subtask that gets the rows of this key group; consecutive groups go together (RS3)."""
    return key_group * parallelism // KEY_GROUPS


def _splits(state: Plain) -> RestoredSplits | None:
    """Read the splits of a state, none without a state; None if it has another shape."""
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
                return RestoreRefusal(f"{name!r} is not a key group, or is in the record twice")
            found[group] = value
    return found


def _rescaled(
    vertex: str, before: list[SubtaskSnapshot], old: Topology, new: Topology
) -> list[SubtaskSnapshot] | RestoreRefusal:
    """Divide the states of one vertex among another number of subtasks."""
    parallelism = new.vertex(vertex).parallelism
    states = [snapshot.state for snapshot in before]
    after = _divided(vertex, states, parallelism, old, new)
    if isinstance(after, RestoreRefusal):
        return RestoreRefusal(f"{vertex}, {len(before)} -> {parallelism} subtasks: {after.why}")
    # A subtask has ended only if all had; a new subtask without rows detects its own end (I46).
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


# ---------------------------------------------------------------- channels and removed vertices


def _shape(topology: Topology) -> tuple[object, ...]:
    """The parts of the graph that a snapshot depends on; guarantees and retention are not among them."""
    vertices = {vertex.id: vertex.parallelism for vertex in topology.vertices}
    return vertices, [(edge.sender, edge.receiver, edge.spread) for edge in topology.edges], topology.detached


def _kept_edges(old: Topology, new: Topology) -> Mapping[int, int]:
    """Numbers of the unchanged edges, old -> new (RS4)."""
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
    """Remove the record's isolated vertices from the graph (RS9)."""
    return replace(new, detached=record.topology.detached & new.by_id.keys())


def _shaken(old: Topology, new: Topology) -> str:
    """The change that affects isolated vertices (RS9); empty without one."""
    for name in sorted(new.detached):
        before, after = _edges_of(name, old), _edges_of(name, new)
        near = {name}.union(*(edge[:2] for edge in (*before, *after)))
        changed = sorted(one for one in near if not _unchanged(one, old, new))
        if changed or before != after:
            return f"{name} is isolated: {next(iter(changed), 'what it is fed by')} may change once it has rejoined"
    return ""


def _edges_of(vertex: str, topology: Topology) -> list[tuple[str, str, Spread]]:
    ends = [(edge.sender, edge.receiver, edge.spread) for edge in topology.edges]
    return sorted(edge for edge in ends if vertex in edge[:2])


def _unsettled(record: CheckpointRecord, kept: Mapping[int, int]) -> str:
    """Why a channel prevents the change (RS4, RS5); empty if none does."""
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
    """The vertices whose state would be lost (RS7); empty without any."""
    for subtask, snapshot in record.snapshots.items():
        gone = subtask.vertex not in new.by_id and subtask.vertex not in give_up
        if gone and snapshot.state is not None:
            return f"{subtask.vertex} is gone, and the state of {subtask} would be lost"
    return ""


def _anew(snapshot: SubtaskSnapshot, kept: Mapping[int, int], checkpoint: int) -> SubtaskSnapshot:
    """The snapshot with the unchanged channels under their new numbers (RS4), and without pieces (RS6)."""

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
