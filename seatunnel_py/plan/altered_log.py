"""Plans a log again for tables whose schema has changed at its position: the same steps, made for the new schemas.

Rules. (1) Vertices, channels and promises stay, for the records of the log name them: a change that needs others is
refused. (2) Only the nodes that a changed table reaches are replaced. (3) A table whose change a step refuses is named
with the cause; the log is read under its new schema all the same, and the other tables go on. (4) A column counts as
renamed only if the source proves it and its sink sees the same two names; anything else would lose its values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from seatunnel_py.api.batch import SchemaChange
from seatunnel_py.api.log_source import BegunLog, FollowedTable, LogSource
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import Setup
from seatunnel_py.api.source import SourceTable
from seatunnel_py.errors import COPY_AGAIN, FatalError, PlanError, UnreachableError
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.followed_schema import DECIDE, decided
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode, SqlNode, TableNode
from seatunnel_py.plan.log_graph import SourceLog
from seatunnel_py.plan.log_tables import tables_by_vertex
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex, divide
from seatunnel_py.plan.sql.analysis import SqlAnalyst
from seatunnel_py.plan.steps import Job
from seatunnel_py.work.schema_alteration import SchemaAlteration


@dataclass(frozen=True, slots=True)
class Refusal:
    """A step refuses the change of a table."""

    message: str
    remedy: str
    step: str = ""


@dataclass(frozen=True, slots=True)
class LogJoin:
    """The tables that are to join a log, and the log without them."""

    tables: tuple[FollowedTable, ...]
    begun: BegunLog


@dataclass(frozen=True, slots=True)
class JoinedTables:
    """The tables that join a log which has begun. ``begun``: the log with them; ``setups``: of their sinks, by node;
    ``refused``: tables that cannot join it; ``left``: those that leave it, as the job no longer has them, or because
    they are copied ``again``. ``going_back``: of both, those that go on from their own place after a decision."""

    tables: tuple[TablePath, ...]
    begun: BegunLog
    left: tuple[TablePath, ...] = ()
    again: frozenset[TablePath] = frozenset()
    setups: Mapping[str, Setup] = field(default_factory=dict)
    refused: Mapping[TablePath, Refusal] = field(default_factory=dict)
    going_back: frozenset[TablePath] = frozenset()


@dataclass(frozen=True, slots=True)
class AlteredLog:
    """The pipeline of a log for the new schemas. ``alterations``: those of its tables; ``changes``: those of its
    targets, by sink node; ``altering``: tables that these come from; ``refused``: tables that have to stop. Targets of
    the tables ``truncated`` lose all rows. ``joined``: tables that the pipeline has in addition. ``met``: the
    alterations before a policy has decided about them; ``ignored``: why targets do not follow some of them."""

    pipeline: Pipeline
    changes: Mapping[str, SchemaChange] = field(default_factory=dict)
    altering: frozenset[TablePath] = frozenset()
    refused: Mapping[TablePath, Refusal] = field(default_factory=dict)
    alterations: tuple[SchemaAlteration, ...] = ()
    joined: JoinedTables | None = None
    met: tuple[SchemaAlteration, ...] = ()
    ignored: Mapping[TablePath, str] = field(default_factory=dict)

    @property
    def truncated(self) -> frozenset[TablePath]:
        return frozenset(one.path for one in self.alterations if one.truncates)


PlanAgain: TypeAlias = Callable[[Pipeline, Sequence[SchemaAlteration], Collection[TablePath]], AlteredLog]
"""``plan_again`` for one job."""


PlanTables: TypeAlias = Callable[[Pipeline, Sequence[SourceTable]], Pipeline]
"""``plan_tables`` for one job."""


def plan_tables(job: Job, analyst: SqlAnalyst | None, pipeline: Pipeline, tables: Sequence[SourceTable]) -> Pipeline:
    """Plan a log for these tables and schemas instead of those of the job. Raises FatalError if a step refuses one."""
    log = pipeline.log
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    shown = tuple(replace(one, schema=one.output) for one in tables)
    graph = _followed(job, analyst, {log.step.id: SourceLog(log.step, log.source, shown, log.capabilities)})
    (found,) = (one for one in divide(graph) if one.log is not None)
    known = {one.schema.path: one for one in tables}
    vertices = tuple(_with_tables(vertex, known) for vertex in found.vertices)
    return replace(found, id=pipeline.id, name=pipeline.name, vertices=vertices, after=pipeline.after)


def _followed(job: Job, analyst: SqlAnalyst | None, logs: Mapping[str, SourceLog]) -> FlowGraph:
    try:
        graph = table_graph.follow(job, analyst, logs)
    except UnreachableError:
        raise
    except PlanError as error:
        raise FatalError(error.problems[0].whole, error.problems[0].remedy) from error
    for cause in graph.refused.values():
        raise FatalError(cause.message, cause.remedy)
    return graph


def no_plan(*_: object) -> AlteredLog:
    """``plan_again`` for a job without logs."""
    raise AssertionError("a job without logs meets no change of a schema")


def plan_again(
    job: Job,
    analyst: SqlAnalyst | None,
    pipeline: Pipeline,
    alterations: Sequence[SchemaAlteration],
    without: Collection[TablePath] = (),
) -> AlteredLog:
    """Plan the pipeline for changes that its log has met. ``without``: tables that were refused before, whose steps are
    not asked again. Raises UnreachableError if a step cannot look at its target for now."""
    log = pipeline.log
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    known, policy_of = {one.schema.path: one for one in log.tables}, log.source.schema_policy_of
    remedy = DECIDE if log.source.can_go_back or len(known) == 1 else COPY_AGAIN
    passed = [decided(one, known[one.path], policy_of(one.path), remedy) for one in alterations]
    found = plan_as_decided(job, analyst, pipeline, passed, without)
    return replace(found, met=tuple(alterations))


def plan_as_decided(
    job: Job,
    analyst: SqlAnalyst | None,
    pipeline: Pipeline,
    alterations: Sequence[SchemaAlteration],
    without: Collection[TablePath] = (),
) -> AlteredLog:
    """Plan the pipeline for these schemas, which the policy of the source has passed."""
    if stopped := {one.path: Refusal(*one.stops) for one in alterations if one.stops is not None}:
        rest = [one for one in alterations if one.stops is None]
        found = plan_as_decided(job, analyst, _reading(pipeline, alterations), rest, [*without, *stopped])
        return replace(found, refused={**found.refused, **stopped}, alterations=tuple(alterations))
    try:
        return replace(_planned(job, analyst, pipeline, alterations, without), alterations=tuple(alterations))
    except FatalError as error:
        if len(alterations) == 1:
            refused = {alterations[0].path: _refusal(alterations[0], error)}
            return AlteredLog(_reading(pipeline, alterations), refused=refused, alterations=tuple(alterations))
    found = AlteredLog(pipeline)
    for one in alterations:  # each by itself, so that the refused ones are known
        more = plan_as_decided(job, analyst, found.pipeline, [one], [*without, *found.refused])
        found = AlteredLog(
            more.pipeline, {**found.changes, **more.changes}, found.altering | more.altering,
            {**found.refused, **more.refused}, tuple(alterations),
        )  # fmt: skip
    return found


def _refusal(one: SchemaAlteration, error: FatalError) -> Refusal:
    statement = f" ({one.statement})" if one.statement else ""
    return Refusal(f"the schema of {one.path} has changed{statement}: {error.message}", error.remedy)


def _planned(
    job: Job,
    analyst: SqlAnalyst | None,
    pipeline: Pipeline,
    alterations: Sequence[SchemaAlteration],
    without: Collection[TablePath],
) -> AlteredLog:
    read = _reading(pipeline, alterations)
    log = read.log
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    tables = tuple(replace(one, schema=one.output) for one in log.tables if one.schema.path not in without)
    logs = {log.step.id: SourceLog(log.step, log.source, tables, log.capabilities)}
    graph = _followed(job, analyst, logs)
    changed = {one.path: one for one in alterations}
    reached = tables_by_vertex(read)
    vertices, changes, altering = [], dict[str, SchemaChange](), frozenset[TablePath]()
    for vertex in read.vertices:
        own = [changed[path] for path in reached[vertex.id] if path in changed]
        if not own or (vertex.source is not None and vertex.outputs):
            vertices.append(vertex)
            continue
        made = replace(vertex, nodes=tuple(_remade(node, graph) for node in vertex.nodes))
        if found := _changes(vertex, made, own):
            changes |= found
            altering |= {one.path for one in own}
        vertices.append(made)
    return AlteredLog(replace(read, vertices=tuple(vertices)), changes, altering)


def _reading(pipeline: Pipeline, alterations: Iterable[SchemaAlteration]) -> Pipeline:
    """The pipeline whose log is read under the new schemas; its other nodes are as they were."""
    changed = {one.path: one.table for one in alterations}
    return replace(pipeline, vertices=tuple(_with_tables(vertex, changed) for vertex in pipeline.vertices))


def _with_tables(vertex: PlannedVertex, changed: Mapping[TablePath, SourceTable]) -> PlannedVertex:
    source = vertex.source
    if source is None or not source.part.is_log:
        return vertex
    tables = tuple(changed.get(one.schema.path, one) for one in source.tables)
    return replace(vertex, nodes=(replace(source, table=tables[0], log_tables=tables), *vertex.nodes[1:]))


def _remade(before: TableNode, graph: FlowGraph) -> TableNode:
    """The node for the new schema. Raises FatalError if the pipeline would need another shape (rule 1)."""
    if isinstance(before, SourceNode):
        return before
    made = graph.nodes.get(before.id)
    if isinstance(before, SqlNode):
        fits = isinstance(made, SqlNode) and made.analysis.narrow == before.analysis.narrow
    else:
        fits = made is not None and getattr(made, "capabilities", None) == before.capabilities
    if not fits:
        raise FatalError(
            f"{before.id} does not fit the new schema without another plan of the job",
            COPY_AGAIN,
        )
    assert made is not None, "it fits"
    if isinstance(before, SinkNode) and isinstance(made, SinkNode):
        return replace(made, shared=before.shared)
    return made


def _changes(before: PlannedVertex, after: PlannedVertex, own: Sequence[SchemaAlteration]) -> dict[str, SchemaChange]:
    found = {}
    for old, new in zip(before.sinks, after.sinks, strict=True):
        if (old.table.columns, old.table.key) != (new.table.columns, new.table.key):
            statement = "; ".join(one.statement for one in own if one.statement)
            renamed = _renamed(old.table, new.table, own)
            found[new.id] = SchemaChange(new.table.path, old.table, new.table, statement=statement, renamed=renamed)
    return found


def _renamed(before: TableSchema, after: TableSchema, own: Iterable[SchemaAlteration]) -> dict[str, str]:
    """The renamed columns as the sink sees them (rule 4)."""
    gone, new = set(before.names) - set(after.names), set(after.names) - set(before.names)
    proved = {old: name for one in own for old, name in one.renamed.items()}
    seen = {old: name for old, name in proved.items() if old in gone and name in new}
    if len(seen) < len(proved) and gone - seen.keys() and new - set(seen.values()):
        names = ", ".join(f"{old} to {name}" for old, name in proved.items() if old not in seen)
        raise FatalError(
            f"the source has renamed {names}, and a step gives these columns other names, so the sink cannot know "
            "which of its columns is meant",
            COPY_AGAIN,
        )
    return seen
