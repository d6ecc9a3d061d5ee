"""Which jobs `jobs prune` chooses, and which ones `jobs rm` keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.cli.removal.removal import prune_rule
from seatunnel_py.cli.removal.removal_rules import Consent, EndedJob, PruneRule, RemovalFacts, age, obstacle
from seatunnel_py.errors import SeaTunnelError

NOW = 1_000_000.0
STATES = ("SUCCESS", "FAILED", "RUNNING", "DROPPED")

jobs = st.lists(
    st.builds(
        EndedJob,
        st.uuids().map(str),
        st.sampled_from(("shop", "orders")),
        st.sampled_from(STATES),
        st.floats(0, NOW, allow_nan=False),
    ),
    unique_by=lambda job: job.job_id,
    max_size=20,
)
rules = st.builds(
    PruneRule,
    st.none() | st.floats(0, NOW, allow_nan=False),
    st.none() | st.integers(0, 4),
    st.sets(st.sampled_from(STATES), min_size=1).map(frozenset),
)


@given(jobs, rules)
def test_rules_restrict_each_other(found: list[EndedJob], rule: PruneRule) -> None:
    chosen = rule.chosen(found, NOW)
    assert all(job.state in rule.states for job in chosen)
    assert all(NOW - job.ended >= (rule.older or 0) for job in chosen)
    for name in {job.name for job in found}:
        of_name = sorted((job for job in found if job.name == name and job.state in rule.states), key=lambda j: j.ended)
        gone = [job for job in chosen if job.name == name]
        if rule.keep is not None:
            assert len(gone) <= max(0, len(of_name) - rule.keep)
        assert [job.ended for job in gone] == [job.ended for job in of_name[: len(gone)]], "the oldest ones go"


def test_each_reason_keeps_the_job_and_names_what_helps() -> None:
    every = (
        (RemovalFacts("a", running=True), "jobs cancel a"),
        (RemovalFacts("a", savepoints=("one", "two")), "state drop one"),
        (RemovalFacts("a", keeps_log=True), "jobs drop a --yes"),
        (RemovalFacts("a", replay="a.replay1"), "once that has ended"),
        (RemovalFacts("a.replay1", replay_of="a"), "quarantine replay a"),
    )
    for facts, remedy in every:
        kept = obstacle(facts, Consent(unfinished=True, bad_rows=True))
        assert kept is not None and remedy in kept.remedy and kept.why
    assert obstacle(RemovalFacts("a"), Consent()) is None


def test_state_and_bad_rows_go_only_with_consent() -> None:
    for facts, consent, option in (
        (RemovalFacts("a", can_go_on=True), Consent(unfinished=True), "--unfinished"),
        (RemovalFacts("a", bad_rows=1), Consent(bad_rows=True), "--bad-rows"),
    ):
        kept = obstacle(facts, Consent())
        assert kept is not None and option in kept.remedy
        assert obstacle(facts, consent) is None


def test_ages() -> None:
    assert [age(text) for text in ("90s", "30m", "12h", "7d", "1.5d", "2w")] == [
        90, 1_800, 43_200, 604_800, 129_600, 1_209_600,
    ]  # fmt: skip
    for wrong in ("7", "d", "7 years", "-1d", ""):
        with pytest.raises(SeaTunnelError, match="is not an age"):
            age(wrong)


def test_a_rule_is_needed_and_states_may_be_a_list() -> None:
    with pytest.raises(SeaTunnelError, match="prune needs a rule"):
        prune_rule(None, None, ["failed"])
    assert prune_rule("7d", None, []) == PruneRule(604_800.0)
    rule = prune_rule(None, 2, ["done,failed", "killed"])
    assert rule.states == {"SUCCESS", "FAILED", "KILLED"} and rule.named
