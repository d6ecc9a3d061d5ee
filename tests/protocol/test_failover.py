"""What a failure leads to: both tables, row by row and whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.coordinator.failure_policy import POLICIES
from seatunnel_py.protocol.failover.decisions import (
    FIRST_LEVEL,
    REPLAYS,
    Consequence,
    FailoverAction,
    FailoverDecision,
    FailoverPolicy,
    Level,
    Repeatability,
    RetryLimits,
    consequences,
    decide,
    distrust,
    duplicates_possible,
    losses_possible,
    upstream_determinism,
)
from seatunnel_py.protocol.failover.regions import plan_restart, restart_set
from seatunnel_py.protocol.model.backoff import Backoff, Retries
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import JournalUse
from seatunnel_py.protocol.model.topology import SinkKind, Topology, VertexDeterminism
from tests.protocol.graphs import CHAIN, JOIN, LOOP, SIBLINGS, graph, names, topologies

SAME, REORDERED, OTHER = VertexDeterminism.DETERMINATE, VertexDeterminism.UNORDERED, VertexDeterminism.INDETERMINATE

# ---------------------------------------------------------------- sinks


def test_every_kind_of_sink_below_every_upstream_has_a_row() -> None:
    """FO1."""
    assert set(REPLAYS) == {(sink, upstream) for sink in SinkKind for upstream in VertexDeterminism}


@pytest.mark.parametrize(
    ("sink", "upstream", "replay"),
    [
        # the failover design: neither idempotent nor two-phase
        (SinkKind.AT_LEAST_ONCE, SAME, Repeatability.REPORT_DUPLICATES),
        (SinkKind.AT_LEAST_ONCE, OTHER, Repeatability.REPORT_DUPLICATES),
        # idempotent
        (SinkKind.IDEMPOTENT, SAME, Repeatability.FREELY),
        (SinkKind.IDEMPOTENT, OTHER, Repeatability.FREELY),
        # two-phase with a determinate, and with an indeterminate source
        (SinkKind.TWO_PHASE, SAME, Repeatability.SKIP_BY_ID),
        (SinkKind.TWO_PHASE, OTHER, Repeatability.RESTART_DESCENDANTS),
    ],
)
def test_the_capability_rules(sink: SinkKind, upstream: VertexDeterminism, replay: Repeatability) -> None:
    """O5.2, FO1, FO2: per sink of the region."""
    source = {SAME: "", OTHER: "src"}[upstream]
    topology = graph(SIBLINGS, sinks={"a": sink, "b": SinkKind.TWO_PHASE}, indeterminate=source)
    region = restart_set(topology, ["a"])

    assert consequences(topology, region)[0] == Consequence("a", upstream, replay)
    # Where ids mean other rows the sibling restarts whatever the sinks are, else it goes on (I20, I21).
    assert ("b" in region) is (upstream is OTHER)


@pytest.mark.parametrize("sink", [kind for kind in SinkKind if kind is not SinkKind.NONE])
def test_another_order_changes_nothing(sink: SinkKind) -> None:
    """FO1: an unordered upstream gives the same rows under the same ids."""
    assert REPLAYS[sink, REORDERED] is REPLAYS[sink, SAME]


def test_pieces_that_cannot_be_dropped_fail_the_pipeline_only_below_an_indeterminate_upstream() -> None:
    """FO2: "or fail the pipeline where that cannot be done"."""
    kinds = {"a": SinkKind.TWO_PHASE, "b": SinkKind.IDEMPOTENT}
    shaky, steady = (graph(SIBLINGS, sinks=kinds, indeterminate=which) for which in ("src", ""))
    region = restart_set(shaky, ["b"])

    assert [one.replay for one in consequences(shaky, region)] == [
        Repeatability.RESTART_DESCENDANTS,
        Repeatability.FREELY,
    ]
    assert [one.replay for one in consequences(shaky, region, ["a", "b"])] == [
        Repeatability.FAIL_PIPELINE,
        Repeatability.FREELY,
    ]
    assert [one.replay for one in consequences(steady, ["src", "a", "b"], ["a"])] == [
        Repeatability.SKIP_BY_ID,
        Repeatability.FREELY,
    ]


def test_only_sinks_of_the_region_are_spoken_of() -> None:
    """FO3, I21: a survivor drops by id what comes again, whatever it promises."""
    topology = graph(SIBLINGS, sinks={"a": SinkKind.AT_LEAST_ONCE, "b": SinkKind.AT_LEAST_ONCE})

    assert [one.sink for one in consequences(topology, ["src", "a"])] == ["a"]
    assert duplicates_possible(topology, ["src", "a"]) == names("a")
    assert duplicates_possible(topology, ["src"]) == names("")


def test_duplicates_are_named_per_sink() -> None:
    """FO3."""
    kinds = {
        "a": SinkKind.AT_LEAST_ONCE,
        "b": SinkKind.IDEMPOTENT,
        "c": SinkKind.TWO_PHASE,
        "d": SinkKind.AT_LEAST_ONCE,
    }
    topology = graph("src>a src>b src>c src>d", sinks=kinds, indeterminate="src")
    assert duplicates_possible(topology, restart_set(topology, ["b"])) == names("a d")


@pytest.mark.parametrize(
    ("text", "indeterminate", "unordered", "once", "region", "name", "expected"),
    [
        (CHAIN, "", "", "", "src map out", "out", SAME),
        (CHAIN, "src", "", "", "src map out", "out", OTHER),
        (CHAIN, "map", "src", "", "src map out", "out", OTHER),
        (CHAIN, "", "src", "", "src map out", "out", REORDERED),
        # the sink itself counts: steps are fused into it
        (CHAIN, "out", "", "", "src map out", "out", OTHER),
        # below does not count, beside does not, and who survives does not
        (CHAIN, "out", "", "", "src map out", "map", SAME),
        (JOIN, "left", "", "", "right", "right", SAME),
        (CHAIN, "src", "", "", "map out", "out", SAME),
        (LOOP, "check", "", "", "src map check", "map", OTHER),
        # a source that cannot be read again is as good as indeterminate (R5)
        (CHAIN, "", "", "src", "src map out", "out", OTHER),
        ("src=map map>out", "", "", "src", "src map out", "out", SAME),
    ],
)
def test_the_upstream_is_what_restarts_above(
    text: str, indeterminate: str, unordered: str, once: str, region: str, name: str, expected: VertexDeterminism
) -> None:
    """FO1."""
    topology = graph(text, indeterminate=indeterminate, unordered=unordered, once=once)
    assert upstream_determinism(topology, names(region), name) is expected


@pytest.mark.parametrize(
    ("text", "once", "region", "lost"),
    [
        (SIBLINGS, "src", "src a b", "src"),
        (SIBLINGS, "src", "a", ""),
        (SIBLINGS, "", "src a", ""),
        ("src=a src=b", "src", "src", ""),
        ("src=a src>b", "src", "src a b", "src"),
        (JOIN, "left", "left right join", "left"),
    ],
)
def test_a_source_that_cannot_read_again_what_it_emitted_is_named(text: str, once: str, region: str, lost: str) -> None:
    """FO4."""
    assert losses_possible(graph(text, once=once), names(region)) == names(lost)


def test_an_indeterminate_source_that_can_be_read_again_loses_nothing() -> None:
    """FO4: it gives other rows, but it gives them."""
    assert losses_possible(graph(SIBLINGS, indeterminate="src"), names("src a b")) == names("")


@given(topologies(), st.data())
def test_wherever_descendants_have_to_restart_they_are_in_the_region(topology: Topology, data: st.DataObject) -> None:
    """FO2, I20: what the table says of a two-phase sink is what the planner does."""
    failed = data.draw(st.frozensets(st.sampled_from(sorted(topology.by_id))))
    plan = plan_restart(topology, failed, {}, None, 1)
    free = {one.subtask.vertex for one in plan.restarts if one.replay is not JournalUse.WHOLE}
    for name in plan.vertices:
        replay = REPLAYS[SinkKind.TWO_PHASE, upstream_determinism(topology, plan.vertices, name)]
        if name in free:
            assert replay is Repeatability.RESTART_DESCENDANTS
            assert all(
                edge.receiver in free or edge.receiver in topology.detached
                for edge in topology.edges
                if edge.sender == name
            )


# ---------------------------------------------------------------- distrust


def test_whoever_sent_other_rows_is_not_trusted_again() -> None:
    """FO8, I22: escalates to a rollback of the descendants, though all claimed to be determinate."""
    topology = graph("src>a src>b a>c")
    after = distrust(topology, "a")

    assert restart_set(topology, ["a"]) == names("src a")
    assert restart_set(after, ["a"]) == names("src a b c")
    assert {one.id for one in after.vertices if one.determinism is OTHER} == names("src a")
    assert after.version == topology.version


def test_behind_a_retained_edge_the_receiver_is_the_doubtful_one() -> None:
    """FO8: its sender goes on, but what it read before is in its descendants."""
    topology = graph("src=a src>b a>c other>c")
    assert restart_set(distrust(topology, "a"), ["a"]) == names("a c other")


def test_an_isolated_sender_is_not_suspected() -> None:
    """FO8, R6."""
    after = distrust(graph("src>a gone>a", detached="gone"), "a")
    assert {one.id for one in after.vertices if one.determinism is OTHER} == names("src a")


# ---------------------------------------------------------------- levels

LIMITS = RetryLimits(3, Backoff(retries=2, first=1.0, factor=2.0, longest=10.0, reset_after=100.0))
FAIL_FAST = RetryLimits(LIMITS.attempts, LIMITS.restarts, FailoverPolicy.FAIL_FAST)
USED_UP = Retries(2, 3.0)


def failures() -> list[Reason]:
    return [reason for reason, level in FIRST_LEVEL.items() if level is not None]


def test_every_reason_has_a_row_and_agrees_with_its_policy() -> None:
    """FO5, FO6: what fails the pipeline at once begins on the last level; a cancel does so too, but nothing failed."""
    last = {reason for reason, level in FIRST_LEVEL.items() if level is Level.PIPELINE}

    assert set(FIRST_LEVEL) == set(Reason)
    assert last == {reason for reason, policy in POLICIES.items() if policy.fails} | {Reason.CANCELLED}


@pytest.mark.parametrize("reason", sorted(set(Reason) - set(failures())))
def test_what_is_no_failure_is_not_answered(reason: Reason) -> None:
    with pytest.raises(LocalProtocolError, match="nothing failed"):
        decide(reason, LIMITS, at=0.0, attempts=1, restarts=Retries(), isolable=True)


@pytest.mark.parametrize(
    ("reason", "attempts", "restarts", "isolable", "limits", "action", "delay"),
    [
        # attempt: same epoch, the third one is the last
        (Reason.UNIT_FAILED, 1, Retries(), True, LIMITS, FailoverAction.RETRY_UNIT, 0.0),
        (Reason.UNIT_FAILED, 2, USED_UP, True, LIMITS, FailoverAction.RETRY_UNIT, 0.0),
        (Reason.UNIT_FAILED, 3, Retries(), True, LIMITS, FailoverAction.RESTART_REGION, 1.0),
        # vertex: after a pause that grows
        (Reason.UNIT_FAILED, 3, Retries(1, 1.0), True, LIMITS, FailoverAction.RESTART_REGION, 2.0),
        (Reason.SNAPSHOT_FAILED, 1, Retries(), True, LIMITS, FailoverAction.RESTART_REGION, 1.0),
        (Reason.RESTORE_FAILED, 1, Retries(1, 1.0), True, LIMITS, FailoverAction.RESTART_REGION, 2.0),
        (Reason.CONTENT_CHANGED, 1, Retries(), True, LIMITS, FailoverAction.RESTART_REGION, 1.0),
        # table: everything used up, the policy wants it, and something would remain
        (Reason.UNIT_FAILED, 3, USED_UP, True, LIMITS, FailoverAction.ISOLATE_TABLE, 0.0),
        (Reason.RESTORE_FAILED, 1, USED_UP, True, LIMITS, FailoverAction.ISOLATE_TABLE, 0.0),
        (Reason.COMMIT_FAILED, 1, Retries(), True, LIMITS, FailoverAction.ISOLATE_TABLE, 0.0),
        (Reason.POSITIONS_VOID, 1, Retries(), True, LIMITS, FailoverAction.ISOLATE_TABLE, 0.0),
        # pipeline
        (Reason.UNIT_FAILED, 3, USED_UP, False, LIMITS, FailoverAction.FAIL_PIPELINE, 0.0),
        (Reason.UNIT_FAILED, 3, USED_UP, True, FAIL_FAST, FailoverAction.FAIL_PIPELINE, 0.0),
        (Reason.COMMIT_FAILED, 1, Retries(), False, LIMITS, FailoverAction.FAIL_PIPELINE, 0.0),
        (Reason.COMMIT_FAILED, 1, Retries(), True, FAIL_FAST, FailoverAction.FAIL_PIPELINE, 0.0),
        # FAIL_FAST is about tables: attempts and restarts are made nevertheless
        (Reason.UNIT_FAILED, 1, Retries(), True, FAIL_FAST, FailoverAction.RETRY_UNIT, 0.0),
        (Reason.UNIT_FAILED, 3, Retries(), True, FAIL_FAST, FailoverAction.RESTART_REGION, 1.0),
    ],
)
def test_the_smallest_level_that_can_answers(
    reason: Reason,
    attempts: int,
    restarts: Retries,
    isolable: bool,
    limits: RetryLimits,
    action: FailoverAction,
    delay: float,
) -> None:
    """FO5, FO7, I26, F3: attempt, vertex, table, pipeline."""
    decision = decide(reason, limits, at=3.0, attempts=attempts, restarts=restarts, isolable=isolable)

    assert (decision.action, decision.delay) == (action, delay)
    assert (decision.restarts.used > restarts.used) is (action is FailoverAction.RESTART_REGION)


@pytest.mark.parametrize(
    "reason",
    [
        Reason.FENCED,
        Reason.FOREIGN,
        Reason.LOST,
        Reason.CANCELLED,
        Reason.GAP,
        Reason.TOO_MANY_FAILED_CHECKPOINTS,
    ],
)
def test_what_no_try_can_mend_is_never_tried_again(reason: Reason) -> None:
    """FO6, I23, I31, I34."""
    assert decide(reason, LIMITS, at=0.0, attempts=1, restarts=Retries(), isolable=True) == FailoverDecision(
        FailoverAction.FAIL_PIPELINE, Retries()
    )


def test_a_stable_period_gives_the_vertex_its_restarts_back() -> None:
    """FO5: job.retry.reset-after."""
    late = decide(Reason.SNAPSHOT_FAILED, LIMITS, at=103.0, attempts=1, restarts=USED_UP, isolable=True)
    assert late == FailoverDecision(FailoverAction.RESTART_REGION, Retries(1, 104.0), 1.0)


def test_jitter_is_handed_on() -> None:
    decision = decide(Reason.SNAPSHOT_FAILED, LIMITS, at=0.0, attempts=1, restarts=Retries(), isolable=True, jitter=0.5)
    assert decision == FailoverDecision(FailoverAction.RESTART_REGION, Retries(1, 0.5), 0.5)


@given(
    st.lists(st.tuples(st.sampled_from(failures()), st.integers(1, 4), st.floats(0, 50)), max_size=20), st.booleans()
)
def test_whatever_fails_in_whatever_order_it_ends(script: list[tuple[Reason, int, float]], isolable: bool) -> None:
    """I26: without a stable period there are never more restarts than allowed; afterwards the table or the pipeline goes."""
    state, at, restarted = Retries(), 0.0, 0
    for reason, attempts, pause in script:
        at += pause
        decision = decide(reason, LIMITS, at=at, attempts=attempts, restarts=state, isolable=isolable)
        if at - state.due >= LIMITS.restarts.reset_after:
            restarted = 0
        state = decision.restarts
        restarted += decision.action is FailoverAction.RESTART_REGION

        assert restarted <= LIMITS.restarts.retries
        assert decision.action is not FailoverAction.RETRY_UNIT or attempts < LIMITS.attempts
        assert decision.action is not FailoverAction.ISOLATE_TABLE or isolable
