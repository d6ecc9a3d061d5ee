"""Decides about failures: the effect on sinks of the restarted region, and the level of the reaction. Two tables.

May not know: which vertices restart (``regions.py``), how long a pause is (``backoff.py``), the effects of an isolation
(``isolation.py``).

Rules. (FO1) The effect of a replay on a sink depends only on the sink's guarantee and on the determinism of its
upstream. (FO2) A two-phase sink below an indeterminate upstream restarts with all descendants of that
upstream and drops its pieces. If pieces cannot be dropped, nothing restarts, for any reason: the failure goes to
the next level, because duplicates could not be recognised. (FO3) Duplicates are never silent: every
restarted sink that may show rows twice is named. (FO4) So is every source that restarts and cannot read its emitted
rows again. (FO5) A failure is handled on the smallest possible level: attempt, vertex, table, pipeline; if the tries of
a level are used up, the next level follows. (FO6) A failure that no retry can repair (FENCED, LOST, GAP, CANCELLED ...)
goes to the last level at once. (FO7) A table is isolated only if the policy allows it and something else remains to
run. (FO8) A batch that came again with other rows proves that its sender and its receivers are not determinate: from
then on they count as indeterminate (I22). (FO9) In a streaming pipeline a retriable unit is tried forever once no
restart can help.
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

# ---------------------------------------------------------------- effect of a replay on a sink


class Repeatability(StrEnum):
    """Effect of a replay on a sink. The value is the text in the plan and in the receipt."""

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
    # R4 restarts it anyway: its siblings must not read other rows under known numbers.
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
    """Effect of a region's restart on one of its sinks."""

    sink: str
    upstream: VertexDeterminism
    replay: Repeatability


def upstream_determinism(topology: Topology, region: Collection[str], name: str) -> VertexDeterminism:
    """The weakest determinism among the restarted ancestors of ``name`` and itself."""
    above = (topology.ancestors(name) | {name}).intersection(region)
    promised = {topology.vertex(one).determinism for one in above}
    if any(replay_differs(topology, one) for one in above):
        promised.add(VertexDeterminism.INDETERMINATE)
    return next((one for one in _WORST_FIRST if one in promised), VertexDeterminism.DETERMINATE)


def consequences(
    topology: Topology, region: Collection[str], undroppable: Collection[str] = ()
) -> tuple[Consequence, ...]:
    """The effect on each sink of the region, in the topology's order. ``undroppable``: sinks whose pieces are visible
    as soon as they are staged."""
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
    """Sinks that may show rows twice after a restart of ``region`` (FO3). Sinks outside of it drop repeated batches."""
    return frozenset(
        one.sink for one in consequences(topology, region) if one.replay is Repeatability.REPORT_DUPLICATES
    )


def losses_possible(topology: Topology, region: Collection[str]) -> frozenset[str]:
    """Sources of the region whose rows since the checkpoint can neither be read again nor are retained (FO4)."""
    return frozenset(
        name
        for name in topology.sources
        if name in region and not topology.vertex(name).replayable and replay_differs(topology, name)
    )


def distrust(topology: Topology, vertex: str) -> Topology:
    """After CONTENT_CHANGED at ``vertex``: mark it and the senders of its inputs as indeterminate, so that the region
    contains all vertices that may have read the earlier rows (FO8). The topology's version stays, because a later
    driver would detect this again."""
    doubtful = {edge.sender for edge in live_edges(topology) if edge.receiver == vertex} | {vertex}
    vertices = tuple(
        replace(one, determinism=VertexDeterminism.INDETERMINATE) if one.id in doubtful else one
        for one in topology.vertices
    )
    return replace(topology, vertices=vertices)


# ---------------------------------------------------------------- level of the reaction


class Level(StrEnum):
    """Levels of the reaction to a failure, smallest first."""

    ATTEMPT = "attempt"
    VERTEX = "vertex"
    TABLE = "table"
    PIPELINE = "pipeline"


class FailoverAction(StrEnum):
    """Reaction to a failure: one for each level."""

    RETRY_UNIT = "the unit runs again, same epoch"
    RESTART_REGION = "the region restarts from the newest checkpoint, after a pause"
    ISOLATE_TABLE = "the table is isolated, the others go on"
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
    # The committer retries by itself; after its last try no restart makes the target available.
    Reason.COMMIT_FAILED: Level.TABLE,
    Reason.COMMIT_REFUSED: Level.TABLE,
    # The coordinator restarts from checkpoint 0; a table that fails even so has no position to restart from.
    Reason.POSITIONS_VOID: Level.TABLE,
    Reason.GAP: Level.PIPELINE,  # I23: fatal
    Reason.LOST: Level.PIPELINE,  # I31: an alarm, never a success
    Reason.FENCED: Level.PIPELINE,  # I34: the newer driver goes on
    Reason.FOREIGN: Level.PIPELINE,
    Reason.CANCELLED: Level.PIPELINE,
    Reason.TOO_MANY_FAILED_CHECKPOINTS: Level.PIPELINE,  # I15
    # Replies to requests, and ends of checkpoints: nothing has failed.
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
"""The levels that restart the region."""


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """``attempts``: total attempts at one unit; ``restarts``: number and pauses of a vertex's restarts."""

    attempts: int = 3
    restarts: Backoff = field(default_factory=Backoff)
    policy: FailoverPolicy = FailoverPolicy.CONTINUE_OTHER_TABLES


@dataclass(frozen=True, slots=True)
class FailoverDecision:
    """``restarts``: the vertex's backoff state afterwards; ``delay``: the pause before RESTART_REGION."""

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
    """Decide the reaction to a failure (FO5). ``attempts``: attempts at the unit so far; ``isolable``: something would
    remain to run without the table; ``undroppable``: a restart would show rows twice (FO2); ``endless``: retry a unit
    that no restart can help (FO9). Raises LocalProtocolError for a reason that is not a failure."""
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
