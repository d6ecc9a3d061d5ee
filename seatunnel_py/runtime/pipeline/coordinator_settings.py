"""Creates the coordinator of a pipeline from the settings of its job and its plugins.

Rules. (1) A copy of one snapshot into a target that only appends becomes visible as a whole: no checkpoint is taken
before its end. The positions of a checkpoint would be void without the snapshot, which ends with the driver. So the
next driver has to begin again, and could not take back rows that are visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_py.api.sink import Setup, Visible
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.failing import FailureLimits
from seatunnel_py.protocol.failover.decisions import FailoverPolicy
from seatunnel_py.runtime.resume.pipeline_start import StartPlan, of_one_moment
from seatunnel_py.runtime.state.context import PipelineContext
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.targets.sink_operations import exactly_once_visibility


def coordinator_of(context: PipelineContext, outcome: StartPlan, plan: Mapping[str, Any]) -> Coordinator:
    """Create the coordinator of a pipeline. ``plan``: its decisions, in the form of records."""
    settings, setups, bounded = context.settings, outcome.prepared.setups, context.bounded
    early = all(setup.visible is not Visible.COMMITTED for setup in setups.values())
    return Coordinator(
        context.graph.topology,
        settings.checkpoints(bounded=bounded, early=early, at_end_only=visible_as_a_whole(context, outcome.prepared)),
        settings.restarts,
        record=outcome.record,
        first_checkpoint=context.claim.first,
        epochs=context.past.epochs,
        policy=FailoverPolicy.FAIL_FAST if settings.fail_fast else FailoverPolicy.CONTINUE_OTHER_TABLES,
        set_up=tuple(context.groups),
        done=outcome.done,
        plan=plan,
        limits=FailureLimits(
            commit_tries=settings.retry.commit_tries if bounded else None,
            endless=not bounded,
            undroppable=undroppable(context.pipeline.vertices, setups),
        ),
    )


def visible_as_a_whole(context: PipelineContext, prepared: PreparedPipeline) -> bool:
    """Whether rows become visible at the end only (rule 1)."""
    if context.past.per_split or not context.pipeline.copies or not of_one_moment(prepared):
        return False
    return Visible.COMMITTED in exactly_once_visibility(context.pipeline.sinks, prepared.setups)


def undroppable(vertices: Iterable[PlannedVertex], setups: Mapping[str, Setup]) -> frozenset[str]:
    """The sinks whose pieces cannot be dropped, for they are visible before they are committed. A sink that is fused
    with its source names what it stages by positions, and is asked for these again; after a channel names are numbers,
    which then mean others."""
    return frozenset(
        one.id
        for one in vertices
        if one.inputs and any(setups[node.id].visible is not Visible.COMMITTED for node in one.sinks)
    )
