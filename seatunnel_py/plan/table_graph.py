"""Builds the table graph: every (step, table) that rows pass through, with schemas and edges.

A step of the job file with many tables becomes one node per table, so that each table can run, fail and be retried
alone. Schemas are propagated here, before anything runs: this finds every option that does not fit its input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.config.placeholders import expand
from seatunnel_py.errors import PlanError, Problem, RetriableError, SeaTunnelError, UnreachableError
from seatunnel_py.plan import log_graph
from seatunnel_py.plan.graph_nodes import (
    FlowGraph,
    IsolatedTable,
    SinkNode,
    SourceNode,
    SourcePart,
    SqlNode,
    TableStream,
    TransformNode,
)
from seatunnel_py.plan.log_graph import LOG_SUFFIX, SourceLog
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.plan.plugins.registry import BrokenPluginError, PluginKind
from seatunnel_py.plan.sql.analysis import Analysis, CatalystFactory, SqlAnalyst
from seatunnel_py.plan.sql.query_types import queried
from seatunnel_py.plan.steps import Job, Step
from seatunnel_py.plan.stream_tables import differ, names_of, node_id, unproved
from seatunnel_py.plan.tables import table_rules


def build(job: Job, analyst: SqlAnalyst | None) -> FlowGraph:
    """Ask the sources for their tables and carry the schemas to the sinks. Raises PlanError with every problem.
    ``analyst`` may be None if the job has no query (or its schema is not needed)."""
    first = _Builder(job, analyst)
    graph = first.build()
    return log_graph.with_logs(graph, first.logs, lambda logs: follow(job, analyst, logs))


def follow(job: Job, analyst: SqlAnalyst | None, logs: Mapping[str, SourceLog]) -> FlowGraph:
    """The graph of these logs only, by step."""
    return _Builder(job, analyst, logs).build()


class _RefusedError(Exception):
    """A step refuses one table; ``node`` is the source of its rows."""

    def __init__(self, node: str, table: TableSchema, error: Exception) -> None:
        super().__init__(str(error))
        self.node, self.table, self.error = node, table, error


class _Builder:
    """``following``: only these logs are read, by step; None: everything but logs."""

    def __init__(self, job: Job, analyst: SqlAnalyst | None, following: Mapping[str, SourceLog] | None = None) -> None:
        self.job = job
        self.following = following
        self.logs: dict[str, SourceLog] = {}
        self.analyst = analyst
        self.graph = FlowGraph()
        self.problems: list[Problem] = []
        self.broken: BaseException | None = None  # the traceback that ``--debug`` shows
        self.away = 0  # problems that a retry may mend
        self.streams: dict[str, list[TableStream]] = {}
        self.lost: dict[str, list[IsolatedTable]] = {}  # by step: tables for which it emits nothing

    def build(self) -> FlowGraph:
        for step in self.job.steps:
            inputs = [(name, stream) for name in step.inputs for stream in self.streams[name]]
            self.lost[step.id] = [one for name in step.inputs for one in self.lost[name]]
            if self.following is None:
                self.graph.unused += table_rules.unused(step, [stream.table.path for _, stream in inputs])
            if isinstance(step.factory, CatalystFactory):
                self.streams[step.id] = self._query(step, step.factory, inputs)
            elif step.kind is PluginKind.SOURCE:
                self.streams[step.id] = self._source(step) if self.following is None else self._log(step)
            elif step.kind is PluginKind.TRANSFORM:
                self.streams[step.id] = self._transformed(step, [stream for _, stream in inputs])
            else:
                self._sink(step, [stream for _, stream in inputs])
        if self.problems:
            kind = UnreachableError if len(self.problems) == self.away else PlanError
            raise kind(tuple(self.problems)) from self.broken
        return self.graph

    # ------------------------------------------------------------ sources

    def _source(self, step: Step) -> list[TableStream]:
        try:
            source, tables, failures, left_out, capabilities = plugin_calls.source_of(step, self.job)
        except (SeaTunnelError, ValueError) as error:
            self._problem(step, error)
            return []
        counted = Counter([*(table.schema.path for table in tables), *(failure.path for failure in failures)])
        twice = [str(path) for path, times in counted.items() if times > 1]
        if twice:
            text = f"the source has {twice[0]} more than once"
            self.problems.append(step.node.problem(text, remedy="remove one, or give its table another name"))
            return []
        part = SourcePart.TABLE
        if isinstance(source, LogSource):
            self.logs[step.id] = SourceLog(step, source, tables, capabilities)
            source, part, capabilities = log_graph.copied(source, capabilities)
        streams = []
        for table in tables:
            node = SourceNode(node_id(step, table.schema), step, source, table, capabilities, part)
            self.graph.put(node, ())
            streams.append(TableStream(node.id, table.schema, part))
        self.graph.left_out += [(step.id, one) for one in left_out]
        for failure in failures:
            self._isolate(step, failure.path, failure.message, failure.remedy)
        if not streams and not failures:
            self.problems.append(step.node.problem("the source found no table", remedy="check its path or pattern"))
        return streams

    def _log(self, step: Step) -> list[TableStream]:
        """The changes of all tables of a log, which one node reads."""
        assert self.following is not None, "logs are followed in a graph of their own"
        log = self.following.get(step.id)
        if log is None or not log.tables:
            return []
        first, part = log.tables[0], log.part
        node = SourceNode(f"{step.id}{LOG_SUFFIX}", step, log.source, first, log.capabilities, part, log.tables)
        self.graph.put(node, ())
        return [TableStream(node.id, table.schema, part) for table in log.tables]

    # --------------------------------------------------------- transforms

    def _transformed(self, step: Step, inputs: Sequence[TableStream]) -> list[TableStream]:
        """The output streams of the step for all its input streams."""
        found: list[TableStream] = []
        refusals, accepted = [], 0
        for stream in inputs:
            matching = table_rules.options_for(step, stream.table.path, self.problems)
            try:
                found += self._transform(step, stream, matching)
                accepted += bool(matching)
            except _RefusedError as refusal:
                refusals.append(refusal)
        self._settle(step, refusals, accepted)
        return found

    def _transform(self, step: Step, stream: TableStream, matching: Sequence[Any]) -> list[TableStream]:
        """The output streams of the step for one input stream: the stream itself, if the step does not match it."""
        streams = [stream]
        first_id = self._new_id(step, stream.table)
        for number, options in enumerate(matching):
            current = streams[0]
            node_id = first_id + (f".{number + 1}" if number else "")
            try:
                transform, output, side, capabilities = plugin_calls.transform_of(
                    step, options, current.table, self.job
                )
            except (SeaTunnelError, ValueError) as error:
                raise _RefusedError(current.node, stream.table, error) from error
            if output is not None and not capabilities.keeps_keys:
                output = unproved(output)
            retries = options.retry_rejected
            if retries:  # a rejection that may succeed later is not a function of the rows
                capabilities = replace(capabilities, determinism=Determinism.INDETERMINATE)
            node = TransformNode(node_id, step, transform, current.table, capabilities, retries)
            self.graph.put(node, [("", current)])
            part = current.part
            kept = [TableStream(node_id, output, part)] if output is not None else []
            streams = [*kept, *(TableStream(node_id, table, part) for table in side), *streams[1:]]
            if output is None:
                break
        return streams

    # ------------------------------------------------------------ queries

    def _query(self, step: Step, factory: CatalystFactory, inputs: list[tuple[str, TableStream]]) -> list[TableStream]:
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
            if refused := table_rules.join_problem(step):
                self.problems.append(refused)
                return []
            if self._shares_fate(step, [stream for _, stream in inputs], "the query joins it with"):
                return []
            return self._joined(step, factory, inputs)
        passed: list[TableStream] = []
        made: list[TableStream] = []
        refusals = []
        for pair in inputs:
            matching = table_rules.options_for(step, pair[1].table.path, self.problems)
            if not matching:
                passed.append(pair[1])
            elif len(matching) > 1:
                self._problem(step, ValueError("table_transform: a query takes one rule for each table"), pair[1].table)
            else:
                try:
                    made += self._one_query(step, factory, matching[0], [pair])
                except ValueError as error:
                    refusals.append(_RefusedError(pair[1].node, pair[1].table, error))
        self._settle(step, refusals, len(made))
        self._refuse_halves(step, made)
        return [*passed, *made]

    def _refuse_halves(self, step: Step, streams: list[TableStream]) -> None:
        """Grouping or sorting each half of a table that comes in two streams would be wrong."""
        wide = [stream for stream in streams if not self._sql_node(stream).analysis.narrow]
        twice = [path for path, times in Counter(stream.table.path for stream in wide).items() if times > 1]
        if twice:
            text = f"the table {twice[0]} comes in by two ways, and this query needs it whole"
            remedy = "query each of the two by itself, or give the tables different names"
            self.problems.append(step.node.problem(text, remedy=remedy, option="plugin_input"))

    def _sql_node(self, stream: TableStream) -> SqlNode:
        node = self.graph.nodes[stream.node]
        assert isinstance(node, SqlNode)
        return node

    def _joined(self, step: Step, factory: CatalystFactory, inputs: list[tuple[str, TableStream]]) -> list[TableStream]:
        try:
            return self._one_query(step, factory, step.options, inputs)
        except ValueError as error:
            self._problem(step, error)
            return []

    def _one_query(
        self, step: Step, factory: CatalystFactory, options: Any, group: list[tuple[str, TableStream]]
    ) -> list[TableStream]:
        if self.analyst is None:
            self.problems.append(step.node.problem("this command cannot run SQL steps", remedy="use `seatunnel run`"))
            return []
        named = {self._sql_name(step_id): stream for step_id, stream in group}
        analysis = self.analyst.analyse(
            factory.query(options),
            {name: queried(stream.table) for name, stream in named.items()},
            self.job.file.env.sql_dialect,
        )
        output = self._query_output(step, group, analysis)
        inputs = tuple((name, stream.table) for name, stream in named.items())
        node = SqlNode(self._new_id(step, output), step, analysis, inputs, output)
        self.graph.put(node, named.items())
        return [TableStream(node.id, output, group[0][1].part)]

    def _query_output(self, step: Step, group: list[tuple[str, TableStream]], analysis: Analysis) -> TableSchema:
        """Over one table the table keeps its path and the keys whose columns survive, by name; a join is a new table.

        A name proves nothing: after ``upper(id) AS id`` or an exploded row keys may repeat. So the source no longer
        guarantees the key, and every sink has to check when it loads.
        """
        if len(group) == 1:
            return unproved(group[0][1].table.with_columns(analysis.columns))
        return TableSchema(TablePath("", "", step.id), analysis.columns)

    def _sql_name(self, step_id: str) -> str:
        """A query names its inputs as ``plugin_output`` does, which is also the id unless ``id`` was given."""
        return getattr(self.job.step(step_id).options, "plugin_output", None) or step_id

    # -------------------------------------------------------------- sinks

    def _sink(self, step: Step, streams: list[TableStream]) -> None:
        tables: dict[TablePath, list[TableStream]] = {}
        for stream in streams:
            tables.setdefault(stream.table.path, []).append(stream)
        made, refusals = [], []
        for path, group in tables.items():
            if differ(group):
                text = f"its inputs bring two different row types for the table {path}"
                self.problems.append(
                    step.node.problem(text, remedy="map both to the same columns", option="plugin_input")
                )
                continue
            try:
                made.append(self._one_sink(step, group, len(tables)))
            except _RefusedError as refusal:
                refusals += [_RefusedError(stream.node, stream.table, refusal.error) for stream in group]
        self._settle(step, refusals, len(made))
        spanning = [TableStream(node.id, node.table) for node in made if node.capabilities.spans_tables]
        self._shares_fate(step, spanning, "its sink decides over all tables together, and one is")

    def _one_sink(self, step: Step, group: list[TableStream], tables: int) -> SinkNode:
        table = group[0].table
        try:
            options = expand(step.options, names_of(table))
            sink, capabilities = plugin_calls.sink_of(step, options, table, self.job, group[0].part)
        except (SeaTunnelError, ValueError) as error:
            raise _RefusedError(group[0].node, table, error) from error
        if tables > 1 and not capabilities.multi_table:
            text = f"this sink takes one table, and {tables} come in"
            self.problems.append(step.node.problem(text, remedy="use one sink per table", option="plugin_input"))
        part = group[0].part
        if part is SourcePart.LOG_AFTER_COPY:
            step = replace(step, id=f"{step.id}{LOG_SUFFIX}")  # the target keeps separate ledgers of copy and log
        node = SinkNode(self._id(step, table), step, sink, table, capabilities, part=part)
        self.graph.put(node, [("", stream) for stream in group])
        return node

    # --------------------------------------------------- tables that fail

    def _settle(self, step: Step, refusals: Sequence[_RefusedError], accepted: int) -> None:
        """A step that refuses all tables that it is meant for is wrong; else the refused tables fail alone. A broken
        plugin is not the fault of a table."""
        told: set[tuple[TablePath, str]] = set()
        for refusal in refusals:
            if not accepted or isinstance(refusal.error, BrokenPluginError):
                if (refusal.table.path, str(refusal.error)) not in told:  # a union brings one table by several ways
                    self._problem(step, refusal.error, refusal.table)
                told.add((refusal.table.path, str(refusal.error)))
                continue
            message, remedy = _worded(refusal.error)
            cause = self._cause(step, refusal.table.path, message, remedy)
            self.graph.refused.setdefault(refusal.node, cause)
            self.lost[step.id].append(cause)

    def _shares_fate(self, step: Step, streams: Iterable[TableStream], why: str) -> bool:
        """Whether this step fails because a table that it needs was lost upstream: then its other tables fail too."""
        lost = next(iter(self.lost[step.id]), None)
        for stream in streams if lost is not None else ():
            assert lost is not None
            self.graph.refused.setdefault(stream.node, lost.of(stream.table.path, why))
        return lost is not None

    def _isolate(self, step: Step, path: TablePath, message: str, remedy: str) -> None:
        cause = self._cause(step, path, message, remedy)
        self.graph.isolated.append(cause)
        self.lost[step.id].append(cause)

    def _cause(self, step: Step, path: TablePath, message: str, remedy: str) -> IsolatedTable:
        problem = step.node.problem(_of_table(path, message), remedy=remedy)
        return IsolatedTable(path, step.id, message, remedy, problem)

    def _new_id(self, step: Step, table: TableSchema) -> str:
        """Id of the next node of a step for a table. Two inputs that bring one table get a node each: a node reads one
        stream, and the sink unites them again."""
        first = self._id(step, table)
        ids = (first if number == 1 else f"{first}~{number}" for number in count(1))
        return next(node_id for node_id in ids if node_id not in self.graph.nodes)

    def _id(self, step: Step, table: TableSchema) -> str:
        return node_id(step, table) if self.following is None else log_graph.log_id(node_id(step, table))

    def _problem(self, step: Step, error: Exception, table: TableSchema | None = None) -> None:
        """Report a plugin's refusal; a text that begins with the name of one of the step's options is placed at that
        option."""
        self.away += isinstance(error, RetriableError)
        self.broken = error if isinstance(error, BrokenPluginError) else self.broken
        message, remedy = _worded(error)
        option, found, rest = message.partition(": ")
        if found and step.node.options.find(option) is not None:
            message = rest
        else:
            option = ""
        if table is not None:
            message = _of_table(table.path, message)
        self.problems.append(step.node.problem(message, option=option, remedy=remedy))


def _worded(error: Exception) -> tuple[str, str]:
    """Return message and remedy."""
    return (error.message, error.remedy) if isinstance(error, SeaTunnelError) else (str(error), "")


def _of_table(path: TablePath, message: str) -> str:
    return message if str(path) in message else f"table {path}: {message}"
