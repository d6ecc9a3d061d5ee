"""One checkpoint in flight: O4.5, O4.9, O4.10, O4.11, I9, I11, I12, I37, F14, F15, F16; and a rule machine of messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from seatunnel_py.protocol.coordinator.events import Acknowledged, Declined
from seatunnel_py.protocol.coordinator.pending import AnswerOutcome, PendingCheckpoint
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import CheckpointState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind, SubtaskSnapshot

A0, A1, B0 = Subtask("a", 0), Subtask("a", 1), Subtask("b")
STRANGER = Subtask("a", 2)
EVERYBODY = (A0, A1, B0)
EPOCHS = {"a": 2, "b": 5, "isolated": 1}
J, N = 3, 7


def made() -> PendingCheckpoint:
    return PendingCheckpoint(N, J, EVERYBODY, EPOCHS, started_at=100, expires_at=160)


def ack(
    subtask: Subtask = A0, *, epoch: int | None = None, incarnation: int = J, checkpoint: int = N, state: int = 0
) -> Acknowledged:
    lived = EPOCHS.get(subtask.vertex, 1) if epoch is None else epoch
    return Acknowledged(101, incarnation, lived, subtask, checkpoint, SubtaskSnapshot(state=state))


def no(subtask: Subtask = A0, *, epoch: int | None = None, reason: Reason = Reason.DECLINED) -> Declined:
    return Declined(101, J, EPOCHS.get(subtask.vertex, 1) if epoch is None else epoch, subtask, N, reason)


def complete() -> PendingCheckpoint:
    pending = made()
    for subtask in EVERYBODY:
        pending.acknowledge(ack(subtask))
    return pending


def storing() -> PendingCheckpoint:
    pending = complete()
    pending.store()
    return pending


def completed() -> PendingCheckpoint:
    pending = storing()
    pending.stored()
    return pending


def aborted() -> PendingCheckpoint:
    pending = made()
    pending.abort(Reason.EXPIRED)
    return pending


# ---------------------------------------------------------------- O4.5, O4.9, O4.10


def test_o4_5_it_is_created_with_whom_it_waits_for_and_until_when() -> None:
    """Everything that its end depends on is fixed when it begins."""
    stop = Operation(OperationKind.STOP)
    pending = PendingCheckpoint(
        N, J, (B0, A0), EPOCHS, started_at=100, expires_at=160, kind=RecordKind.SAVEPOINT, operation=stop, name="mine"
    )

    assert pending.missing == (A0, B0)
    assert (pending.checkpoint, pending.incarnation, pending.epochs) == (N, J, EPOCHS)
    assert (pending.started_at, pending.expires_at) == (100, 160)
    assert (pending.kind, pending.operation, pending.name) == (RecordKind.SAVEPOINT, stop, "mine")
    assert pending.state is CheckpointState.PENDING


def test_by_default_it_is_a_periodic_aligned_snapshot() -> None:
    """What a timer asks for."""
    pending = made()

    assert (pending.kind, pending.operation, pending.unaligned) == (RecordKind.PERIODIC, Operation(), False)


def test_waiting_for_nobody_is_a_mistake() -> None:
    """It would be pending for ever: nothing is left to acknowledge it."""
    with pytest.raises(LocalProtocolError, match="waits for no subtask"):
        PendingCheckpoint(N, J, (), EPOCHS, started_at=0, expires_at=1)


def test_epochs_that_change_later_do_not_change_what_it_expects() -> None:
    """The coordinator bumps its own map at a restart; this checkpoint belongs to the lives before it (I24)."""
    epochs = dict(EPOCHS)
    pending = PendingCheckpoint(N, J, EVERYBODY, epochs, started_at=100, expires_at=160)
    epochs["a"] = 3

    assert pending.acknowledge(ack(epoch=3)) is AnswerOutcome.UNKNOWN


OUTCOMES = {
    "the one that is waited for": (ack(), AnswerOutcome.SUCCESS),
    "nobody who is waited for": (ack(STRANGER), AnswerOutcome.UNKNOWN),
    "a vertex that nobody knows": (ack(Subtask("c")), AnswerOutcome.UNKNOWN),
    "an isolated vertex": (ack(Subtask("isolated")), AnswerOutcome.UNKNOWN),
    "an older life (I37, F15)": (ack(epoch=1), AnswerOutcome.DISCARDED),
    "a life that is not known yet": (ack(epoch=3), AnswerOutcome.UNKNOWN),
    "an older driver's": (ack(incarnation=J - 1, epoch=9), AnswerOutcome.DISCARDED),
    "a newer driver's": (ack(incarnation=J + 1, epoch=1), AnswerOutcome.UNKNOWN),
}


@pytest.mark.parametrize(("answer", "outcome"), OUTCOMES.values(), ids=OUTCOMES)
def test_o4_9_the_outcome_of_an_acknowledgement(answer: Acknowledged, outcome: AnswerOutcome) -> None:
    """A closed list of answers, and only SUCCESS changes anything."""
    pending = made()

    assert pending.acknowledge(answer) is outcome
    assert pending.missing == ((A1, B0) if outcome is AnswerOutcome.SUCCESS else EVERYBODY)


def test_o4_9_f14_a_duplicate_changes_nothing() -> None:
    """Not even when it says something else: the first answer is the one that counts (I9)."""
    pending = made()
    pending.acknowledge(ack(state=1))

    assert pending.acknowledge(ack(state=2)) is AnswerOutcome.DUPLICATE
    assert pending.snapshots == {A0: SubtaskSnapshot(state=1)}
    assert pending.missing == (A1, B0)


def test_o4_10_the_last_one_makes_it_complete() -> None:
    """In whatever order they come (F14); not one before."""
    for order in ((A0, A1, B0), (B0, A1, A0), (A1, B0, A0)):
        pending = made()
        seen = []
        for subtask in order:
            pending.acknowledge(ack(subtask))
            seen.append(pending.complete)

        assert seen == [False, False, True]


def test_o4_10_from_complete_to_completed() -> None:
    """Complete, handed to the store, durable: three steps, and the snapshots go into the record."""
    pending = complete()
    snapshots = pending.store()

    assert snapshots.keys() == set(EVERYBODY)
    assert (pending.state, pending.complete, pending.ended) == (CheckpointState.STORING, False, False)
    pending.stored()
    assert (pending.state, pending.ended, pending.reason) == (CheckpointState.COMPLETED, True, None)


def test_i9_what_is_not_complete_cannot_be_stored() -> None:
    """A record without somebody's part would be a lie."""
    pending = made()
    pending.acknowledge(ack(A0))

    with pytest.raises(LocalProtocolError, match="store cannot happen when pending"):
        pending.store()


def test_i10_without_the_store_s_word_it_has_not_completed() -> None:
    """Neither when everybody has acknowledged, nor twice."""
    for pending in (made(), complete(), completed(), aborted()):
        with pytest.raises(LocalProtocolError, match="stored cannot happen"):
            pending.stored()


def test_f22_a_failed_store_aborts_it() -> None:
    """The only other word of the store; what was collected is given up."""
    pending = storing()
    pending.not_stored()

    assert (pending.state, pending.reason) == (CheckpointState.ABORTED, Reason.STORE_FAILED)
    assert pending.snapshots == {}


def test_i34_a_fenced_store_says_so() -> None:
    """The reason is handed through."""
    pending = storing()
    pending.not_stored(Reason.FENCED)

    assert pending.reason is Reason.FENCED


# ---------------------------------------------------------------- O4.11: declines and expiries

DECLINES = {
    "by one that is waited for": (no(reason=Reason.SNAPSHOT_FAILED), AnswerOutcome.SUCCESS),
    "by a stranger": (no(STRANGER), AnswerOutcome.UNKNOWN),
    "by an older life": (no(epoch=1), AnswerOutcome.DISCARDED),
    "by one that has acknowledged": (no(B0), AnswerOutcome.DUPLICATE),
}


@pytest.mark.parametrize(("answer", "outcome"), DECLINES.values(), ids=DECLINES)
def test_o4_11_only_a_decline_of_one_that_is_waited_for_ends_it(answer: Declined, outcome: AnswerOutcome) -> None:
    """With the reason that it gives."""
    pending = made()
    pending.acknowledge(ack(B0))

    assert pending.decline(answer) is outcome
    assert pending.reason is (Reason.SNAPSHOT_FAILED if outcome is AnswerOutcome.SUCCESS else None)
    assert pending.ended is (outcome is AnswerOutcome.SUCCESS)


@pytest.mark.parametrize(("now", "due"), [(159.9, False), (160, True), (1e9, True), (0, False)])
def test_o4_11_it_expires_at_its_time(now: float, due: bool) -> None:
    """Not before; a clock that jumps moves nothing but this (I49)."""
    assert made().expired(now) is due
    assert complete().expired(now) is due


@pytest.mark.parametrize("make", [storing, completed, aborted])
def test_what_is_in_the_store_or_has_ended_does_not_expire(make: Callable[[], PendingCheckpoint]) -> None:
    """A slow store is the store's affair (PE7)."""
    assert not make().expired(1e9)


# ---------------------------------------------------------------- I12: one end


@pytest.mark.parametrize("make", [made, complete])
def test_i12_what_is_open_can_be_given_up_once(make: Callable[[], PendingCheckpoint]) -> None:
    """The first reason stays; what was collected is given up."""
    pending = make()

    assert pending.abort(Reason.RESTARTING)
    assert not pending.abort(Reason.EXPIRED)
    assert (pending.state, pending.reason, pending.snapshots) == (CheckpointState.ABORTED, Reason.RESTARTING, {})


def test_i12_a_completed_one_stays_completed() -> None:
    """Whoever comes too late with an abort is told so."""
    pending = completed()

    assert not pending.abort(Reason.EXPIRED)
    assert (pending.state, pending.reason) == (CheckpointState.COMPLETED, None)


def test_i10_what_the_store_has_in_hand_is_not_given_up() -> None:
    """Its record may be durable already: an abort now could not be made true."""
    pending = storing()

    assert not pending.abort(Reason.RESTARTING)
    pending.stored()
    assert pending.state is CheckpointState.COMPLETED


@pytest.mark.parametrize("make", [completed, aborted])
def test_f16_a_late_acknowledgement_has_no_effect(make: Callable[[], PendingCheckpoint]) -> None:
    """Neither of one that was waited for, nor of a stranger, nor a decline; nothing is kept of it."""
    pending = make()
    before = (pending.state, pending.reason, pending.snapshots, pending.missing)

    assert pending.acknowledge(ack()) is AnswerOutcome.DISCARDED
    assert pending.acknowledge(ack(STRANGER)) is AnswerOutcome.DISCARDED
    assert pending.decline(no()) is AnswerOutcome.DISCARDED
    assert (pending.state, pending.reason, pending.snapshots, pending.missing) == before


def test_i11_an_answer_about_another_checkpoint_is_a_mistake_of_ours() -> None:
    """Ids are never used twice, so whoever looks it up by its id cannot mix them up."""
    with pytest.raises(LocalProtocolError, match="about checkpoint 6 was given to 7"):
        made().acknowledge(ack(checkpoint=6))


def test_what_is_handed_out_is_a_value() -> None:
    """Nobody changes what is collected by changing what was read."""
    pending = made()
    pending.acknowledge(ack())
    read = pending.snapshots
    assert isinstance(read, dict)
    read.clear()

    assert pending.snapshots.keys() == {A0}


# ---------------------------------------------------------------- F14, F15, F16, I9, I12 in any order


class Messages(RuleBasedStateMachine):
    """Messages come late, twice, in any order, from past and unknown lives; beside it a model that is a set."""

    def __init__(self) -> None:
        super().__init__()
        self.pending = made()
        self.first: dict[Subtask, int] = {}
        self.asked = self.in_store = False
        self.end: Reason | str | None = None
        self.said = 0

    @rule(subtask=st.sampled_from(EVERYBODY))
    def current(self, subtask: Subtask) -> None:
        self.said += 1
        outcome = self.pending.acknowledge(ack(subtask, state=self.said))
        if self.end is not None:
            assert outcome is AnswerOutcome.DISCARDED
        elif subtask in self.first:
            assert outcome is AnswerOutcome.DUPLICATE
        else:
            assert outcome is AnswerOutcome.SUCCESS
            self.first[subtask] = self.said

    @rule(subtask=st.sampled_from(EVERYBODY), behind=st.integers(1, 2), decline=st.booleans())
    def past_life(self, subtask: Subtask, behind: int, decline: bool) -> None:
        epoch = EPOCHS[subtask.vertex] - behind
        answer = (
            self.pending.decline(no(subtask, epoch=epoch))
            if decline
            else self.pending.acknowledge(ack(subtask, epoch=epoch))
        )
        assert answer is AnswerOutcome.DISCARDED

    @rule(incarnation=st.integers(0, J - 1), subtask=st.sampled_from(EVERYBODY), epoch=st.integers(0, 9))
    def past_driver(self, incarnation: int, subtask: Subtask, epoch: int) -> None:
        answer = ack(subtask, incarnation=incarnation, epoch=epoch)
        assert self.pending.acknowledge(answer) is AnswerOutcome.DISCARDED

    @rule(ahead=st.integers(0, 2))
    def unknown(self, ahead: int) -> None:
        """A stranger, or somebody out of a life that this checkpoint does not know."""
        answer = ack(A0, epoch=EPOCHS["a"] + ahead) if ahead else ack(STRANGER)
        outcome = self.pending.acknowledge(answer)
        assert outcome is (AnswerOutcome.UNKNOWN if self.end is None else AnswerOutcome.DISCARDED)

    @rule(subtask=st.sampled_from(EVERYBODY))
    def decline(self, subtask: Subtask) -> None:
        outcome = self.pending.decline(no(subtask))
        if self.end is not None:
            assert outcome is AnswerOutcome.DISCARDED
        elif subtask in self.first:
            assert outcome is AnswerOutcome.DUPLICATE
        else:
            assert outcome is AnswerOutcome.SUCCESS
            self.end = Reason.DECLINED

    @rule(reason=st.sampled_from([Reason.EXPIRED, Reason.RESTARTING, Reason.SUBSUMED]))
    def abort(self, reason: Reason) -> None:
        assert self.pending.abort(reason) is (self.end is None and not self.in_store)
        if self.end is None and not self.in_store:
            self.end = reason

    @precondition(lambda self: self.pending.complete)
    @rule()
    def store(self) -> None:
        taken = self.pending.store()
        self.in_store = True
        assert {subtask: part.state for subtask, part in taken.items()} == self.first

    @precondition(lambda self: self.in_store and self.end is None)
    @rule(durable=st.booleans())
    def store_answers(self, durable: bool) -> None:
        if durable:
            self.pending.stored()
        else:
            self.pending.not_stored()
        self.end = "completed" if durable else Reason.STORE_FAILED

    @invariant()
    def complete_exactly_when_each_has_acknowledged_once(self) -> None:
        """I9: one acknowledgement of the current epoch of each, no more and no less."""
        everybody = self.first.keys() == set(EVERYBODY)
        assert self.pending.complete is (everybody and self.end is None and not self.in_store)
        assert set(self.pending.missing) == set(EVERYBODY) - self.first.keys()
        if self.end == "completed":
            assert everybody

    @invariant()
    def one_end(self) -> None:
        """I12: it ends once, and stays as it ended."""
        assert self.pending.ended is (self.end is not None)
        assert self.pending.reason is (self.end if isinstance(self.end, Reason) else None)
        if isinstance(self.end, Reason):
            assert self.pending.snapshots == {}
        else:
            assert {subtask: part.state for subtask, part in self.pending.snapshots.items()} == self.first


TestMessages = Messages.TestCase
TestMessages.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
