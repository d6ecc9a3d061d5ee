"""What stays and what may go: O4.10, I17, I18, I44, F26."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.commit.retention import Retained, RetentionReason, judge, retained, subsumed, to_delete
from seatunnel_py.protocol.coordinator.events import Acknowledged
from seatunnel_py.protocol.coordinator.pending import PendingCheckpoint
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology

ZERO, PERIODIC, SAVEPOINT, FINAL = RecordKind


def periodic(*checkpoints: int) -> list[Retained]:
    return [Retained(checkpoint, PERIODIC) for checkpoint in checkpoints]


# ---------------------------------------------------------------- I18, rule by rule

CASES = {
    "the newest stay": (periodic(1, 2, 3, 4), set(), 2, (1, 2)),
    "fewer than allowed": (periodic(1, 2), set(), 3, ()),
    "nothing yet": ([], set(), 3, ()),
    "the newest alone, unconfirmed": (periodic(1), {1}, 1, ()),
    "the newer one is not confirmed": (periodic(1, 2), {2}, 1, ()),
    "two newer ones, none confirmed": (periodic(1, 2, 3), {2, 3}, 1, ()),
    "a newer one is confirmed, the newest is not": (periodic(1, 2, 3), {3}, 1, (1,)),
    "an older one lags in another scope": (periodic(1, 2, 3), {1}, 1, (2,)),
    "order of listing does not matter": (periodic(3, 1, 2), set(), 1, (1, 2)),
}


@pytest.mark.parametrize(("records", "unconfirmed", "limit", "gone"), CASES.values(), ids=CASES)
def test_i18_deleted_only_when_a_newer_one_is_complete_and_confirmed(
    records: list[Retained], unconfirmed: set[int], limit: int, gone: tuple[int, ...]
) -> None:
    """A newer one completed, all commits of both are confirmed, and there are enough newer ones."""
    assert to_delete(records, unconfirmed, limit) == gone


def test_i18_what_a_savepoint_refers_to_stays() -> None:
    """Its record names pieces that were staged under an earlier checkpoint."""
    records = [*periodic(1, 2), Retained(3, SAVEPOINT, frozenset({1})), *periodic(4, 5)]

    assert to_delete(records, (), 1) == (2, 4)


def test_i18_only_savepoints_refer() -> None:
    """A later ordinary record carries what was unconfirmed then; confirmations release it."""
    records = [*periodic(1), Retained(2, PERIODIC, frozenset({1})), *periodic(3)]

    assert to_delete(records, (), 1) == (1, 2)


def test_i44_savepoints_and_checkpoint_0_are_pinned_and_not_counted() -> None:
    """However many there are, as many ordinary ones stay as without them."""
    pinned = [Retained(0, ZERO), Retained(2, SAVEPOINT), Retained(5, SAVEPOINT)]

    assert to_delete([*pinned, *periodic(1, 3, 4)], (), 2) == (1,)


def test_a_checkpoint_0_that_was_replaced_is_not_pinned() -> None:
    """Positions were void, and another one took its place; neither counts."""
    records = [Retained(0, ZERO), *periodic(1, 2), Retained(3, ZERO), *periodic(4, 5)]

    assert to_delete(records, (), 2) == (0, 1, 2)
    assert to_delete(records[:4], {3}, 2) == (0,)


def test_a_savepoint_is_a_newer_one_like_any_other() -> None:
    """It can be restored, so what is older than it is not needed for that."""
    assert to_delete([*periodic(1, 2), Retained(3, SAVEPOINT)], {2}, 1) == (1,)


def test_every_record_is_told_why_it_stays() -> None:
    """For people who look at a store that grows: the first reason that holds."""
    records = [
        Retained(0, ZERO),
        *periodic(1, 2, 3),
        Retained(4, SAVEPOINT, frozenset({1})),
        *periodic(5, 6),
        Retained(7, FINAL),
    ]

    assert judge(records, {2, 7}, 2) == {
        0: RetentionReason.PINNED,
        1: RetentionReason.REFERRED,
        2: RetentionReason.UNCONFIRMED,
        3: None,
        4: RetentionReason.PINNED,
        5: None,
        6: RetentionReason.NEEDED,
        7: RetentionReason.UNCONFIRMED,
    }
    assert judge(records, {2}, 2)[6] is RetentionReason.RECENT


def test_i18_f26_a_deletion_that_failed_is_named_again() -> None:
    """The answer depends on what is there: retention needs no memory of its own, and nothing fails with it."""
    records = periodic(1, 2, 3, 4)
    first = to_delete(records, (), 2)
    left = [record for record in records if record.checkpoint != 1]

    assert first == to_delete(records, (), 2) == (1, 2)
    assert to_delete(left, (), 2) == (2,)


@given(
    st.dictionaries(st.integers(1, 30), st.sampled_from([PERIODIC, SAVEPOINT, FINAL]), max_size=12),
    st.sets(st.integers(1, 30)),
    st.integers(1, 4),
)
def test_i17_i18_for_any_history_what_is_needed_stays(
    kinds: dict[int, RecordKind], unconfirmed: set[int], limit: int
) -> None:
    """The newest, all savepoints, all with unconfirmed commits, and a confirmed one to go back to where there is any."""
    gone = set(to_delete([Retained(checkpoint, kind) for checkpoint, kind in kinds.items()], unconfirmed, limit))
    left = kinds.keys() - gone

    assert not gone & unconfirmed
    assert not gone & {checkpoint for checkpoint, kind in kinds.items() if kind is SAVEPOINT}
    assert len(left) >= min(limit, len(kinds))
    for checkpoint in gone:
        assert any(newer > checkpoint and newer not in unconfirmed for newer in left)


def test_a_record_refers_to_the_checkpoints_whose_pieces_it_names() -> None:
    """Not to itself."""
    uncommitted = tuple(CommitRecord("sink", checkpoint, (StagedPiece(f"p{checkpoint}"),)) for checkpoint in (3, 4, 5))
    record = CheckpointRecord(5, 1, SAVEPOINT, 4, Topology(()), {}, {}, uncommitted)

    assert retained(record) == Retained(5, SAVEPOINT, frozenset({3, 4}))


# ---------------------------------------------------------------- O4.10: subsuming


def pending(checkpoint: int, kind: RecordKind = PERIODIC) -> PendingCheckpoint:
    return PendingCheckpoint(checkpoint, 1, [Subtask("a")], {"a": 1}, started_at=0, expires_at=10, kind=kind)


def test_o4_10_older_pending_ones_are_subsumed_oldest_first() -> None:
    """Newer ones go on; a savepoint is subsumed like any other; what has ended, or is in the store's hands, is not."""
    flying = [pending(number) for number in (5, 4, 1, 3)] + [pending(2, SAVEPOINT), pending(0)]
    flying[2].abort(Reason.EXPIRED)
    flying[5].acknowledge(Acknowledged(1, 1, 1, Subtask("a"), 0, SubtaskSnapshot()))
    flying[5].store()

    assert [older.checkpoint for older in subsumed(flying, 4)] == [2, 3]
