"""Decides which records may be deleted, and which pending checkpoints a completed one subsumes.

Rules. (RT1) A savepoint is pinned: retention neither deletes nor counts it (I44). Checkpoint 0, which holds the plan,
is pinned until another one replaces it (void positions). (RT2) Checkpoints that a savepoint refers to stay. (RT3) A
checkpoint with an unconfirmed commit of its own stays: only its pieces hold those rows (I29). Commits that it carries
for earlier checkpoints do not keep it, because the newest carries them too (CM5): otherwise an unavailable target would
keep every record. (RT4) A checkpoint is deleted only after a newer one has completed and all commits of the newer one
are confirmed (I18); so the newest always stays (I17). (RT5) The newest ``max_retained`` stay as well. (RT6) The
decision depends only on the listed records, in any order: a record whose deletion failed is deleted again (F26). (RT7)
A completed checkpoint subsumes every older one that can still be aborted (O4.10), including savepoints, because commits
of a scope are in order (I30): a subsumed savepoint is requested again.

May not know: the store, and whether deleting worked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.protocol.coordinator.pending import PendingCheckpoint
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind


@dataclass(frozen=True, slots=True)
class Retained:
    """A completed record as retention sees it. ``refers_to``: earlier checkpoints whose pieces it names."""

    checkpoint: int
    kind: RecordKind
    refers_to: frozenset[int] = field(default_factory=frozenset)


class RetentionReason(StrEnum):
    """Why a record stays, in the order of the checks."""

    PINNED = "it is a savepoint or the checkpoint 0 in force"
    REFERRED = "a savepoint refers to it"
    UNCONFIRMED = "not all of its commits are confirmed"
    NEEDED = "no newer one has completed with all commits confirmed"
    RECENT = "it is one of the newest, of which some are retained"


NOT_COUNTED = frozenset({RecordKind.SAVEPOINT, RecordKind.ZERO})


def retained(record: CheckpointRecord) -> Retained:
    """Reduce a record to the facts that retention needs."""
    earlier = frozenset(commit.checkpoint for commit in record.uncommitted) - {record.checkpoint}
    return Retained(record.checkpoint, record.kind, earlier)


def judge(
    records: Iterable[Retained], unconfirmed: Collection[int], max_retained: int
) -> Mapping[int, RetentionReason | None]:
    """Why each completed record stays; None: it may be deleted. ``unconfirmed``: checkpoints with an unconfirmed
    commit."""
    ordered = sorted(records, key=lambda record: record.checkpoint)
    referred = {earlier for record in ordered if record.kind is RecordKind.SAVEPOINT for earlier in record.refers_to}
    confirmed = max((record.checkpoint for record in ordered if record.checkpoint not in unconfirmed), default=0)
    zero = max((record.checkpoint for record in ordered if record.kind is RecordKind.ZERO), default=-1)
    counted = [record.checkpoint for record in ordered if record.kind not in NOT_COUNTED]
    recent = set(counted[-max_retained:])

    def why(record: Retained) -> RetentionReason | None:
        if record.kind is RecordKind.SAVEPOINT or record.checkpoint == zero:
            return RetentionReason.PINNED
        if record.checkpoint in referred:
            return RetentionReason.REFERRED
        if record.checkpoint in unconfirmed:
            return RetentionReason.UNCONFIRMED
        if record.checkpoint >= confirmed:
            return RetentionReason.NEEDED
        return RetentionReason.RECENT if record.checkpoint in recent else None

    return {record.checkpoint: why(record) for record in ordered}


def to_delete(records: Iterable[Retained], unconfirmed: Collection[int], max_retained: int) -> tuple[int, ...]:
    """The records that may be deleted, oldest first."""
    return tuple(checkpoint for checkpoint, keep in judge(records, unconfirmed, max_retained).items() if keep is None)


def subsumed(pending: Iterable[PendingCheckpoint], completed: int) -> tuple[PendingCheckpoint, ...]:
    """The pending checkpoints that the completion of ``completed`` subsumes, oldest first (RT7)."""
    needless = (older for older in pending if older.checkpoint < completed and older.abortable)
    return tuple(sorted(needless, key=lambda older: older.checkpoint))
