"""The coordinator of a pipeline: what a job's settings and its plugins mean to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatunnel_py.api.sink import Setup, Visible
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.failing import FailureLimits
from seatunnel_py.protocol.failover.decisions import FailoverPolicy
from seatunnel_py.runtime.driver.settings import Settings
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.topology_builder import BuiltTopology


def ends_by_itself(pipeline: Pipeline) -> bool:
    """All its sources are bounded."""
    return all(vertex.source is None or vertex.source.capabilities.bounded for vertex in pipeline.vertices)


def coordinator_of(
    pipeline: Pipeline,
    graph: BuiltTopology,
    settings: Settings,
    outcome: StartPlan,
    past: EarlierRun,
    first_checkpoint: int,
    set_up: Sequence[str],
    plan: Mapping[str, Any],
) -> Coordinator:
    """The coordinator of a pipeline that begins like this."""
    bounded, setups = ends_by_itself(pipeline), outcome.prepared.setups
    early = all(setup.visible is not Visible.COMMITTED for setup in setups.values())
    return Coordinator(
        graph.topology,
        settings.checkpoints(bounded=bounded, early=early),
        settings.restarts,
        record=outcome.record,
        first_checkpoint=first_checkpoint,
        epochs=past.epochs,
        policy=FailoverPolicy.FAIL_FAST if settings.fail_fast else FailoverPolicy.CONTINUE_OTHER_TABLES,
        set_up=set_up,
        done=outcome.done,
        plan=plan,
        limits=FailureLimits(
            commit_tries=settings.retry.commit_tries if bounded else None,
            endless=not bounded,
            undroppable=undroppable(pipeline.vertices, setups),
        ),
    )


def undroppable(vertices: Iterable[PlannedVertex], setups: Mapping[str, Setup]) -> frozenset[str]:
    """The sinks whose pieces cannot be dropped, for they are visible before they are committed. A sink that is fused
    with its source names what it stages by positions, and is asked for these again; after a channel names are numbers,
    which then mean others."""
    return frozenset(
        one.id
        for one in vertices
        if one.inputs and any(setups[node.id].visible is not Visible.COMMITTED for node in one.sinks)
    )
