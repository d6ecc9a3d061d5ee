"""What outlives a driver in the explored world: the checkpoint store, the journal and the targets.

Each refuses an older driver itself (I34). Rules. (X13) Lives that are over write no more here: the world ends a life in
one step, so what the journal's fence would refuse does not come. (X14) What tells states apart that have the same future
is not kept: pieces that are committed, or of a life that is over and in no record, for nothing will name them any more
(I33; a commit that does finds them LOST); the order of visible rows; entries of a journal that is void.
"""

from __future__ import annotations

from enum import Enum, auto

from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.coordinator.commands import Restart
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.protocol.participant.unit_log import retaken
from tests.model.explored_checks import expect
from tests.protocol.reference.ledger import LedgerRow, Verdict, claim_ledger, ledger_decision, may_write

LINEAGE = "lineage"


class Answer(Enum):
    DONE = auto()
    FENCED = auto()
    LOST = auto()


ANSWERS = {
    Verdict.APPLY: Answer.DONE,
    Verdict.ALREADY: Answer.DONE,
    Verdict.FENCED: Answer.FENCED,
    Verdict.FOREIGN: Answer.FENCED,
    Verdict.GAP: Answer.LOST,
    Verdict.LOST: Answer.LOST,
}


class Store:
    """Claims, and the newest record (X4). A write is one act (I10)."""

    def __init__(self) -> None:
        self.owner = 0
        self.claims: list[Claim] = []
        self.record: CheckpointRecord | None = None

    def write(self, record: CheckpointRecord, incarnation: int) -> Answer:
        if not may_write(self.owner, incarnation):
            return Answer.FENCED
        newer = self.record is None or self.record.checkpoint < record.checkpoint
        expect(newer, "I11", f"record {record.checkpoint} is no newer one")
        self.record = record
        return Answer.DONE


class Journal:
    """What units took that no record contains, by subtask and number (I39)."""

    def __init__(self) -> None:
        self.entries: dict[Subtask, dict[int, TakenInput]] = {}

    def begin(self, restart: Restart) -> tuple[TakenInput, ...]:
        """A new life: what it takes again; the rest is void."""
        taken = restart.snapshot.taken if restart.snapshot else 0
        mine = self.entries.get(restart.subtask, {})
        again = retaken(restart.replay, restart.snapshot, [mine[number] for number in sorted(mine) if number > taken])
        self._keep(restart.subtask, {number: one for number, one in mine.items() if number <= taken + len(again)})
        return again

    def void(self) -> None:
        """Another graph is restored: each life drops what it finds, and none is taken again (RS8)."""
        self.entries.clear()

    def append(self, subtask: Subtask, entry: TakenInput) -> None:
        mine = self.entries.get(subtask, {})
        expect(entry.number not in mine, "I39", f"the journal of {subtask} holds unit {entry.number} already")
        self._keep(subtask, {**mine, entry.number: entry})

    def forget(self, record: CheckpointRecord) -> None:
        """No restart will ask for what this record contains (I40)."""
        for subtask, snapshot in record.snapshots.items():
            mine = self.entries.get(subtask, {})
            self._keep(subtask, {number: one for number, one in mine.items() if number > snapshot.taken})

    def _keep(self, subtask: Subtask, entries: dict[int, TakenInput]) -> None:
        self.entries.pop(subtask, None)
        if entries:
            self.entries[subtask] = entries


class Target:
    """What a two-phase sink writes to: one commit scope with its ledger (I28)."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.row: LedgerRow | None = None
        self.staged: dict[str, tuple[str, ...]] = {}
        self.visible: tuple[str, ...] = ()

    @property
    def ledger(self) -> int:
        """Where the ledger stands."""
        return self.row.checkpoint if self.row else 0

    def claim(self, incarnation: int, newest: int) -> None:
        """A driver's first word to the target: from now on older ones are refused (I34)."""
        row = claim_ledger(self.row, LINEAGE, incarnation, newest)
        if isinstance(row, LedgerRow):
            self.row = row

    def sweep(self, record: CheckpointRecord | None) -> None:
        """The lives that staged here are over: what no record names is an orphan (X14)."""
        named = () if record is None else record.uncommitted
        kept = {piece.name for commit in named if commit.scope == self.scope for piece in commit.pieces}
        self.staged = {name: rows for name, rows in self.staged.items() if name in kept}

    def commit(self, incarnation: int, commit: CommitRecord, newest: int) -> Answer:
        """One transaction: fence, ledger, rows."""
        names = [piece.name for piece in commit.pieces]
        verdict = ledger_decision(
            self.row, commit, lineage=LINEAGE, incarnation=incarnation, newest=newest,
            pieces_there=all(name in self.staged for name in names),
        )  # fmt: skip
        if verdict is Verdict.APPLY:
            rows = [row for name in names for row in self.staged.pop(name)]
            self.visible = tuple(sorted([*self.visible, *rows]))
            self.row = LedgerRow(LINEAGE, incarnation, commit.checkpoint)
        return ANSWERS[verdict]
