"""Plans a followed job as the planner would: a pipeline for the copy of each table, and one for the log of all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from seatunnel_py.api import (
    Column,
    DataType,
    Determinism,
    Guarantee,
    Kind,
    SchemaBehavior,
    SchemaChange,
    SinkCapabilities,
    SourceCapabilities,
    SourceTable,
    TablePath,
)
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog, Refusal
from seatunnel_py.plan.followed_schema import decided
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, SourcePart, TableNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.work.schema_alteration import SchemaAlteration
from tests.kit.runtime_toys import schema, step
from tests.simulation.followed.sources import Copy, FollowedLog, version_of
from tests.simulation.followed.targets import FollowedSink, TargetTable
from tests.simulation.jobs.versions import VERSION

LOG_PIPELINE, LOG_NODE = "log", "in~log"
_PROMISES = SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "it keeps its word")


def source_table(name: str, version: int) -> SourceTable:
    """Each version has one column more than the one before."""
    found = schema(name)
    added = (Column(f"v{number}", DataType(Kind.INT)) for number in range(1, version + 1))
    return SourceTable(found.with_columns((*found.columns, *added)), log_hints={VERSION: version})


def copied_node(name: str) -> str:
    return f"out[{name}]"


def logged_node(name: str) -> str:
    return f"out~log[{name}]"


@dataclass(frozen=True)
class Planner:
    """``targets``: by table; ``copies``: their sources. ``ignored``: by table, versions that its target does not
    follow, because a person has rejected the change."""

    log: FollowedLog
    copies: Mapping[str, Copy]
    targets: Mapping[str, TargetTable]
    ignored: Mapping[str, set[int]]

    def copy(self, name: str, version: int) -> Pipeline:
        table = source_table(name, version)
        capable = SourceCapabilities(determinism=Determinism.DETERMINATE)
        made = step("in", PluginKind.SOURCE)
        source = SourceNode(f"in[{name}]", made, self.copies[name], table, capable, SourcePart.COPY)
        vertex = PlannedVertex(f"copy-{name}", (source, self._sink(name, version, SourcePart.COPY)))
        return Pipeline(f"p-{name}", name, (vertex,))

    def logged(self, versions: Mapping[str, int], *, after: Collection[str]) -> Pipeline:
        """The log of these tables; ``after``: those that the job copies."""
        tables = tuple(source_table(name, version) for name, version in versions.items())
        capable = SourceCapabilities(bounded=False, determinism=Determinism.DETERMINATE, independent_tables=False)
        made = step("in", PluginKind.SOURCE)
        part = SourcePart.LOG_AFTER_COPY
        node = SourceNode(LOG_NODE, made, self.log, tables[0], capable, part, tables)
        channels = tuple(
            PlannedChannel(f"{LOG_NODE}>{receiver}", LOG_NODE, receiver, TablePath.parse(name))
            for name in versions
            for receiver in (f"{logged_node(name)}<{LOG_NODE}",)
        )
        behind = (
            PlannedVertex(channel.receiver, (self._sink(name, version, part),), (channel,))
            for channel, (name, version) in zip(channels, versions.items(), strict=True)
        )
        found = (PlannedVertex(LOG_NODE, (node,), (), channels), *behind)
        line = Pipeline("p-log", LOG_PIPELINE, found, tuple(f"p-{name}" for name in after))
        return log_tables.without_channel(line)

    def _sink(self, name: str, version: int, part: SourcePart) -> SinkNode:
        target = self.targets[name]
        copies = part is SourcePart.COPY
        ledger = target.copied if copies else target.logged
        table = replace(schema(name), options={VERSION: str(version)})
        node = copied_node(name) if copies else logged_node(name)
        sink = FollowedSink(name, ledger, version=version)
        return SinkNode(node, step("out", PluginKind.SINK), sink, table, _PROMISES, part=part)

    # ---------------------------------------------------------------- again

    def again(
        self, pipeline: Pipeline, alterations: Sequence[SchemaAlteration], without: Collection[TablePath] = ()
    ) -> AlteredLog:
        """The pipeline for changes that its log has met, as the policy or a person has decided."""
        log = pipeline.log
        assert log is not None, f"{pipeline.name} follows no log"
        known = {one.schema.path: one for one in log.tables}
        passed = [decided(one, known[one.path], self.log.policy) for one in alterations]
        return replace(self.as_decided(pipeline, passed, without), met=tuple(alterations))

    def as_decided(
        self, pipeline: Pipeline, alterations: Sequence[SchemaAlteration], without: Collection[TablePath] = ()
    ) -> AlteredLog:
        """The same without the policy. The log is read under every new schema."""
        read = _reading(pipeline, {one.path: one.table for one in alterations})
        refused = {one.path: Refusal(*one.stops) for one in alterations if one.stops is not None}
        followed: dict[TablePath, SchemaAlteration] = {}
        for one in alterations:
            if one.behavior is SchemaBehavior.IGNORE:
                self.ignored[one.path.table].add(version_of(one.table))
            elif one.path not in refused and one.path not in without:
                followed[one.path] = one
        changes: dict[str, SchemaChange] = {}

        def changed(node: TableNode) -> TableNode:
            if not isinstance(node, SinkNode) or node.table.path not in followed:
                return node
            version = version_of(followed[node.table.path].table)
            after = replace(node.table, options={VERSION: str(version)})
            changes[node.id] = SchemaChange(node.table.path, node.table, after, statement=f"version {version}")
            return replace(node, table=after, sink=replace(node.sink, version=version))  # type: ignore[type-var]

        vertices = tuple(replace(one, nodes=tuple(map(changed, one.nodes))) for one in read.vertices)
        return AlteredLog(replace(read, vertices=vertices), changes, frozenset(followed), refused, tuple(alterations))

    def of_tables(self, pipeline: Pipeline, tables: Sequence[SourceTable]) -> Pipeline:
        """The log for these tables, which the job may not have any more."""
        found = self.logged({one.schema.path.table: version_of(one) for one in tables}, after=())
        return replace(found, id=pipeline.id, name=pipeline.name, after=pipeline.after)


def _reading(pipeline: Pipeline, changed: Mapping[TablePath, SourceTable]) -> Pipeline:
    return replace(pipeline, vertices=tuple(_with_tables(vertex, changed) for vertex in pipeline.vertices))


def _with_tables(vertex: PlannedVertex, changed: Mapping[TablePath, SourceTable]) -> PlannedVertex:
    source = vertex.source
    if source is None:
        return vertex
    tables = tuple(changed.get(one.schema.path, one) for one in source.tables)
    return replace(vertex, nodes=(replace(source, table=tables[0], log_tables=tables), *vertex.nodes[1:]))


def names_of(tables: Iterable[TablePath]) -> set[str]:
    return {one.table for one in tables}
