"""The datasets that a job reads and writes, with their columns and the lineage of these. Pure.

Rules. (1) A step whose plugin names no dataset gets one that belongs to this job alone, so that two jobs never share it
by accident. (2) Several sinks, or parts of a source, of one dataset are one. (3) A column of a table with several
datasets may come from any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from seatunnel_py.api.names import Dataset
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode, SqlNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.tables.column_lineage import SourceColumn, StreamLineage, lineage_of

OWN_NAMESPACE = "seatunnel"

CountKey = tuple[str, ...]

Fields = tuple[tuple[str, str], ...]
"""Names and types of columns."""


@dataclass(frozen=True, slots=True, order=True)
class InputColumn:
    """A column of an input dataset, and how an output depends on it."""

    dataset: Dataset
    column: str
    kind: str
    masking: bool = False


@dataclass(frozen=True, slots=True)
class OutputLineage:
    """``unknown``: columns after a step without a declared lineage, which may depend on all of its input."""

    columns: Mapping[str, frozenset[InputColumn]] = field(default_factory=dict)
    rows: frozenset[InputColumn] = frozenset()
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class JobDataset:
    """``keys``: the names by which receipts count it: a source's table, or that and a target. ``lineage``: of an
    output; None: it could not be computed."""

    dataset: Dataset
    fields: Fields
    keys: frozenset[CountKey]
    lineage: OutputLineage | None = None


@dataclass(frozen=True, slots=True)
class JobDatasets:
    """``queries``: texts of the job's queries."""

    inputs: tuple[JobDataset, ...] = ()
    outputs: tuple[JobDataset, ...] = ()
    queries: tuple[str, ...] = ()


def datasets_of(job_name: str, graph: FlowGraph, pipelines: Sequence[Pipeline]) -> JobDatasets:
    """All datasets of these pipelines, in the order of the plan."""
    named: dict[tuple[str, TablePath], tuple[Dataset, ...]] = {}
    inputs: dict[Dataset, JobDataset] = {}
    for node in _sources(pipelines):
        for one in node.tables:
            path = one.schema.path
            found = _input_names(job_name, node, path) if (node.step.id, path) not in named else ()
            named.setdefault((node.step.id, path), found)
            for dataset in found:
                _put(inputs, JobDataset(dataset, _fields(one.schema), frozenset({(str(path),)})))
    lineages = _lineages(graph, named)
    outputs: dict[Dataset, JobDataset] = {}
    sinks = [node for pipeline in pipelines for node in pipeline.sinks]
    for sink in sinks:
        keys = frozenset((table, sink.shown) for table in _read_for(graph, sink))
        lineage = None if lineages is None else lineages.get(sink.id)
        _put(outputs, JobDataset(_output_name(job_name, sink), _fields(sink.table), keys, lineage))
    queries = (node.analysis.query for node in graph.nodes.values() if isinstance(node, SqlNode))
    return JobDatasets(tuple(inputs.values()), tuple(outputs.values()), tuple(dict.fromkeys(queries)))


def _read_for(graph: FlowGraph, sink: SinkNode) -> Iterable[str]:
    """The source tables whose rows may reach this sink."""
    nodes = (graph.nodes[node_id] for node_id in graph.upstream(sink.id))
    return (str(one.schema.path) for node in nodes if isinstance(node, SourceNode) for one in node.tables)


def _sources(pipelines: Iterable[Pipeline]) -> Iterable[SourceNode]:
    return (vertex.source for line in pipelines for vertex in line.vertices if vertex.source is not None)


def _input_names(job_name: str, node: SourceNode, path: TablePath) -> tuple[Dataset, ...]:
    table = next(one for one in node.tables if one.schema.path == path)
    try:
        found = tuple(node.source.datasets(table))
    except Exception:  # noqa: BLE001 - a plugin names its data wrongly; no run depends on it
        found = ()
    return found or (_own(job_name, node.step.id, path),)


def _output_name(job_name: str, node: SinkNode) -> Dataset:
    try:
        found = node.sink.dataset()
    except Exception:  # noqa: BLE001 - see above
        found = None
    return found or _own(job_name, node.step.id, node.table.path)


def _own(job_name: str, step: str, path: TablePath) -> Dataset:
    return Dataset(OWN_NAMESPACE, f"{job_name}.{step}.{path}")


def _fields(table: TableSchema) -> Fields:
    return tuple((column.name, str(column.dtype)) for column in table.columns)


def _put(found: dict[Dataset, JobDataset], new: JobDataset) -> None:
    """Add a dataset, or its columns and its lineage to those found so far (rule 2)."""
    known = found.get(new.dataset)
    if known is None:
        found[new.dataset] = new
        return
    names = {name for name, _ in known.fields}
    fields = (*known.fields, *(one for one in new.fields if one[0] not in names))
    found[new.dataset] = JobDataset(new.dataset, fields, known.keys | new.keys, _joined(known.lineage, new.lineage))


def _joined(one: OutputLineage | None, other: OutputLineage | None) -> OutputLineage | None:
    if one is None or other is None:
        return None
    names = (*one.columns, *(name for name in other.columns if name not in one.columns))
    columns = {name: one.columns.get(name, frozenset()) | other.columns.get(name, frozenset()) for name in names}
    return OutputLineage(columns, one.rows | other.rows, one.unknown | other.unknown)


def _lineages(
    graph: FlowGraph, named: Mapping[tuple[str, TablePath], tuple[Dataset, ...]]
) -> dict[str, OutputLineage] | None:
    """The lineage of each sink, by its node; None: a plugin declares its lineage wrongly."""
    try:
        return {one.node: _in_datasets(one.stream, named) for one in lineage_of(graph)}
    except Exception:  # noqa: BLE001 - see above
        return None


def _in_datasets(stream: StreamLineage, named: Mapping[tuple[str, TablePath], tuple[Dataset, ...]]) -> OutputLineage:
    known: dict[frozenset[SourceColumn], frozenset[InputColumn]] = {}

    def of(columns: frozenset[SourceColumn]) -> frozenset[InputColumn]:
        if columns not in known:  # an unknown step gives all of its columns the same set
            known[columns] = frozenset(
                InputColumn(dataset, one.column, one.kind.value, one.masking)
                for one in columns
                for dataset in named.get((one.step, one.table), ())  # none: the table is not read
            )
        return known[columns]

    return OutputLineage({name: of(uses) for name, uses in stream.columns.items()}, of(stream.rows), stream.unknown)
