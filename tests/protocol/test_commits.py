"""The commit queue and the ledger's decision, rule by rule."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.commit.commit_queue import FINAL, CommitQueue, FailedCommit, new_commits
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, Topology, Vertex
from tests.protocol.reference.commit_life import COMMIT_LIFE, CRASH_POINTS, RECOVERY, Recorded, Stage, Step
from tests.protocol.reference.ledger import REASON_OF, LedgerRow, Verdict, claim_ledger, ledger_decision

K, L = Subtask("K"), Subtask("L")
SINKS = Topology(
    (Vertex("K", parallelism=2, sink=SinkKind.TWO_PHASE), Vertex("L", sink=SinkKind.IDEMPOTENT), Vertex("M"))
)


def pieces(*names: str) -> tuple[StagedPiece, ...]:
    return tuple(StagedPiece(name) for name in names)


def record(queue: CommitQueue, checkpoint: int, snapshots: dict[Subtask, tuple[str, ...]]) -> CheckpointRecord:
    made = {subtask: SubtaskSnapshot(pieces=pieces(*names)) for subtask, names in snapshots.items()}
    return CheckpointRecord(
        checkpoint,
        1,
        RecordKind.PERIODIC,
        checkpoint - 1,
        SINKS,
        {},
        made,
        queue.uncommitted(checkpoint, made, SINKS),
    )


def completed(queue: CommitQueue, checkpoint: int, snapshots: dict[Subtask, tuple[str, ...]]) -> CommitQueue:
    return queue.completed(record(queue, checkpoint, snapshots))


def two_waiting() -> CommitQueue:
    """Checkpoints 1 and 2 are completed; K has a commit in both, L in the second. All that may be is under way."""
    queue, _ = completed(CommitQueue(), 1, {K: ("a",)}).issue()
    queue, _ = completed(queue, 2, {K: ("a", "b"), L: ("x",)}).issue()
    return queue


# ---------------------------------------------------------------- the queue


def test_i27_nothing_is_issued_for_a_record_that_is_only_made() -> None:
    """To make a record changes nothing; only its completion does."""
    queue = CommitQueue()
    record(queue, 1, {K: ("a",)})

    assert queue.issue() == (queue, ())


def test_i27_a_completed_checkpoint_is_issued_once() -> None:
    """What is under way is not issued again."""
    queue, due = completed(CommitQueue(), 1, {K: ("a",)}).issue()

    assert due == (CommitRecord("K", 1, pieces("a")),)
    assert queue.issue()[1] == ()


def test_i30_the_next_commit_of_a_scope_follows_the_confirmation() -> None:
    """Of one scope one commit is under way; scopes do not wait for each other."""
    queue, first = completed(CommitQueue(), 1, {K: ("a",)}).issue()
    queue, other = completed(queue, 2, {K: ("a", "b"), L: ("x",)}).issue()
    queue, second = queue.confirmed("K", 1).issue()

    assert first == (CommitRecord("K", 1, pieces("a")),)
    assert other == (CommitRecord("L", 2, pieces("x")),)
    assert second == (CommitRecord("K", 2, pieces("b")),)
    assert queue.ledgers == {"K": 1}


def test_f18_a_confirmation_that_is_known_changes_nothing() -> None:
    """Repeated, late, or of a scope that has nothing waiting: the commit under way stays under way."""
    queue = two_waiting().confirmed("K", 1).issue()[0]

    assert queue.confirmed("K", 1) == queue
    assert queue.confirmed("M", 9) == queue


def test_f18_a_later_confirmation_confirms_the_earlier_ones() -> None:
    """A ledger that stands at 2 holds 1 as well."""
    queue = two_waiting().confirmed("K", 2)

    assert [commit.scope for commit in queue.waiting] == ["L"]
    assert queue.ledgers == {"K": 2}


def test_f4_a_failed_commit_is_issued_again_after_its_pause_and_stays_the_oldest() -> None:
    """Until then nothing else of its scope is issued."""
    queue, answer = two_waiting().failed("K", 1, Reason.COMMIT_FAILED)
    held, due = queue.issue()
    queue, again = held.retry("K").issue()

    assert answer is FailedCommit.RETRY
    assert due == ()
    assert again == (CommitRecord("K", 1, pieces("a")),)
    assert queue.failed("K", 1, Reason.COMMIT_FAILED)[1] is FailedCommit.RETRY


def test_f33_a_confirmation_after_a_failure_ends_the_pause() -> None:
    """The outcome was unknown, the ledger knows it: the next one is due at once."""
    queue = two_waiting().failed("K", 1, Reason.COMMIT_FAILED)[0].confirmed("K", 1)

    assert queue.issue()[1] == (CommitRecord("K", 2, pieces("b")),)


@pytest.mark.parametrize(("scope", "checkpoint"), [("K", 2), ("M", 1)])
def test_i37_a_failure_of_what_is_not_under_way_changes_nothing(scope: str, checkpoint: int) -> None:
    """Not the oldest, or not known at all."""
    queue = two_waiting()

    assert queue.failed(scope, checkpoint, Reason.LOST) == (queue, FailedCommit.STALE)


def test_i37_a_repeated_failure_changes_nothing() -> None:
    """The first one holds the scope already."""
    queue = two_waiting().failed("K", 1, Reason.COMMIT_FAILED)[0]

    assert queue.failed("K", 1, Reason.LOST) == (queue, FailedCommit.STALE)


def test_i31_lost_is_final_for_its_scope() -> None:
    """No retry brings it back, nothing of the scope follows; other scopes go on."""
    queue, answer = two_waiting().failed("K", 1, Reason.LOST)
    queue = queue.retry("K").confirmed("L", 2)
    queue, due = completed(queue, 3, {K: ("a", "b", "c"), L: ("y",)}).issue()

    assert answer is FailedCommit.END
    assert due == (CommitRecord("L", 3, pieces("y")),)
    assert queue.lag == 3


def test_i34_fenced_is_final_for_the_whole_queue() -> None:
    """A driver that was fenced in one target issues nothing in any, whatever else fails afterwards."""
    queue, answer = two_waiting().failed("K", 1, Reason.FENCED)
    queue, _ = queue.failed("L", 2, Reason.LOST)
    queue = completed(queue, 3, {K: ("c",), L: ("y",), Subtask("M"): ("m",)})

    assert answer is FailedCommit.END
    assert queue.issue() == (queue, ())


def test_commit_lag_counts_checkpoints_not_commits() -> None:
    """O4.3: two scopes of one checkpoint are one step behind."""
    assert two_waiting().lag == 2
    assert two_waiting().confirmed("K", 1).lag == 1
    assert CommitQueue().lag == 0


def test_p2_a_record_carries_everything_that_is_not_confirmed_oldest_first() -> None:
    """What is under way is not confirmed."""
    made = record(two_waiting(), 3, {K: ("b", "c"), L: ("x",)})

    assert [(one.scope, one.checkpoint) for one in made.uncommitted] == [("K", 1), ("K", 2), ("L", 2), ("K", 3)]


def test_i28_after_a_restore_everything_uncommitted_is_issued_again_oldest_first() -> None:
    """The newest record alone is enough to go on (P2)."""
    queue, due = CommitQueue.restored(record(two_waiting(), 3, {K: ("b", "c")})).issue()

    assert due == (CommitRecord("K", 1, pieces("a")), CommitRecord("L", 2, pieces("x")))
    assert queue.lag == 3


def test_i14_what_an_aborted_checkpoint_had_staged_is_committed_with_the_next() -> None:
    """Checkpoint 2 is given up: its pieces are simply carried again."""
    queue = completed(CommitQueue(), 1, {K: ("a",)})
    record(queue, 2, {K: ("a", "b")})

    assert completed(queue, 3, {K: ("a", "b", "c")}).waiting[-1] == CommitRecord("K", 3, pieces("b", "c"))


def test_i14_what_a_completed_record_contains_is_subtracted_by_name() -> None:
    """Also when it is confirmed already, and when a sink has not heard of the completion."""
    queue = two_waiting().confirmed("K", 2).confirmed("L", 2)

    assert queue.uncommitted(3, {K: SubtaskSnapshot(pieces=pieces("a", "b"))}, SINKS) == ()


def test_i14_a_sink_that_has_not_heard_of_older_completions_is_subtracted_as_well() -> None:
    """What was confirmed before the newest record was made is still in that record, and in the next snapshot."""
    queue = completed(CommitQueue(), 1, {K: ("a",)}).issue()[0].confirmed("K", 1)
    queue = completed(queue, 2, {K: ("a", "b")})

    assert completed(queue, 3, {K: ("a", "b", "c")}).waiting == (
        CommitRecord("K", 2, pieces("b")),
        CommitRecord("K", 3, pieces("c")),
    )


def test_i14_after_a_restore_what_its_record_contains_is_subtracted() -> None:
    """Sinks are restored with it: they carry it until they hear of the next completion."""
    queue = CommitQueue.restored(record(two_waiting(), 3, {K: ("b", "c")}))

    assert record(queue, 4, {K: ("b", "c", "d")}).uncommitted[len(queue.waiting) :] == (
        CommitRecord("K", 4, pieces("d")),
    )


def test_i14_a_record_made_before_the_earlier_one_was_stored_is_a_mistake_of_ours() -> None:
    """Two records on their way at once would both commit the same piece (CM7)."""
    queue = CommitQueue()
    first, second = record(queue, 1, {K: ("a",)}), record(queue, 2, {K: ("a", "b")})

    with pytest.raises(LocalProtocolError, match=r"checkpoint 2 would commit \['a'\] a second time"):
        queue.completed(first).completed(second)


def test_one_commit_for_each_sink_over_all_its_subtasks() -> None:
    """In the order of subtasks and of staging; a scope without anything new has none."""
    snapshots = {
        Subtask("K", 1): SubtaskSnapshot(pieces=pieces("k1")),
        Subtask("K", 0): SubtaskSnapshot(pieces=pieces("k0", "k00")),
        L: SubtaskSnapshot(pieces=pieces("old")),
    }

    assert new_commits(4, snapshots, frozenset({"old"}), SINKS) == (CommitRecord("K", 4, pieces("k0", "k00", "k1")),)


def test_the_last_record_of_a_bounded_job_finishes_every_scope() -> None:
    """CM5: also one that has nothing new: an empty table has to arrive as well."""
    queue, snapshots = CommitQueue(), {K: SubtaskSnapshot(pieces=pieces("k"))}

    assert queue.uncommitted(4, snapshots, SINKS) == (CommitRecord("K", 4, pieces("k")),)
    assert queue.uncommitted(4, snapshots, SINKS, final=True) == (
        CommitRecord("K", 4, pieces("k")),
        CommitRecord("L", 4, ()),
    )


def test_vertices_that_share_a_scope_become_visible_together() -> None:
    """A union writes one table: one ledger row, one commit, in the order of the vertices' names."""
    shared = Topology((Vertex("K", scope="t"), Vertex("L", scope="t")))
    snapshots = {L: SubtaskSnapshot(pieces=pieces("l")), K: SubtaskSnapshot(pieces=pieces("k"))}

    assert new_commits(4, snapshots, frozenset(), shared) == (CommitRecord("t", 4, pieces("k", "l")),)


# ---------------------------------------------------------------- the ledger

COMMIT = CommitRecord("K", 5, pieces("a"))


@pytest.mark.parametrize(
    ("ledger", "previous", "there", "verdict"),
    [
        # no row: this target has never heard of us, or has forgotten us (F34)
        (None, None, True, Verdict.APPLY),
        (None, 0, True, Verdict.APPLY),
        (None, 3, True, Verdict.GAP),
        (None, None, False, Verdict.LOST),
        # I28: what it holds is done, whether or not the pieces are still there
        (LedgerRow("l", 2, 5), 3, True, Verdict.ALREADY),
        (LedgerRow("l", 2, 5), 3, False, Verdict.ALREADY),
        (LedgerRow("l", 2, 6), 3, False, Verdict.ALREADY),
        # I30: compare and set
        (LedgerRow("l", 2, 3), 3, True, Verdict.APPLY),
        (LedgerRow("l", 1, 3), 3, True, Verdict.APPLY),
        (LedgerRow("l", 2, 2), 3, True, Verdict.GAP),
        (LedgerRow("l", 2, 2), 3, False, Verdict.GAP),
        (LedgerRow("l", 2, 2), None, True, Verdict.APPLY),
        # I31, F30: not found is not committed
        (LedgerRow("l", 2, 3), 3, False, Verdict.LOST),
        # I34: fenced, even where it is done
        (LedgerRow("l", 3, 3), 3, True, Verdict.FENCED),
        (LedgerRow("l", 3, 5), 3, True, Verdict.FENCED),
        # somebody else's: incarnations of different lineages say nothing
        (LedgerRow("other", 3, 3), 3, True, Verdict.FOREIGN),
        (LedgerRow("other", 1, 5), 3, True, Verdict.FOREIGN),
        # it remembers what the store has forgotten
        (LedgerRow("l", 2, 8), 3, True, Verdict.FOREIGN),
    ],
)
def test_i28_the_ledger_decides(ledger: LedgerRow | None, previous: int | None, there: bool, verdict: Verdict) -> None:
    """Lineage, then fence, then memory, then order, then pieces; the store's newest checkpoint is 7."""
    decided = ledger_decision(
        ledger, COMMIT, lineage="l", incarnation=2, newest=7, previous=previous, pieces_there=there
    )

    assert decided is verdict


@pytest.mark.parametrize(
    ("ledger", "claimed"),
    [
        (None, LedgerRow("l", 2, 0)),
        (LedgerRow("l", 1, 7), LedgerRow("l", 2, 7)),
        (LedgerRow("l", 2, 4), LedgerRow("l", 2, 4)),
        (LedgerRow("l", 3, 4), Verdict.FENCED),
        (LedgerRow("l", 1, 8), Verdict.FOREIGN),
        (LedgerRow("other", 1, 4), Verdict.FOREIGN),
    ],
)
def test_i38_a_driver_claims_the_ledger_before_it_reads(ledger: LedgerRow | None, claimed: LedgerRow | Verdict) -> None:
    """The claim raises the incarnation and leaves the checkpoint; the store's newest is 7."""
    assert claim_ledger(ledger, "l", 2, 7) == claimed


def test_every_verdict_has_an_answer() -> None:
    """Only what stands in the ledger is confirmed; what never will is final."""
    assert REASON_OF.keys() == set(Verdict)
    assert {verdict for verdict, reason in REASON_OF.items() if reason is None} == {Verdict.APPLY, Verdict.ALREADY}
    assert {reason for reason in REASON_OF.values() if reason is not None} <= FINAL


# ---------------------------------------------------------------- the tables


def test_every_stage_has_a_row_and_is_reached() -> None:
    """PREPARED is the start; nothing leads back to it."""
    reached = {after for stage, row in COMMIT_LIFE.items() for after in row.values() if after is not stage}

    assert COMMIT_LIFE.keys() == set(Stage)
    assert reached == set(Stage) - {Stage.PREPARED}


@pytest.mark.parametrize("stage", [Stage.COMPLETED, Stage.COMMITTED, Stage.CONFIRMED])
def test_i33_what_a_record_names_is_never_dropped(stage: Stage) -> None:
    """Sweeping is for what is prepared only; applying for what is completed (I27)."""
    assert Step.SWEEP not in COMMIT_LIFE[stage]
    assert Step.APPLY not in COMMIT_LIFE[Stage.PREPARED]


@pytest.mark.parametrize("stage", [Stage.COMMITTED, Stage.CONFIRMED])
def test_i28_a_repeated_commit_leads_nowhere_else(stage: Stage) -> None:
    """Neither does a failure that comes late."""
    assert COMMIT_LIFE[stage][Step.APPLY] is COMMIT_LIFE[stage][Step.FAIL] is stage


def test_the_recovery_table_is_total_and_names_the_twelve_points() -> None:
    """Three facts, every combination; p1 to p12 in their order."""
    assert RECOVERY.keys() == {
        (one, holds, there) for one in Recorded for holds in (True, False) for there in (True, False)
    }
    assert [name.split()[0] for name, *_ in CRASH_POINTS] == [f"p{number}" for number in range(1, 13)]
