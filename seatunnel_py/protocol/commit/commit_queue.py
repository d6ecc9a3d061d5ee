"""The driver's side of the commit protocol: the due commits of a pipeline, and their order.

Rules. (CM1) A commit is issued only for a completed checkpoint (I27). (CM2) In one scope only the oldest unconfirmed
commit is in progress; the next follows when it is confirmed (I30). (CM3) A failed commit stays the oldest and is issued
again: the target's ledger makes it effective once (I28). (CM4) LOST and FENCED are final: the scope, or the whole
queue, issues no further commits (I31, I34). (CM5) A record carries every unconfirmed commit, oldest first, including
its own (P2); a final record also carries empty commits, because an empty table must be created too. After a restore
exactly these are issued again. (CM6) Snapshots of a sink are cumulative (I14): pieces that the newest completed record
already contains are subtracted by name. (CM7) Records are stored one at a time, because a record depends on the content
of the record before it. (CM8) Confirming a checkpoint confirms every earlier one of its scope; a repeated confirmation
has no effect (F18).

May not know: what a piece is, which target holds the ledger, how long to wait before a retry.

Why the newest record is sufficient for (CM6): a sink drops pieces only after it is notified that their checkpoint has
completed. So a piece of snapshot m that was staged before snapshot n < m of the same execution is also in snapshot n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology

FINAL = frozenset({Reason.LOST, Reason.FENCED, Reason.FOREIGN, Reason.COMMIT_REFUSED})
"""Reasons after which a commit can never succeed (CM4)."""


class FailedCommit(StrEnum):
    """Reaction to a CommitFailed."""

    STALE = "it is not under way: nothing follows"
    RETRY = "it has to be tried again after a pause: call `retry` then"
    END = "it never will succeed: the pipeline ends with this reason"


@dataclass(frozen=True, slots=True)
class CommitQueue:
    """The commits of one pipeline. Immutable: every method returns a new queue; `issue` returns the commits to send.

    ``waiting``: completed but unconfirmed commits, oldest first; ``under_way``: scopes whose oldest commit was issued
    and has no reply yet; ``held``: scopes whose oldest commit failed and waits for its retry. ``lost``: scopes without
    further commits, ``refused``: those of them whose target refuses; ``contained``: names of the pieces in the newest
    completed record; ``ledgers``: last checkpoint that is known to be in each scope's ledger.
    """

    waiting: tuple[CommitRecord, ...] = ()
    under_way: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    fenced: bool = False
    contained: frozenset[str] = frozenset()
    ledgers: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def restored(cls, record: CheckpointRecord) -> CommitQueue:
        """The queue of a driver that resumes from this record: every uncommitted commit is due again (CM5, I28)."""
        contained = piece_names(record.snapshots.values())
        return cls(waiting=record.uncommitted, contained=contained, ledgers=dict(record.ledgers))

    @property
    def lag(self) -> int:
        """Number of completed checkpoints that are not confirmed, for the check COMMIT_LAG. Scopes whose target refuses
        do not count (CN4)."""
        return len({commit.checkpoint for commit in self.waiting if commit.scope not in self.refused})

    def uncommitted(
        self, checkpoint: int, snapshots: Mapping[Subtask, SubtaskSnapshot], topology: Topology, *, final: bool = False
    ) -> tuple[CommitRecord, ...]:
        """The commits in the record of this checkpoint: the waiting ones, then its own (CM5)."""
        every = topology.commit_scopes if final else ()
        return (*self.waiting, *new_commits(checkpoint, snapshots, self.contained, topology, every))

    def completed(self, record: CheckpointRecord) -> CommitQueue:
        """Add the commits of a durable record (CM1). Raises LocalProtocolError if (CM7) was violated."""
        own = tuple(commit for commit in record.uncommitted if commit.checkpoint == record.checkpoint)
        if twice := self.contained & {piece.name for commit in own for piece in commit.pieces}:
            raise LocalProtocolError(f"checkpoint {record.checkpoint} would commit {sorted(twice)} a second time")
        return replace(self, waiting=self.waiting + own, contained=piece_names(record.snapshots.values()))

    def issue(self) -> tuple[CommitQueue, tuple[CommitRecord, ...]]:
        """The commits to send now: the oldest of every scope, unless it is in progress, held or lost (CM2, CM4)."""
        if self.fenced or not self.waiting:
            return self, ()
        due: dict[str, CommitRecord] = {}
        stopped = self.under_way | self.held | self.lost
        for commit in self.waiting:
            if commit.scope not in stopped:
                due.setdefault(commit.scope, commit)
        return replace(self, under_way=self.under_way | due.keys()), tuple(due.values())

    def confirmed(self, scope: str, checkpoint: int) -> CommitQueue:
        """The ledger of this scope contains this checkpoint, or a later one (CM8)."""
        waiting = tuple(one for one in self.waiting if one.scope != scope or one.checkpoint > checkpoint)
        if len(waiting) == len(self.waiting):
            return self
        return replace(
            self,
            waiting=waiting,
            under_way=self.under_way - {scope},
            held=self.held - {scope},
            ledgers={**self.ledgers, scope: checkpoint},
        )

    def failed(self, scope: str, checkpoint: int, reason: Reason) -> tuple[CommitQueue, FailedCommit]:
        """The commit in progress was not confirmed."""
        if scope not in self.under_way or self._oldest(scope) != checkpoint:
            return self, FailedCommit.STALE
        idle = replace(self, under_way=self.under_way - {scope})
        if reason not in FINAL:
            return replace(idle, held=self.held | {scope}), FailedCommit.RETRY
        refused = self.refused | {scope} if reason is Reason.COMMIT_REFUSED else self.refused
        lost = replace(idle, lost=self.lost | {scope}, refused=refused)
        return replace(lost, fenced=self.fenced or reason is Reason.FENCED), FailedCommit.END

    def retry(self, scope: str) -> CommitQueue:
        """The pause after a failure has ended: the scope is due again (CM3)."""
        return replace(self, held=self.held - {scope})

    def _oldest(self, scope: str) -> int:
        return next(commit.checkpoint for commit in self.waiting if commit.scope == scope)


def piece_names(snapshots: Iterable[SubtaskSnapshot]) -> frozenset[str]:
    """The names of all pieces in these snapshots."""
    return frozenset(piece.name for snapshot in snapshots for piece in snapshot.pieces)


def new_commits(
    checkpoint: int,
    snapshots: Mapping[Subtask, SubtaskSnapshot],
    contained: frozenset[str],
    topology: Topology,
    every: Iterable[str] = (),
) -> tuple[CommitRecord, ...]:
    """One commit for each scope with new pieces (CM6), and for each scope of ``every`` (CM5)."""
    scopes: dict[str, list[StagedPiece]] = {scope: [] for scope in every}
    for subtask in sorted(snapshots):
        new = [piece for piece in snapshots[subtask].pieces if piece.name not in contained]
        if new:
            scopes.setdefault(topology.vertex(subtask.vertex).commit_scope, []).extend(new)
    return tuple(CommitRecord(scope, checkpoint, tuple(pieces)) for scope, pieces in scopes.items())
