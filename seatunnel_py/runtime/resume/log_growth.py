"""Changes the tables of a log that has begun: adds those that were copied since then, and removes those that the job no
longer has.

Rules. (1) The log is not read while these tables are copied. The log begins with the tables that it has, reads nothing,
and ends with a savepoint, as at a change of a schema (``log_replanning.py``); then another machine begins from that
with all tables. (2) A table joins the log at the place where its copy ends. If the log was read beyond it, changes in
between are missing. (3) A table whose source or sink refuses is isolated, and the others join. The next driver tries
again. (4) A record holds the new tables before the log is read, so a driver that dies before repeats all of this. (5) A
table leaves with the same savepoint: all of its rows are committed then. (6) A table that waits at a change of its
schema leaves once a person has decided, and joins again at the place of the change: its targets follow the decision,
and the log is read again from there for this table. The target may have been altered by hand meanwhile: it counts as
altered if its sink can be planned for the new schema. (7) A log that has read nothing, as its record is that of
checkpoint 0, goes on from that with other tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from seatunnel_py.api.log_source import BegunLog, FollowedTable, LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Setup
from seatunnel_py.errors import BEGIN_ANEW, FatalError
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog, JoinedTables, LogJoin, PlanAgain, Refusal, no_plan
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.restore import adapted
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.targets import joined_targets
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.targets.target_alteration import followed_by_target, tried
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.split_progress import reading_of
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import UnitFailure

NO_TABLE_LEFT = "restore the old list of tables, and take these out when others have joined"

Joining = tuple[Pipeline, BegunLog, dict[str, Setup]]
"""The pipeline that plans a table, the log with it, and the set-ups of its sinks."""


def grown(
    pipeline: Pipeline,
    join: LogJoin,
    job: JobIdentity,
    decided: Mapping[TablePath, HeldChange] = MappingProxyType({}),
    plan_again: PlanAgain = no_plan,
    without: Collection[TablePath] = (),
) -> AlteredLog:
    """Plan the pipeline of a log with more tables. Asks the source and the sinks of each, and changes nothing but
    targets of tables in ``decided`` (rule 6). ``without``: tables that were refused before."""
    begun, setups = join.begun, dict[str, Setup]()
    refused: dict[TablePath, Refusal] = {}
    for table in join.tables:
        path = table.table.schema.path
        if path in decided:
            call = partial(_going_back, pipeline, begun, decided[path], job, plan_again, without)
        else:
            call = partial(_joined, pipeline, begun, table)
        found = tried("", call)
        if isinstance(found, UnitFailure):
            refused[path] = Refusal(found.message, found.remedy, found.step or "")
        else:
            pipeline, begun, more = found
            setups |= more
    paths = tuple(one.table.schema.path for one in join.tables if one.table.schema.path not in refused)
    _require_tables(pipeline, paths, refused)
    again = log_tables.copied_again(pipeline)
    left = log_tables.leaving(pipeline)
    joined = JoinedTables(paths, begun, left, again, setups, refused, frozenset(decided).intersection((*paths, *left)))
    return AlteredLog(log_tables.grown(pipeline, paths), joined=joined)


def _require_tables(pipeline: Pipeline, joined: Collection[TablePath], refused: Mapping[TablePath, Refusal]) -> None:
    """FatalError if the log would have no table any more."""
    left = log_tables.leaving(pipeline)
    if joined or set(pipeline.tables).difference(left):
        return
    why = "; ".join(f"{path} cannot join it: {one.message}" for path, one in refused.items())
    raise FatalError(
        f"{', '.join(map(str, left))} leaves {pipeline.name}, which has no other table{f': {why}' if why else ''}",
        f"{NO_TABLE_LEFT}; or {BEGIN_ANEW}",
    )


def _joined(pipeline: Pipeline, begun: BegunLog, table: FollowedTable) -> Joining:
    log, path = pipeline.log, table.table.schema.path
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    begun = plugin_calls.joined_by(log.step, log.source, begun, table)
    return pipeline, begun, joined_targets.planned(pipeline, log_tables.grown(pipeline, [path]))


def _going_back(
    pipeline: Pipeline,
    begun: BegunLog,
    one: HeldChange,
    job: JobIdentity,
    plan_again: PlanAgain,
    without: Collection[TablePath],
) -> Joining:
    """Let a table go on after a decision (rule 6). Raises FatalError if a step or a target refuses the change."""
    whole, log = pipeline.becomes, pipeline.log
    assert whole is not None and log is not None and isinstance(log.source, LogSource), "it grows"
    found = plan_again(whole, [one.alteration], [path for path in without if path != one.path])
    if (refusal := found.refused.get(one.path)) is not None:
        raise FatalError(refusal.message, refusal.remedy)
    begun = plugin_calls.going_back_by(log.step, log.source, begun, one.path, one.position)
    after = replace(pipeline, becomes=found.pipeline)
    larger = log_tables.grown(after, [one.path])
    failures = [why for node in larger.sinks if (why := followed_by_target(node, found, one, job)) is not None]
    try:
        return after, begun, joined_targets.planned(pipeline, larger)
    except FatalError as error:
        raise FatalError(
            *((failures[0].message, failures[0].remedy) if failures else (error.message, error.remedy))
        ) from error


def left_before(pipeline: Pipeline, before: PreparedPipeline, record: CheckpointRecord) -> JoinedTables | None:
    """The tables that have left the log since its record: their new copies have begun (``begun_logs.py``, rule 4)."""
    left = tuple(path for path in before.tables if path not in pipeline.tables)
    if pipeline.log is None or pipeline.becomes is None or not left:
        return None
    return JoinedTables((), before.begun_log(log_tables.vertex_of(pipeline).id, record), left, frozenset(left))


def with_tables(
    record: CheckpointRecord, pipeline: Pipeline, topology: Topology, known: Collection[TablePath], begun: BegunLog
) -> CheckpointRecord:
    """The record of a log that has ended with a savepoint, for the graph with more tables. ``known``: those that the
    log had; ``begun``: the log with the tables. Raises FatalError if the record does not fit that graph."""
    gone = record.topology.by_id.keys() - topology.by_id.keys()  # of tables that leave: their rows are committed
    found = adapted(record, topology, gone)
    if isinstance(found, RestoreRefusal):
        raise FatalError(
            f"{pipeline.name} cannot go on with other tables: {found.why}",
            "restore the old list of tables, and copy new ones with another job",
        )
    if not found.snapshots:  # rule 7
        return found
    log = log_tables.vertex_of(pipeline)
    found = _placed(_without_commits_of_others(found), log.id, pipeline.tables, begun)
    had_channels = any(edge.sender == log.id for edge in record.topology.edges)
    if had_channels or not log.outputs:
        return found
    (table,) = known
    first = next((channel for channel in log.outputs if channel.table == table), None)
    return _divided(found, log.id, table, first)


def _without_commits_of_others(record: CheckpointRecord) -> CheckpointRecord:
    """The record without commits of tables that have left. Those commits are done, although the record names them: it
    was stored before its own commits. A table that is copied again gets another set-up, under which they would fail."""
    scopes = {vertex.commit_scope for vertex in record.topology.vertices}
    return replace(record, uncommitted=tuple(one for one in record.uncommitted if one.scope in scopes))


def _placed(record: CheckpointRecord, log: str, tables: Collection[TablePath], begun: BegunLog) -> CheckpointRecord:
    """The record of a log that is read next at the place of ``begun``, without changes and stops of tables that
    have left it."""
    snapshots, names = dict(record.snapshots), set(map(str, tables))
    for subtask in record.topology.subtasks([log]):
        state = state_of(snapshots[subtask].state)
        reading = reading_of(state.reading)
        if begun.position is not None and begun.split.id in reading.at:
            reading = replace(reading, at={**reading.at, begun.split.id: begun.position})
        refused = tuple(name for name in state.refused if name in names)
        altered = tuple(one for one in state.altered if str(SchemaAlteration.from_plain(one).path) in names)
        state = replace(state, reading=reading.to_plain(), altered=altered, refused=refused)
        snapshots[subtask] = replace(snapshots[subtask], state=state.to_plain())
    return replace(record, snapshots=snapshots)


def _divided(record: CheckpointRecord, log: str, table: TablePath, first: PlannedChannel | None) -> CheckpointRecord:
    """The record of a log that had one table, and now has a channel for it: its receiver has the sinks, and gets the
    counts of their rows. None: the table has left, and its counts with it."""
    snapshots = dict(record.snapshots)
    total = RowTally()
    for subtask in record.topology.subtasks([log]):
        state = state_of(snapshots[subtask].state)
        tally = tally_of(state.tally)
        total = total.plus(replace(tally, read=0))
        only_read = RowTally(tally.read, tables={str(table): (tally.read, 0)})
        snapshots[subtask] = replace(snapshots[subtask], state=replace(state, tally=only_read.to_plain()).to_plain())
    if first is None:
        return replace(record, snapshots=snapshots)
    behind = Subtask(first.receiver, 0)
    snapshots[behind] = replace(snapshots[behind], state=State(tally=total.to_plain()).to_plain())
    return replace(record, snapshots=snapshots)
