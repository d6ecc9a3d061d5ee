"""The durable things outside a driver: the checkpoint store, the journal and the targets.

Each refuses an older incarnation itself (I34): a driver that was overtaken learns it from the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.protocol.commit.claims import Claim, next_incarnation
from seatunnel_py.protocol.coordinator.commands import Restart
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import JournalUse, StagedPiece, TakenInput
from seatunnel_py.protocol.model.topology import SinkKind
from seatunnel_py.protocol.participant.unit_log import retaken
from tests.protocol.reference.ledger import LedgerRow, Verdict, claim_ledger, ledger_decision, may_write
from tests.simulation.rows import Row, Rows


class Answer(StrEnum):
    DONE = "done"
    FENCED = "fenced"
    LOST = "lost"
    ALREADY = "already"


LINEAGE = "lineage"
ANSWERS = {
    Verdict.ALREADY: Answer.ALREADY,
    Verdict.FENCED: Answer.FENCED,
    Verdict.FOREIGN: Answer.FENCED,
    Verdict.GAP: Answer.LOST,
    Verdict.LOST: Answer.LOST,
}


@dataclass
class Store:
    """Records by checkpoint. A write is one act: it happens wholly or not at all (I10). ``void``: records that nobody
    goes on from; ``intents`` and ``done``: set-up units that were begun, and finished."""

    incarnation: int = 0
    claims: list[Claim] = field(default_factory=list)
    records: dict[int, CheckpointRecord] = field(default_factory=dict)
    ever: dict[int, CheckpointRecord] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    void: set[int] = field(default_factory=set)
    intents: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)

    def claim(self) -> int:
        """Compare-and-set of the incarnation."""
        self.incarnation = next_incarnation(self.incarnation, self.claims)
        return self.incarnation

    def write(self, record: CheckpointRecord, incarnation: int) -> Answer:
        if not may_write(self.incarnation, incarnation):
            return Answer.FENCED
        self.records[record.checkpoint] = record
        self.ever[record.checkpoint] = record
        return Answer.DONE

    def delete(self, checkpoint: int, incarnation: int) -> None:
        if may_write(self.incarnation, incarnation) and self.records.pop(checkpoint, None) is not None:
            self.deleted.add(checkpoint)

    def newest(self) -> CheckpointRecord | None:
        valid = self.records.keys() - self.void
        return self.records[max(valid)] if valid else None

    def savepoints(self) -> list[CheckpointRecord]:
        return [record for record in self.records.values() if record.kind is RecordKind.SAVEPOINT]


@dataclass
class Journal:
    """What units took, by subtask and number (I39). ``floor``: what a record contains is forgotten up to here;
    ``completed``: the newest checkpoint that it knows of, since something was forgotten or begun for its sake."""

    incarnation: int = 0
    completed: int = 0
    entries: dict[Subtask, dict[int, TakenInput]] = field(default_factory=dict)
    fence: dict[Subtask, tuple[int, int]] = field(default_factory=dict)
    floor: dict[Subtask, int] = field(default_factory=dict)

    def begin(self, restart: Restart) -> tuple[TakenInput, ...]:
        """A new life: older lives write no more; what it takes again. An overtaken driver changes nothing, and is not
        shown what a newer one wrote, which may be of another graph."""
        subtask, life = restart.subtask, (restart.incarnation, restart.epoch)
        self.fence[subtask] = max(life, self.fence.get(subtask, (0, 0)))
        if restart.incarnation < self.incarnation:
            return ()
        mine = self.entries.setdefault(subtask, {})
        taken = restart.snapshot.taken if restart.snapshot else 0
        again = retaken(restart.replay, restart.snapshot, [mine[number] for number in sorted(mine) if number > taken])
        self.completed = max(restart.checkpoint, self.completed)
        if restart.replay is JournalUse.VOID:
            self.floor[subtask] = 0  # nothing before counts any more
        for number in [number for number in mine if number > taken + len(again)]:
            del mine[number]
        return again

    def end(self, subtask: Subtask, incarnation: int, epoch: int) -> None:
        """A life is over, and no other begins."""
        self.fence[subtask] = max((incarnation, epoch), self.fence.get(subtask, (0, 0)))

    def append(self, subtask: Subtask, incarnation: int, epoch: int, entry: TakenInput) -> Answer:
        if incarnation < self.incarnation or (incarnation, epoch) < self.fence.get(subtask, (0, 0)):
            return Answer.FENCED
        mine = self.entries.setdefault(subtask, {})
        if entry.number in mine:
            return Answer.ALREADY
        mine[entry.number] = entry
        return Answer.DONE

    def forget(self, record: CheckpointRecord, subtask: Subtask, incarnation: int) -> None:
        """A completed checkpoint contains what was taken so far: no restart will ask for it (I40)."""
        if incarnation < self.incarnation or subtask not in record.snapshots:
            return
        taken, mine = record.snapshots[subtask].taken, self.entries.get(subtask, {})
        for number in [number for number in mine if number <= taken]:
            del mine[number]
        self.completed = max(record.checkpoint, self.completed)
        self.floor[subtask] = max(taken, self.floor.get(subtask, 0))


@dataclass
class Target:
    """What a sink vertex writes to: one commit scope with its ledger (I28)."""

    scope: str
    kind: SinkKind
    incarnation: int = 0
    row: LedgerRow | None = None
    fence: dict[Subtask, tuple[int, int]] = field(default_factory=dict)
    staged: dict[str, Rows] = field(default_factory=dict)
    visible: list[Row] = field(default_factory=list)
    by_key: dict[tuple[int, ...], Row] = field(default_factory=dict)
    committed: list[int] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    emptied: int = 0

    def begin(self, subtask: Subtask, incarnation: int, epoch: int) -> None:
        """Fence: nothing of an older life of this subtask becomes visible any more (I35)."""
        self.fence[subtask] = max((incarnation, epoch), self.fence.get(subtask, (0, 0)))

    def write(self, subtask: Subtask, incarnation: int, epoch: int, name: str, rows: Rows) -> Answer:
        """One unit's rows: staged, or at once visible, as the kind of the sink says."""
        if self.kind is SinkKind.TWO_PHASE:
            self.staged[name] = rows
            return Answer.DONE
        if incarnation < self.incarnation or (incarnation, epoch) < self.fence.get(subtask, (0, 0)):
            return Answer.FENCED
        if self.kind is SinkKind.IDEMPOTENT:
            for row in rows:
                self.by_key[row[:4]] = row
        else:
            self.visible.extend(rows)
        return Answer.DONE

    @property
    def ledger(self) -> int:
        """Where the ledger stands."""
        return self.row.checkpoint if self.row else 0

    def claim(self, incarnation: int, newest: int) -> None:
        """A driver's first word to the target: from now on older ones are refused (I34)."""
        self.incarnation = incarnation
        row = claim_ledger(self.row, LINEAGE, incarnation, newest)
        if isinstance(row, LedgerRow):
            self.row = row

    def commit(self, incarnation: int, commit: CommitRecord, newest: int) -> Answer:
        """One transaction: fence, ledger, rows."""
        there = all(piece.name in self.staged for piece in commit.pieces)
        verdict = ledger_decision(
            self.row, commit, lineage=LINEAGE, incarnation=incarnation, newest=newest, pieces_there=there
        )
        if verdict is not Verdict.APPLY:
            return ANSWERS[verdict]
        for piece in commit.pieces:
            self.visible.extend(self.staged.get(piece.name, ()))
            self.applied.append(piece.name)
        self.row = LedgerRow(LINEAGE, incarnation, commit.checkpoint)
        self.committed.append(commit.checkpoint)
        return Answer.DONE

    def clean(self) -> None:
        """What was committed need not be staged any longer (p12); it may be late."""
        for name in self.applied:
            self.staged.pop(name, None)
        self.applied.clear()

    def drop(self, pieces: tuple[StagedPiece, ...]) -> None:
        for piece in pieces:
            self.staged.pop(piece.name, None)

    def empty(self, unit: str) -> None:
        """A start effect that nobody can take back: what is there is dropped."""
        self.visible.clear()
        self.by_key.clear()
        self.emptied += 1

    def rows(self) -> list[Row]:
        """What a reader sees."""
        return list(self.by_key.values()) if self.kind is SinkKind.IDEMPOTENT else self.visible
