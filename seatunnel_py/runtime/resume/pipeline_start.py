"""Decides how a pipeline starts in this driver: for the first time, from its newest record, or from nothing again.

Rules. (1) A pipeline resumes from its record, with the decisions of its checkpoint 0. (2) If all its pieces were
deleted, it starts from nothing. (3) So does a pipeline whose splits belong to one snapshot, if that snapshot is lost,
for example with its driver: its positions are void. If rows may be visible, it is refused. (4) If splits may be read as
of different moments (``source.consistency = per-split``), they resume under a new snapshot. (5) A record with another
parallelism is redistributed; one with other steps is refused, because its states would be misinterpreted. (6) Journal
entries belong to one graph. Under another graph they are void, and batch numbers, which start again there, get another
name: a target that has seen batch 7 must not confuse it with the new batch 7. (7) A log that tables join or leave
goes on from a savepoint, which has nothing left to commit for these: the sinks of new tables are set up at once, and a
record holds them before the log is read. (8) A pipeline that copies its table again starts from nothing, and
empties its targets first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Visible
from seatunnel_py.api.source import Split
from seatunnel_py.config.references import References, all_of
from seatunnel_py.errors import BEGIN_ANEW, CannotResumeError, FatalError
from seatunnel_py.plan.altered_log import JoinedTables
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.tables.table_refresh import RefreshOutcome
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology, VertexDeterminism
from seatunnel_py.runtime.resume import log_growth
from seatunnel_py.runtime.resume.rescaling import rescaled
from seatunnel_py.runtime.storage.journal import Journal
from seatunnel_py.runtime.targets import joined_targets, sink_operations
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline, prepared_of
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.split_progress import SplitRound, rounds_of, rounds_plain
from seatunnel_py.runtime.values.topology_builder import promised


def past_of(kept: Journal, pipeline: str, record: CheckpointRecord | None, *, per_split: bool) -> EarlierRun:
    """Collect the state of a pipeline from the journal and the store."""
    names = {subtask: name for (owner, subtask), name in kept.numberings.items() if owner == pipeline}
    done, dropped = frozenset(kept.done.get(pipeline, ())), pipeline in kept.dropped
    found, graph = kept.found.get(pipeline, {}), kept.graphs.get(pipeline)
    return EarlierRun(record, done, dropped, per_split, found, graph, names, reset=pipeline in kept.resets)


@dataclass(frozen=True, slots=True)
class StartPlan:
    """How a pipeline starts. ``record``: None for a start from nothing; ``anew``: earlier journal entries are void;
    ``graph``: the graph of the journal, and the name of its batch numbers, except those in ``numberings``.
    ``refreshed``: rows that were read again (``table_refresh.py``)."""

    prepared: PreparedPipeline
    record: CheckpointRecord | None = None
    done: frozenset[str] = frozenset()
    anew: bool = False
    graph: tuple[str, str] = "", ""
    numberings: Mapping[Subtask, str] = field(default_factory=dict)
    refreshed: tuple[RefreshOutcome, ...] = ()


def start(
    pipeline: Pipeline,
    topology: Topology,
    groups: Mapping[str, Sequence[SinkNode]],
    job: JobIdentity,
    past: EarlierRun,
    copied: Mapping[TablePath, tuple[Split, ...]] = MappingProxyType({}),
) -> StartPlan:
    """Plan the start on another thread, without any change but rule 8. ``copied``: for a log, the splits by which its
    tables were copied. Raises FatalError if the pipeline cannot resume."""
    found = _start(pipeline, topology, groups, job, past, copied)
    graph = _drawn(topology)
    if past.epochs and found.anew:
        return replace(found, graph=(graph, f"{job.incarnation}.{1 + max(past.epochs.values())}"))
    if past.graph is not None and past.graph[0] == graph:
        return replace(found, graph=past.graph, numberings={} if found.anew else past.numberings)
    return replace(found, graph=(graph, "" if past.record is None else str(job.incarnation)))


def _start(
    pipeline: Pipeline,
    topology: Topology,
    groups: Mapping[str, Sequence[SinkNode]],
    job: JobIdentity,
    past: EarlierRun,
    copied: Mapping[TablePath, tuple[Split, ...]],
) -> StartPlan:
    newest = 0 if past.record is None else past.record.checkpoint
    if past.record is None or past.dropped:
        if past.empties:
            sink_operations.empty(tuple(groups.values()), job, newest)
        prepared = sink_operations.prepare(
            pipeline, tuple(groups.values()), job, newest=newest, first=not past.dropped, copied=copied
        )
        return StartPlan(prepared, anew=past.dropped)
    references = references_of(pipeline)
    before = prepared_of(references.opened(past.record.plan))
    joined = None if past.altered is None else past.altered.joined
    if joined := joined or log_growth.left_before(pipeline, before, past.record):
        return _with_other_tables(pipeline, topology, groups, job, past, before, joined)
    record = _as_declared(past.record, topology)
    if changes := _changes(record.topology, topology):
        raise FatalError(
            f"{pipeline.name}: its checkpoint was made by another job: {'; '.join(changes)}",
            f"restore the old steps of the job file; or {BEGIN_ANEW}",
        )
    before = _with_found(before, {vertex: _opened(rounds, references) for vertex, rounds in past.found.items()})
    record = _fitted(pipeline, record, topology, before)
    out = {node.id for one in pipeline.vertices if one.id in record.topology.detached for node in one.sinks}
    set_up = past.done | record.set_up  # a job that starts with a savepoint has no journal yet
    begun = tuple(group for name, group in groups.items() if name in set_up)  # other targets may have no ledger yet
    made = tuple(group for group in begun if group[0].id not in out)
    if record.kind is RecordKind.FINAL or past.per_split or not of_one_moment(before):
        prepared = sink_operations.resume(pipeline, before, made, job, record, copied, past.altered)
        return StartPlan(prepared, record, past.done)
    at_commits = record.snapshots and sink_operations.exactly_once_visibility(pipeline.sinks, before.setups) - {
        Visible.FINAL
    }
    at_staging = sink_operations.exactly_once_visibility(chain.from_iterable(begun), before.setups)
    if at_commits or Visible.STAGED in at_staging:
        raise CannotResumeError(
            f"{pipeline.name} was read from one snapshot, which was lost with its connection; "
            "rows of it may already be visible, and would be there twice",
            "empty its target and run it with --fresh; source.consistency = per-split makes such a job go on",
        )
    sink_operations.abort(begun, past.strays, before.setups, job, ())  # isolated sinks start again with the others
    return StartPlan(sink_operations.prepare(pipeline, tuple(groups.values()), job, newest=newest), anew=True)


def _with_other_tables(
    pipeline: Pipeline,
    topology: Topology,
    groups: Mapping[str, Sequence[SinkNode]],
    job: JobIdentity,
    past: EarlierRun,
    before: PreparedPipeline,
    joined: JoinedTables,
) -> StartPlan:
    """The start of a log that has ended with a savepoint, with other tables (rule 7). ``before``: its decisions."""
    assert past.record is not None and pipeline.log is not None, "it has ended with a savepoint"
    declared = _as_declared(past.record, topology)
    record = log_growth.with_tables(declared, pipeline, topology, before.tables, joined.begun)
    begun = tuple(group for name, group in groups.items() if name in past.done | record.set_up)
    newest = record.checkpoint
    before = joined_targets.prepared(before, groups, joined, pipeline.log.id, job, newest)
    done = past.done | joined_targets.waiting(groups, joined)
    return StartPlan(sink_operations.resume(pipeline, before, begun, job, record, {}, past.altered), record, done)


def _as_declared(record: CheckpointRecord, now: Topology) -> CheckpointRecord:
    """The record with the declared determinism of its vertices. Downgrades by an earlier driver
    (``decisions.distrust``) are not changes of the job, and this driver would detect them again."""
    vertices = tuple(
        replace(one, determinism=now.by_id[one.id].determinism)
        if one.determinism is VertexDeterminism.INDETERMINATE and one.id in now.by_id
        else one
        for one in record.topology.vertices
    )
    if vertices == record.topology.vertices:
        return record
    return replace(record, topology=replace(record.topology, vertices=vertices))


def _changes(before: Topology, now: Topology) -> list[str]:
    """Differences other than the parallelism, in words."""
    old, new = before.by_id, now.by_id
    found = [f"the step {name} is gone" for name in old if name not in new]
    found += [f"the step {name} is new" for name in new if name not in old]
    if not found and promised(before) != promised(now):
        found.append("its steps are connected in another way, or promise something else")
    return found


def _fitted(
    pipeline: Pipeline, record: CheckpointRecord, topology: Topology, before: PreparedPipeline
) -> CheckpointRecord:
    """The record, redistributed to the current number of subtasks. Raises FatalError if that is impossible."""
    sources = {vertex.id: vertex.source for vertex in pipeline.vertices if vertex.source is not None}
    unbounded = [name for name, source in sources.items() if not source.capabilities.bounded]
    fitted = rescaled(record, topology, before.rounds, unbounded)
    if isinstance(fitted, RestoreRefusal):
        now = {vertex.id: vertex.parallelism for vertex in topology.vertices}
        old = {one.id: one.parallelism for one in record.topology.vertices if one.parallelism != now.get(one.id)}
        sizes = ", ".join(f"{name}: {size}" for name, size in old.items())
        raise FatalError(
            f"{pipeline.name} cannot resume with another parallelism: {fitted.why}",
            f"restore the old parallelism ({sizes}), or stop the job with a savepoint first, and start from that",
        )
    return fitted


def _drawn(topology: Topology) -> str:
    """A short name of the graph, for journal entries."""
    edges = [(edge.sender, edge.receiver, edge.spread.value) for edge in topology.edges]
    drawn = repr(([(vertex.id, vertex.parallelism) for vertex in topology.vertices], edges))
    return hashlib.sha256(drawn.encode()).hexdigest()[:12]


def _with_found(before: PreparedPipeline, found: Mapping[str, Mapping[int, SplitRound]]) -> PreparedPipeline:
    for vertex, rounds in found.items():
        for number in sorted(number for number in rounds if number >= len(before.rounds[vertex])):
            before = before.with_round(vertex, rounds[number])
    return before


def references_of(pipeline: Pipeline) -> References:
    """The references of its steps."""
    return all_of(node.step.references for vertex in pipeline.vertices for node in vertex.nodes)


def _opened(found: Mapping[int, SplitRound], references: References) -> Mapping[int, SplitRound]:
    plain = references.opened(rounds_plain(found.values()))
    return dict(zip(found, rounds_of(plain), strict=True))


def of_one_moment(before: PreparedPipeline) -> bool:
    """Whether its splits belong to snapshots, without which their positions are void."""
    splits: Any = (split for dealt in before.splits.values() for split in dealt)
    return any(split.generation for split in splits)
