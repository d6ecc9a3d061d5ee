"""Builds the chain that workers run from a planned vertex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seatunnel_py.api.batch import Plain
from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.sink import CommitContext, Setup
from seatunnel_py.api.source import ReadContext
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, SqlNode, TransformNode
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.work.bad_rows.limits import ErrorLimits
from seatunnel_py.work.chain import (
    Chain,
    ChainChannel,
    ChainQuery,
    ChainRetry,
    ChainSink,
    ChainSource,
    ChainSql,
    ChainTransform,
)


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """Identity of the job and driver, a part of every chain and staged name; and the locations of staging, bad rows and
    the job's ``store``. ``fresh``: the user asked to forget earlier state of the job;
    ``begins_lineage``: this is the first driver of the lineage, so no target knows it."""

    job_id: str
    lineage: str
    incarnation: int = 1
    staging: str = ""
    errors: ErrorLimits | None = None
    store: str = ""
    fresh: bool = False
    begins_lineage: bool = False

    def commit_context(
        self, node: SinkNode, setup: Mapping[str, Plain], checkpoint: int, *, final: bool
    ) -> CommitContext:
        """This driver, for a call to a sink or its committer; ``checkpoint`` is 0 if the call commits none."""
        return CommitContext(
            self.job_id, self.lineage, node.step.id, checkpoint, self.incarnation, final, setup, self.staging
        )


def chain_of(
    vertex: PlannedVertex,
    setups: Mapping[str, Setup],
    job: JobIdentity,
    exchange: str,
    *,
    context: ReadContext,
) -> Chain:
    """The chain of a vertex. ``setups``: set-ups of the sinks by node id; ``exchange``: a URL; ``context``: what
    the steps of its pipeline need of the rows of its source."""
    transforms: list[ChainTransform | ChainSql] = []
    for node in vertex.nodes:
        if isinstance(node, TransformNode):
            cardinality = node.capabilities.cardinality
            transforms.append(ChainTransform(node.step.id, node.table.path, node.transform, cardinality))
        elif isinstance(node, SqlNode) and node is not vertex.query:
            ((name, table),) = node.inputs
            transforms.append(ChainSql(node.step.id, table, name, node.analysis.query, node.output))
    sinks = tuple(_sink(node, setups) for node in vertex.sinks)
    output = ChainChannel(vertex.id, exchange) if vertex.outputs or vertex.retry else None
    return Chain(
        vertex.id,
        job.job_id,
        job.lineage,
        job.incarnation,
        _head(vertex, exchange, context),
        tuple(transforms),
        sinks,
        output,
        job.staging,
        job.errors,
        ChainRetry(vertex.retry.channel.id, vertex.retry.times) if vertex.retry else None,
        {node.step.id: node.step.plugin for node in vertex.nodes},
    )


def _head(vertex: PlannedVertex, exchange: str, context: ReadContext) -> ChainSource | ChainChannel | ChainQuery:
    first = vertex.nodes[0]
    if isinstance(first, SourceNode):
        resident = first.capabilities.resident and vertex.retry is None
        ordered = first.capabilities.determinism is Determinism.DETERMINATE
        return ChainSource(first.step.id, first.source, first.table, resident, ordered, first.log_tables, context)
    if vertex.query is not None:
        schemas = dict(vertex.query.inputs)
        inputs = tuple((channel.id, channel.name, schemas[channel.name]) for channel in vertex.inputs)
        return ChainQuery(vertex.query.step.id, vertex.query.analysis.query, inputs, vertex.query.output)
    return ChainChannel(vertex.inputs[0].id, exchange)


def _sink(node: SinkNode, setups: Mapping[str, Setup]) -> ChainSink:
    return ChainSink(node.step.id, node.table.path, node.sink, setups[node.id].data)
