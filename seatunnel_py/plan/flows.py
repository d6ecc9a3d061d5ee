"""The table graph: every (step, table) that rows pass through, with schemas, and what feeds what.

A step of the job file that sees many tables becomes one node per table, so that each table can run, fail and be
retried alone. Schemas are propagated here, before anything runs: every option that does not fit its input is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

from pydantic import ValidationError

from seatunnel_py.api.capabilities import Determinism, SinkCapabilities, SourceCapabilities, TransformCapabilities
from seatunnel_py.api.options import JOB_FILE
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import Sink
from seatunnel_py.api.source import Source, SourceTable
from seatunnel_py.api.step_options import RuleMatchMode, TransformOptions
from seatunnel_py.api.transform import Transform
from seatunnel_py.config.placeholders import Names, expand
from seatunnel_py.errors import PlanError, Problem, RetriableError, SeaTunnelError, UnreachableError
from seatunnel_py.plan import asked
from seatunnel_py.plan.registry import BrokenPluginError, PluginKind
from seatunnel_py.plan.sql import Analysis, CatalystFactory, SqlAnalyst
from seatunnel_py.plan.steps import Job, Step
from seatunnel_py.redaction import redacted_text


@dataclass(frozen=True, slots=True)
class SourceNode:
    id: str
    step: Step
    source: Source
    table: SourceTable
    capabilities: SourceCapabilities


@dataclass(frozen=True, slots=True)
class TransformNode:
    """``feeds`` is the one stream that it reads. ``retries``: how often a row that it rejects comes back to it."""

    id: str
    step: Step
    transform: Transform
    table: TableSchema
    capabilities: TransformCapabilities
    retries: int = 0


@dataclass(frozen=True, slots=True)
class SqlNode:
    """A query over named inputs; ``inputs`` pairs each name with the table that it stands for."""

    id: str
    step: Step
    analysis: Analysis
    inputs: tuple[tuple[str, TableSchema], ...]
    output: TableSchema


@dataclass(frozen=True, slots=True)
class SinkNode:
    id: str
    step: Step
    sink: Sink
    table: TableSchema
    capabilities: SinkCapabilities

    @property
    def shown(self) -> str:
        """The target as people may read it: an option that it is made of may hold a secret by reference."""
        return redacted_text(self.sink.target)


TableNode: TypeAlias = SourceNode | TransformNode | SqlNode | SinkNode


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows of one table as one node gives them."""

    node: str
    table: TableSchema


@dataclass(frozen=True, slots=True)
class Edge:
    """``table`` is the table of the rows; ``name`` is what a query calls them, empty elsewhere."""

    sender: str
    table: TablePath
    receiver: str
    name: str = ""


@dataclass(slots=True)
class FlowGraph:
    """Nodes in topological order, and the edges between them, found by either end: a job may have thousands."""

    nodes: dict[str, TableNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    _from: dict[str, list[Edge]] = field(default_factory=dict)
    _into: dict[str, list[Edge]] = field(default_factory=dict)

    def put(self, node: TableNode, inputs: Iterable[tuple[str, Stream]]) -> None:
        assert node.id not in self.nodes, f"two nodes are called {node.id}"
        self.nodes[node.id] = node
        for name, stream in inputs:
            edge = Edge(stream.node, stream.table.path, node.id, name)
            self.edges.append(edge)
            self._from.setdefault(edge.sender, []).append(edge)
            self._into.setdefault(edge.receiver, []).append(edge)

    def outputs(self, node_id: str) -> Sequence[Edge]:
        return self._from.get(node_id, ())

    def inputs(self, node_id: str) -> Sequence[Edge]:
        return self._into.get(node_id, ())


def build(job: Job, analyst: SqlAnalyst | None) -> FlowGraph:
    """Ask the sources for their tables and carry the schemas to the sinks. Raises PlanError with every problem.

    ``analyst`` may be None where the job has no query (or where nobody needs its schema).
    """
    return _Builder(job, analyst).build()


class _Builder:
    def __init__(self, job: Job, analyst: SqlAnalyst | None) -> None:
        self.job = job
        self.analyst = analyst
        self.graph = FlowGraph()
        self.problems: list[Problem] = []
        self.broken: BaseException | None = None  # the trace that ``--debug`` shows
        self.away = 0  # of the problems: what another try may mend
        self.streams: dict[str, list[Stream]] = {}

    def build(self) -> FlowGraph:
        for step in self.job.steps:
            inputs = [(name, stream) for name in step.inputs for stream in self.streams[name]]
            if isinstance(step.factory, CatalystFactory):
                self.streams[step.id] = self._query(step, step.factory, inputs)
            elif step.kind is PluginKind.SOURCE:
                self.streams[step.id] = self._source(step)
            elif step.kind is PluginKind.TRANSFORM:
                self.streams[step.id] = [out for _, stream in inputs for out in self._transform(step, stream)]
            else:
                self._sink(step, [stream for _, stream in inputs])
        if self.problems:
            kind = UnreachableError if len(self.problems) == self.away else PlanError
            raise kind(tuple(self.problems)) from self.broken
        return self.graph

    # ------------------------------------------------------------ sources

    def _source(self, step: Step) -> list[Stream]:
        try:
            source, tables, capabilities = asked.source_of(step, self.job)
        except (SeaTunnelError, ValueError) as error:
            self._problem(step, error)
            return []
        counted = Counter(table.schema.path for table in tables)
        twice = [str(path) for path, times in counted.items() if times > 1]
        if twice:
            text = f"the source has {twice[0]} more than once"
            self.problems.append(step.node.problem(text, remedy="remove one, or give its table another name"))
            return []
        streams = []
        for table in tables:
            node = SourceNode(_node_id(step, table.schema), step, source, table, capabilities)
            self.graph.put(node, ())
            streams.append(Stream(node.id, table.schema))
        if not streams:
            self.problems.append(step.node.problem("the source found no table", remedy="check its path or pattern"))
        return streams

    # --------------------------------------------------------- transforms

    def _transform(self, step: Step, stream: Stream) -> list[Stream]:
        """The streams behind the step for one stream in front of it: itself, where the step does not match it."""
        streams = [stream]
        first_id = self._new_id(step, stream.table)
        for number, options in enumerate(self._matching(step, stream.table)):
            current = streams[0]
            node_id = first_id + (f".{number + 1}" if number else "")
            try:
                transform, output, side, capabilities = asked.transform_of(step, options, current.table, self.job)
            except (SeaTunnelError, ValueError) as error:
                self._problem(step, error, stream.table)
                return []
            if output is not None and not capabilities.keeps_keys:
                output = _unproved(output)
            retries = options.retry_rejected
            if retries:  # what is rejected now and passes later is no function of the rows
                capabilities = replace(capabilities, determinism=Determinism.INDETERMINATE)
            node = TransformNode(node_id, step, transform, current.table, capabilities, retries)
            self.graph.put(node, [("", current)])
            kept = [Stream(node_id, output)] if output is not None else []
            streams = [*kept, *(Stream(node_id, table) for table in side), *streams[1:]]
            if output is None:
                break
        return streams

    def _matching(self, step: Step, table: TableSchema) -> list[Any]:
        """The option models that apply to a table: an exact ``table_path`` wins over ``table_match_regex``."""
        options = step.options
        rules = [rule for rule in options.table_transform if rule.get("table_path") == table.path.full_name]
        if rules:
            wanted = rules if options.rule_match_mode is RuleMatchMode.ALL_MATCH else rules[:1]
            return [self._special(step, rule) for rule in wanted]
        return [options] if re.fullmatch(options.table_match_regex, table.path.full_name) else []

    def _special(self, step: Step, rule: Mapping[str, Any]) -> Any:
        """The options that a rule gives for its table. None of the step's own hold there, as with the peer."""
        common = {name: getattr(step.options, name) for name in TransformOptions.model_fields}
        special = {key: value for key, value in rule.items() if key != "table_path"}
        try:
            options = type(step.options).model_validate(special, context={JOB_FILE: True})
            return options.model_copy(update=common)
        except ValidationError as error:
            for found in error.errors(include_url=False, include_input=False):
                where = ".".join(str(part) for part in found["loc"])
                message = f"table_transform for {rule.get('table_path')}: {where}: {found['msg']}"
                self.problems.append(step.node.problem(message, option="table_transform"))
            return step.options

    # ------------------------------------------------------------ queries

    def _query(self, step: Step, factory: CatalystFactory, inputs: list[tuple[str, Stream]]) -> list[Stream]:
        """A query over several inputs is one node; over one input it is one node per table of that input."""
        if step.options.retry_rejected:
            text, remedy = "a query rejects no rows that could come back to it", "remove the option"
            self.problems.append(step.node.problem(text, remedy=remedy, option="retry_rejected"))
        if len(step.inputs) > 1:
            several = [name for name in step.inputs if len(self.streams[name]) > 1]
            if several:
                text = f"the input {several[0]!r} has {len(self.streams[several[0]])} tables"
                remedy = "a query over several inputs needs exactly one table from each"
                self.problems.append(step.node.problem(text, remedy=remedy, option="plugin_input"))
                return []
        if len(step.inputs) > 1:
            return self._one_query(step, factory, step.options, inputs)
        passed: list[Stream] = []
        made: list[Stream] = []
        for pair in inputs:
            matching = self._matching(step, pair[1].table)
            if not matching:
                passed.append(pair[1])
            elif len(matching) > 1:
                self._problem(step, ValueError("table_transform: a query takes one rule for each table"), pair[1].table)
            else:
                made += self._one_query(step, factory, matching[0], [pair])
        self._refuse_halves(step, made)
        return [*passed, *made]

    def _refuse_halves(self, step: Step, streams: list[Stream]) -> None:
        """A table that comes in two streams must not be grouped or sorted in halves."""
        wide = [stream for stream in streams if not self._sql_node(stream).analysis.narrow]
        twice = [path for path, times in Counter(stream.table.path for stream in wide).items() if times > 1]
        if twice:
            text = f"the table {twice[0]} comes in by two ways, and this query needs it whole"
            remedy = "query each of the two by itself, or give the tables different names"
            self.problems.append(step.node.problem(text, remedy=remedy, option="plugin_input"))

    def _sql_node(self, stream: Stream) -> SqlNode:
        node = self.graph.nodes[stream.node]
        assert isinstance(node, SqlNode)
        return node

    def _one_query(
        self, step: Step, factory: CatalystFactory, options: Any, group: list[tuple[str, Stream]]
    ) -> list[Stream]:
        if self.analyst is None:
            self.problems.append(step.node.problem("this command cannot run SQL steps", remedy="use `seatunnel run`"))
            return []
        named = {self._sql_name(step_id): stream for step_id, stream in group}
        try:
            analysis = self.analyst.analyse(
                factory.query(options),
                {name: stream.table for name, stream in named.items()},
                self.job.file.env.sql_dialect,
            )
        except ValueError as error:
            self._problem(step, error, group[0][1].table if len(group) == 1 else None)
            return []
        output = self._query_output(step, group, analysis)
        inputs = tuple((name, stream.table) for name, stream in named.items())
        node = SqlNode(self._new_id(step, output), step, analysis, inputs, output)
        self.graph.put(node, named.items())
        return [Stream(node.id, output)]

    def _query_output(self, step: Step, group: list[tuple[str, Stream]], analysis: Analysis) -> TableSchema:
        """Over one table the table keeps its path and the keys whose columns survive, by name; a join is a new table.

        A name proves nothing: behind ``upper(id) AS id`` or an exploded row keys may repeat, so the key is no longer
        one that the source vouches for, and no sink may load without looking.
        """
        if len(group) == 1:
            return _unproved(group[0][1].table.with_columns(analysis.columns))
        return TableSchema(TablePath("", "", step.id), analysis.columns)

    def _sql_name(self, step_id: str) -> str:
        """A query names its inputs as ``plugin_output`` does, which is also the id unless ``id`` was given."""
        return getattr(self.job.step(step_id).options, "plugin_output", None) or step_id

    # -------------------------------------------------------------- sinks

    def _sink(self, step: Step, streams: list[Stream]) -> None:
        tables: dict[TablePath, list[Stream]] = {}
        for stream in streams:
            tables.setdefault(stream.table.path, []).append(stream)
        for path, group in tables.items():
            if _differ(group):
                text = f"its inputs bring two different row types for the table {path}"
                self.problems.append(
                    step.node.problem(text, remedy="map both to the same columns", option="plugin_input")
                )
                continue
            self._one_sink(step, group, len(tables))

    def _one_sink(self, step: Step, group: list[Stream], tables: int) -> None:
        table = group[0].table
        options = expand(step.options, _names(table))
        try:
            sink, capabilities = asked.sink_of(step, options, table, self.job)
        except (SeaTunnelError, ValueError) as error:
            self._problem(step, error, table)
            return
        if tables > 1 and not capabilities.multi_table:
            text = f"this sink takes one table, and {tables} come in"
            self.problems.append(step.node.problem(text, remedy="use one sink per table", option="plugin_input"))
        node = SinkNode(_node_id(step, table), step, sink, table, capabilities)
        self.graph.put(node, [("", stream) for stream in group])

    def _new_id(self, step: Step, table: TableSchema) -> str:
        """The id of the next node of a step for a table. Two inputs that bring one table get a node each: a node reads
        one stream, and what unites them again is the sink."""
        first = _node_id(step, table)
        ids = (first if number == 1 else f"{first}~{number}" for number in count(1))
        return next(node_id for node_id in ids if node_id not in self.graph.nodes)

    def _problem(self, step: Step, error: Exception, table: TableSchema | None = None) -> None:
        """Report a plugin's refusal; a text that begins with one of the step's options stands at that option."""
        self.away += isinstance(error, RetriableError)
        self.broken = error if isinstance(error, BrokenPluginError) else self.broken
        remedy = error.remedy if isinstance(error, SeaTunnelError) else ""
        message = error.message if isinstance(error, SeaTunnelError) else str(error)
        option, found, rest = message.partition(": ")
        if found and step.node.options.find(option) is not None:
            message = rest
        else:
            option = ""
        if table is not None and str(table.path) not in message:
            message = f"table {table.path}: {message}"
        self.problems.append(step.node.problem(message, option=option, remedy=remedy))


def _unproved(table: TableSchema) -> TableSchema:
    """The same table, whose key nobody vouches for any more."""
    key = table.primary_key
    return replace(table, primary_key=replace(key, proved=False)) if key else table


def _node_id(step: Step, table: TableSchema) -> str:
    return f"{step.id}[{table.path}]"


def _differ(group: list[Stream]) -> bool:
    shapes = {tuple((column.name, column.dtype) for column in stream.table.columns) for stream in group}
    return len(shapes) > 1


def _names(table: TableSchema) -> Names:
    return Names(
        database=table.path.database,
        schema=table.path.schema,
        table=table.path.table,
        primary_key=table.primary_key.columns if table.primary_key else (),
        unique_key=next(
            (tuple(name for name, _ in key.columns) for key in table.constraints if key.type == "UNIQUE_KEY"),
            (),
        ),
        field_names=table.names,
        partition_keys=table.partition_keys,
        comment=table.comment,
    )
