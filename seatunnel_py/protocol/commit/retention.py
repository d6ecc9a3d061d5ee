"""What may be deleted, what must stay and why, and which pending checkpoints a completed one makes needless.

Rules. (RT1) A savepoint is pinned: retention neither deletes nor counts it (I44); so is checkpoint 0, which says what
was decided at the start, until another one takes its place (void positions). (RT2) What a savepoint refers to stays.
(RT3) A checkpoint with an unconfirmed commit of its own stays: its pieces are all that is left of those rows (I29).
What it carries on of earlier ones does not keep it, for the newest carries that too (CM5): else a target that is away
would keep every record. (RT4) A checkpoint goes only when a newer one has completed and all commits of that one itself
are confirmed (I18); so the newest always stays (I17). (RT5) The newest ``max_retained`` stay besides. (RT6) The answer
follows from what is listed, in whatever order: what failed to be deleted and is listed again is named again (F26).
(RT7) A completed checkpoint makes every older one needless that can still be given up (O4.10); savepoints too, because
commits of a scope go in order (I30): whoever asked for one gets a new one.

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
    """What retention has to know of a completed record. ``refers_to``: earlier checkpoints whose pieces it names."""

    checkpoint: int
    kind: RecordKind
    refers_to: frozenset[int] = field(default_factory=frozenset)


class RetentionReason(StrEnum):
    """Why a record stays, in the order in which it is asked."""

    PINNED = "it is a savepoint or the checkpoint 0 in force"
    REFERRED = "a savepoint refers to it"
    UNCONFIRMED = "not all of its commits are confirmed"
    NEEDED = "no newer one has completed with all commits confirmed"
    RECENT = "it is one of the newest, of which some are retained"


NOT_COUNTED = frozenset({RecordKind.SAVEPOINT, RecordKind.ZERO})


def retained(record: CheckpointRecord) -> Retained:
    """What retention has to know of this record."""
    earlier = frozenset(commit.checkpoint for commit in record.uncommitted) - {record.checkpoint}
    return Retained(record.checkpoint, record.kind, earlier)


def judge(
    records: Iterable[Retained], unconfirmed: Collection[int], max_retained: int
) -> Mapping[int, RetentionReason | None]:
    """Why each completed record stays; None: it may go. ``unconfirmed``: checkpoints with an unconfirmed commit."""
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
    """The records that may go, oldest first."""
    return tuple(checkpoint for checkpoint, keep in judge(records, unconfirmed, max_retained).items() if keep is None)


def subsumed(pending: Iterable[PendingCheckpoint], completed: int) -> tuple[PendingCheckpoint, ...]:
    """Which of these the completion of ``completed`` makes needless, oldest first (RT7)."""
    needless = (older for older in pending if older.checkpoint < completed and older.abortable)
    return tuple(sorted(needless, key=lambda older: older.checkpoint))
