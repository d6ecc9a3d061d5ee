"""What a failure leads to: for the sinks of the restarted region, and for the vertex that failed. Two literal tables.

May not know: who restarts (``regions.py``), how long a pause is (``backoff.py``), what an isolation changes
(``isolation.py``).

Rules. (FO1) What a replay means to a sink depends on what it promises and on whether its upstream gives the same again;
nothing else is looked at. (FO2) A two-phase sink below an indeterminate upstream restarts with all descendants of that
upstream and drops its pieces; where pieces cannot be dropped nothing restarts, whatever the reason: the failure goes to
the next level, since what would be shown twice could not be told apart. (FO3) Duplicates are never silent: every
restarted sink that may show rows twice is named. (FO4) So is every source that restarts without being able to read
again what it had emitted. (FO5) A failure is answered on the smallest level that can: attempt, vertex, table, pipeline;
a level whose tries are used up hands it to the next. (FO6) What no try can mend (FENCED, LOST, GAP, CANCELLED ...) goes
to the last level at once. (FO7) A table is isolated only where the policy asks for it and something else remains to
run. (FO8) A batch that came again with other rows proves that its sender, and whoever read it, is not determinate: from
then on they are not trusted to be (I22). (FO9) In a pipeline that does not end a unit that may still pass is tried for
ever, once no restart can help it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from seatunnel_py.protocol.failover.regions import live_edges, replay_differs
from seatunnel_py.protocol.model.backoff import Backoff, Retries
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.topology import SinkKind, Topology, VertexDeterminism

# ---------------------------------------------------------------- what a replay means to a sink


class Repeatability(StrEnum):
    """The value is what people read in the plan and in the receipt."""

    SKIP_BY_ID = "siblings go on and skip by channel data id what they have; what was staged since is dropped"
    FREELY = "it is written again under the fence, over what is there"
    RESTART_DESCENDANTS = "all descendants restart; what they staged since is dropped"
    REPORT_DUPLICATES = "rows may be there twice, which is reported"
    FAIL_PIPELINE = "rows would be there twice, and what is staged cannot be dropped"


REPLAYS: Mapping[tuple[SinkKind, VertexDeterminism], Repeatability] = {
    (SinkKind.NONE, VertexDeterminism.DETERMINATE): Repeatability.SKIP_BY_ID,
    (SinkKind.NONE, VertexDeterminism.UNORDERED): Repeatability.SKIP_BY_ID,
    (SinkKind.NONE, VertexDeterminism.INDETERMINATE): Repeatability.RESTART_DESCENDANTS,
    (SinkKind.AT_LEAST_ONCE, VertexDeterminism.DETERMINATE): Repeatability.REPORT_DUPLICATES,
    (SinkKind.AT_LEAST_ONCE, VertexDeterminism.UNORDERED): Repeatability.REPORT_DUPLICATES,
    # R4 restarts it all the same: its siblings must not read other rows under numbers that they know.
    (SinkKind.AT_LEAST_ONCE, VertexDeterminism.INDETERMINATE): Repeatability.REPORT_DUPLICATES,
    (SinkKind.IDEMPOTENT, VertexDeterminism.DETERMINATE): Repeatability.FREELY,
    (SinkKind.IDEMPOTENT, VertexDeterminism.UNORDERED): Repeatability.FREELY,
    (SinkKind.IDEMPOTENT, VertexDeterminism.INDETERMINATE): Repeatability.FREELY,
    (SinkKind.TWO_PHASE, VertexDeterminism.DETERMINATE): Repeatability.SKIP_BY_ID,
    (SinkKind.TWO_PHASE, VertexDeterminism.UNORDERED): Repeatability.SKIP_BY_ID,
    (SinkKind.TWO_PHASE, VertexDeterminism.INDETERMINATE): Repeatability.RESTART_DESCENDANTS,
}

_WORST_FIRST = (VertexDeterminism.INDETERMINATE, VertexDeterminism.UNORDERED)


@dataclass(frozen=True, slots=True)
class Consequence:
    """What the restart of a region means to one of its sinks."""

    sink: str
    upstream: VertexDeterminism
    replay: Repeatability


def upstream_determinism(topology: Topology, region: Collection[str], name: str) -> VertexDeterminism:
    """The least that the restarted vertices above ``name``, itself included, promise of a second run."""
    above = (topology.ancestors(name) | {name}).intersection(region)
    promised = {topology.vertex(one).determinism for one in above}
    if any(replay_differs(topology, one) for one in above):
        promised.add(VertexDeterminism.INDETERMINATE)
    return next((one for one in _WORST_FIRST if one in promised), VertexDeterminism.DETERMINATE)


def consequences(
    topology: Topology, region: Collection[str], undroppable: Collection[str] = ()
) -> tuple[Consequence, ...]:
    """For each sink of the region, in the topology's order. ``undroppable``: sinks whose pieces are visible as soon as
    they are staged."""
    found = []
    for vertex in topology.vertices:
        if vertex.id not in region or vertex.sink is SinkKind.NONE:
            continue
        upstream = upstream_determinism(topology, region, vertex.id)
        replay = REPLAYS[vertex.sink, upstream]
        if replay is Repeatability.RESTART_DESCENDANTS and vertex.id in undroppable:
            replay = Repeatability.FAIL_PIPELINE
        found.append(Consequence(vertex.id, upstream, replay))
    return tuple(found)


def duplicates_possible(topology: Topology, region: Collection[str]) -> frozenset[str]:
    """Sinks that may show rows twice once ``region`` has restarted (FO3). A survivor never does: it drops by id."""
    return frozenset(
        one.sink for one in consequences(topology, region) if one.replay is Repeatability.REPORT_DUPLICATES
    )


def losses_possible(topology: Topology, region: Collection[str]) -> frozenset[str]:
    """Sources of the region that cannot read again what they emitted since the checkpoint, nor have it kept (FO4)."""
    return frozenset(
        name
        for name in topology.sources
        if name in region and not topology.vertex(name).replayable and replay_differs(topology, name)
    )


def distrust(topology: Topology, vertex: str) -> Topology:
    """After CONTENT_CHANGED at ``vertex``: it and the senders of its inputs count as indeterminate, so that the region
    becomes all who may have read the rows of before (FO8). The version stays: every driver would find out anew."""
    doubtful = {edge.sender for edge in live_edges(topology) if edge.receiver == vertex} | {vertex}
    vertices = tuple(
        replace(one, determinism=VertexDeterminism.INDETERMINATE) if one.id in doubtful else one
        for one in topology.vertices
    )
    return replace(topology, vertices=vertices)


# ---------------------------------------------------------------- what a failure leads to


class Level(StrEnum):
    """How much is given up to answer a failure, smallest first."""

    ATTEMPT = "attempt"
    VERTEX = "vertex"
    TABLE = "table"
    PIPELINE = "pipeline"


class FailoverAction(StrEnum):
    """What is done about a failure: one for each level."""

    RETRY_UNIT = "the unit runs again, same epoch"
    RESTART_REGION = "the region restarts from the newest checkpoint, after a pause"
    ISOLATE_TABLE = "the table is left out, the others go on"
    FAIL_PIPELINE = "the pipeline fails"


class FailoverPolicy(StrEnum):
    """``env.multi_table.failure_policy``."""

    CONTINUE_OTHER_TABLES = "CONTINUE_OTHER_TABLES"
    FAIL_FAST = "FAIL_FAST"


FIRST_LEVEL: Mapping[Reason, Level | None] = {
    Reason.UNIT_FAILED: Level.ATTEMPT,
    Reason.SNAPSHOT_FAILED: Level.VERTEX,  # F2
    Reason.RESTORE_FAILED: Level.VERTEX,  # F3
    Reason.CONTENT_CHANGED: Level.VERTEX,  # after ``distrust``
    Reason.UNIT_REFUSED: Level.TABLE,
    # The committer tries again by itself; one that comes here has given up, and no restart brings its target back.
    Reason.COMMIT_FAILED: Level.TABLE,
    Reason.COMMIT_REFUSED: Level.TABLE,
    # The coordinator begins anew from checkpoint 0; a table that fails with it nevertheless has no position to go to.
    Reason.POSITIONS_VOID: Level.TABLE,
    Reason.GAP: Level.PIPELINE,  # I23: fatal
    Reason.LOST: Level.PIPELINE,  # I31: an alarm, never a success
    Reason.FENCED: Level.PIPELINE,  # I34: the newer driver goes on
    Reason.FOREIGN: Level.PIPELINE,
    Reason.CANCELLED: Level.PIPELINE,
    Reason.TOO_MANY_FAILED_CHECKPOINTS: Level.PIPELINE,  # I15
    # Answers to requests, and ends of checkpoints: nothing has failed.
    Reason.SHUT_DOWN: None,
    Reason.NOT_RUNNING: None,
    Reason.PERIODIC_OFF: None,
    Reason.TOO_MANY_QUEUED: None,
    Reason.MIN_PAUSE: None,
    Reason.CONCURRENCY: None,
    Reason.COMMIT_LAG: None,
    Reason.NOTHING_NEW: None,
    Reason.NOT_POSSIBLE: None,
    Reason.EXPIRED: None,
    Reason.DECLINED: None,
    Reason.SUBSUMED: None,
    Reason.RESTARTING: None,
    Reason.STORE_FAILED: None,
    Reason.OPERATION_ENDED: None,
}


RESTARTING = frozenset({Level.ATTEMPT, Level.VERTEX})
"""The levels on which a restart of the region answers."""


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """``attempts``: how often one unit is run in all; ``restarts``: how often, and after which pause, a vertex is."""

    attempts: int = 3
    restarts: Backoff = field(default_factory=Backoff)
    policy: FailoverPolicy = FailoverPolicy.CONTINUE_OTHER_TABLES


@dataclass(frozen=True, slots=True)
class FailoverDecision:
    """``restarts`` is the vertex's backoff afterwards; ``delay`` the pause before RESTART_REGION."""

    action: FailoverAction
    restarts: Retries
    delay: float = 0.0


def decide(
    reason: Reason,
    limits: RetryLimits,
    *,
    at: float,
    attempts: int,
    restarts: Retries,
    isolable: bool,
    undroppable: bool = False,
    endless: bool = False,
    jitter: float = 0.0,
) -> FailoverDecision:
    """What a failure leads to (FO5). ``attempts``: how often the unit was run, this time included; ``isolable``:
    whether anything would remain to run without the table; ``undroppable``: a restart would show rows twice (FO2);
    ``endless``: a unit that no restart can help any longer is tried on (FO9). Raises LocalProtocolError for a reason
    that is no failure."""
    first = FIRST_LEVEL[reason]
    if first is None:
        raise LocalProtocolError(f"nothing failed when {reason}")
    if first is Level.ATTEMPT and attempts < limits.attempts:
        return FailoverDecision(FailoverAction.RETRY_UNIT, restarts)
    if first in RESTARTING and not undroppable:
        restarts, delay = limits.restarts.next(restarts, at, jitter)
        if delay is not None:
            return FailoverDecision(FailoverAction.RESTART_REGION, restarts, delay)
    if first is Level.ATTEMPT and endless:
        return FailoverDecision(FailoverAction.RETRY_UNIT, restarts)
    if first is not Level.PIPELINE and isolable and limits.policy is FailoverPolicy.CONTINUE_OTHER_TABLES:
        return FailoverDecision(FailoverAction.ISOLATE_TABLE, restarts)
    return FailoverDecision(FailoverAction.FAIL_PIPELINE, restarts)
