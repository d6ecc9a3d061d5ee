"""What follows from each reason, and the counter of failed checkpoints: O4.11, I15."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.coordinator.failure_policy import POLICIES, FailedInARow, FailureVerdict, explain
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind

COUNTED = {Reason.EXPIRED, Reason.DECLINED, Reason.STORE_FAILED, Reason.SNAPSHOT_FAILED}
DEADLY = {
    Reason.GAP,
    Reason.LOST,
    Reason.FENCED,
    Reason.FOREIGN,
    Reason.TOO_MANY_FAILED_CHECKPOINTS,
}
HOPELESS = DEADLY | {
    Reason.UNIT_REFUSED,
    Reason.COMMIT_REFUSED,
    Reason.SHUT_DOWN,
    Reason.PERIODIC_OFF,
    Reason.NOT_POSSIBLE,
    Reason.OPERATION_ENDED,
    Reason.CANCELLED,
}


def test_every_reason_has_a_row() -> None:
    """A reason that is added without a decision is found here (FP1)."""
    assert list(POLICIES) == list(Reason)


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.name)
def test_each_row_says_what_was_decided(reason: Reason) -> None:
    """Which reasons count, which end the pipeline, which may pass by themselves."""
    policy = POLICIES[reason]

    assert policy.counts is (reason in COUNTED)
    assert policy.fails is (reason in DEADLY)
    assert policy.retriable is (reason not in HOPELESS)


def test_whatever_ends_a_pipeline_says_what_to_do() -> None:
    """A job that ended overnight tells its reader the next step."""
    assert [reason for reason in DEADLY | COUNTED if not POLICIES[reason].remedy] == []


def test_an_explanation_holds_reason_and_remedy() -> None:
    """Both, where there is something to do; the reason alone, where nothing is wrong."""
    assert explain(Reason.EXPIRED).startswith("it was not acknowledged in time: raise checkpoint.timeout")
    assert explain(Reason.SUBSUMED) == "a newer checkpoint completed first"


@pytest.mark.parametrize(("tolerable", "failing"), [(0, 1), (1, 2), (3, 4)])
def test_i15_so_many_in_a_row_are_borne_and_one_more_is_not(tolerable: int, failing: int) -> None:
    """``tolerable-failures`` failures are tolerable."""
    failed = FailedInARow()
    verdicts = []
    for _ in range(failing):
        failed = failed.aborted(RecordKind.PERIODIC, Reason.EXPIRED)
        verdicts.append(failed.verdict(tolerable))

    assert verdicts == [FailureVerdict.GO_ON] * tolerable + [FailureVerdict.FAIL]


def test_i15_a_success_resets_the_counter() -> None:
    """Only failures in a row say that something is wrong."""
    failed = FailedInARow(3).completed().aborted(RecordKind.PERIODIC, Reason.DECLINED)

    assert failed == FailedInARow(1)


@pytest.mark.parametrize("reason", [Reason.SUBSUMED, Reason.RESTARTING, Reason.OPERATION_ENDED, Reason.CANCELLED])
def test_o4_11_what_was_given_up_for_something_else_neither_counts_nor_resets(reason: Reason) -> None:
    """A restart says nothing about checkpoints."""
    assert FailedInARow(2).aborted(RecordKind.PERIODIC, reason) == FailedInARow(2)


@pytest.mark.parametrize(
    ("kind", "count"),
    [(RecordKind.PERIODIC, 1), (RecordKind.FINAL, 1), (RecordKind.SAVEPOINT, 0)],
)
def test_a_failed_savepoint_is_its_asker_s_affair(kind: RecordKind, count: int) -> None:
    """Who asks four times for a savepoint in a full place does not end the job (FP5)."""
    assert FailedInARow().aborted(kind, Reason.STORE_FAILED) == FailedInARow(count)


@given(st.lists(st.sampled_from([None, *Reason])), st.integers(0, 5))
def test_i15_the_verdict_is_that_of_the_longest_run_at_the_end(ends: list[Reason | None], tolerable: int) -> None:
    """For any history: the counted ones since the last success, and nothing else."""
    failed = FailedInARow()
    for end in ends:
        failed = failed.completed() if end is None else failed.aborted(RecordKind.PERIODIC, end)
    since = ends[len(ends) - ends[::-1].index(None) :] if None in ends else ends
    run = sum(end in COUNTED for end in since)

    assert failed.count == run
    assert failed.verdict(tolerable) is (FailureVerdict.FAIL if run > tolerable else FailureVerdict.GO_ON)
