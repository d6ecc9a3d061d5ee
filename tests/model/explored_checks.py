"""What has to hold in the explored world, by the numbers of the invariants."""

from __future__ import annotations

from collections import Counter
from typing import Any

from seatunnel_py.protocol.coordinator.commands import CommitPieces
from seatunnel_py.protocol.failover.restore import KEY_GROUPS
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from tests.model.explored_instances import Instance
from tests.protocol.reference.consistent_cut import misaligned, uncovered


class Violated(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, why: str) -> None:
        super().__init__(f"{invariant}: {why}")
        self.invariant = invariant


def expect(holds: bool, invariant: str, why: str) -> None:
    if not holds:
        raise Violated(invariant, why)


def check_record(instance: Instance, record: CheckpointRecord) -> None:
    """A record on its way to the store: whole (I9) and a consistent cut (I8, I47)."""
    if record.kind is RecordKind.ZERO:
        return
    topology = record.topology
    missing = set(topology.subtasks()) ^ set(record.snapshots)
    expect(not missing, "I9", f"checkpoint {record.checkpoint} is about {len(record.snapshots)} subtasks")
    # A receiver may be ahead of a sender that is catching up (the exception of I8): its contents are checked by I4.
    faults = uncovered(topology.channels, record.snapshots, topology.channels)
    expect(not faults, "I8", f"checkpoint {record.checkpoint}: {'; '.join(faults)}")
    if instance.alignment is None:
        wrong = misaligned(topology, record.snapshots)
        expect(not wrong, "I8", f"checkpoint {record.checkpoint}: {'; '.join(wrong)}")
    for subtask, snapshot in record.snapshots.items():
        if subtask.vertex in "KL":
            _check_pieces(record, snapshot.pieces, subtask.vertex)


def _check_pieces(record: CheckpointRecord, pieces: Any, scope: str) -> None:
    """What is staged and not in an earlier record is committed with this one (I14)."""
    named = [piece.name for commit in record.uncommitted if commit.scope == scope for piece in commit.pieces]
    expect(len(named) == len(set(named)), "I2", f"checkpoint {record.checkpoint} commits pieces of {scope} twice")
    own = {
        p.name for c in record.uncommitted if c.checkpoint == record.checkpoint and c.scope == scope for p in c.pieces
    }
    expect(own <= {piece.name for piece in pieces}, "I5", f"{scope} commits what its snapshot does not name")


def check_commit(command: CommitPieces, newest: CheckpointRecord | None) -> None:
    """A commit is of a durable record, which names its pieces (I5, I10, I27)."""
    named = () if newest is None else newest.uncommitted
    there = any(
        (one.scope, one.checkpoint, one.pieces) == (command.scope, command.checkpoint, command.pieces) for one in named
    )
    expect(there, "I27", f"{command.scope} is to commit {command.checkpoint}, which no durable record says")


def check_visible(instance: Instance, target: Any, newest: CheckpointRecord | None) -> None:
    """After a commit: no row twice (I2, I28), and exactly what the sink's state of that checkpoint holds (I4, I14)."""
    shown = Counter(target.visible)
    twice = [row for row, count in shown.items() if count > 1]
    expect(not twice, "I2", f"{target.scope} shows {twice} twice")
    expect(newest is not None, "I27", f"{target.scope} committed without any record")
    assert newest is not None
    if target.ledger == newest.checkpoint:
        states = [one.state or () for subtask, one in newest.snapshots.items() if subtask.vertex == target.scope]
        held = Counter(row for state in states for row in state)
        lost, more = held - shown, shown - held
        expect(not lost, "I14", f"{target.scope} lacks {sorted(lost)} after checkpoint {newest.checkpoint}")
        expect(
            not more, "I5", f"{target.scope} shows {sorted(more)}, which checkpoint {newest.checkpoint} does not hold"
        )


def check_stopped(target: Any, newest: CheckpointRecord) -> None:
    """Behind a savepoint: what it holds is visible, and nothing else (I44)."""
    held = [
        row for subtask, one in newest.snapshots.items() if subtask.vertex == target.scope for row in one.state or ()
    ]
    shown = sorted(target.visible)
    expect(shown == sorted(held), "I44", f"{target.scope} shows {shown} behind a savepoint that holds {sorted(held)}")


def check_moved(before: CheckpointRecord, after: CheckpointRecord) -> None:
    """Every split and every key group is there once, with what belonged to it, and where its rows are sent (I45)."""
    if before.kind is RecordKind.ZERO:
        return
    kept, moved = _held(before), _held(after)
    expect(kept == moved, "I45", f"of {kept} became {moved}")
    for subtask, snapshot in after.snapshots.items():
        if subtask.vertex == "G":
            shares = after.topology.vertex("G").parallelism
            astray = [one for one in snapshot.state or {} if int(one) * shares // KEY_GROUPS != subtask.index]
            expect(not astray, "I45", f"{subtask} holds the key groups {astray}")


def _held(record: CheckpointRecord) -> list[tuple[str, str]]:
    """What the states of vertices that can be rescaled consist of."""
    found = []
    for subtask, snapshot in record.snapshots.items():
        if subtask.vertex == "G":
            found += [(f"G {group}", repr(value)) for group, value in (snapshot.state or {}).items()]
        elif subtask.vertex == "S" and snapshot.state:
            found += [(f"S {split}", repr(at)) for split, at in snapshot.state["assigned"].items()]
            found += [(f"S {split}", "finished") for split in snapshot.state["finished"]]
    return sorted(found)


def check_end(instance: Instance, targets: list[Any]) -> None:
    """Success: every row is visible once (I1, I2)."""
    for target in targets:
        shown, wanted = Counter(target.visible), Counter(instance.expected(target.scope))
        expect(not wanted - shown, "I1", f"{target.scope} lacks {sorted(wanted - shown)}")
        expect(not shown - wanted, "I2", f"{target.scope} shows {sorted(shown - wanted)} too often")
