"""The constants of one pipeline in one driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seatunnel_py.config.references import References
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.runtime.resume.pipeline_start import references_of
from seatunnel_py.runtime.state.shared_use import SharedUse
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.runtime.values.topology_builder import BuiltTopology, graph_of


@dataclass(frozen=True, slots=True)
class PipelineContext:
    """The constants of one pipeline. ``key``: its name in the store; ``past``: its state in the store from earlier
    drivers; ``groups``: its sinks that share a committer, by ``scope/number``; ``bounded``: all its sources end;
    ``sends_end_markers``: a wide query waits for the end of its inputs."""

    key: str
    pipeline: Pipeline
    graph: BuiltTopology
    groups: Mapping[str, tuple[SinkNode, ...]]
    settings: Settings
    job: JobIdentity
    claim: Claim
    past: EarlierRun
    shared: SharedUse
    references: References
    bounded: bool
    sends_end_markers: bool


def context_of(
    key: str,
    pipeline: Pipeline,
    settings: Settings,
    job: JobIdentity,
    claim: Claim,
    past: EarlierRun,
    shared: SharedUse,
) -> PipelineContext:
    """The constants of a planned pipeline."""
    graph = graph_of(pipeline, settings.retain)
    groups = {
        f"{scope}/{number}": group for scope, groups in graph.scopes.items() for number, group in enumerate(groups)
    }
    queries = any(vertex.query is not None for vertex in pipeline.vertices)
    return PipelineContext(
        key, pipeline, graph, groups, settings, job, claim, past, shared, references_of(pipeline),
        ends_by_itself(pipeline), queries,
    )  # fmt: skip


def ends_by_itself(pipeline: Pipeline) -> bool:
    """Whether all its sources are bounded."""
    return all(vertex.source is None or vertex.source.capabilities.bounded for vertex in pipeline.vertices)
