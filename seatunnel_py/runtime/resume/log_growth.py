"""Adds tables to a log that has begun: tables that were added to the job, and were copied, since then.

Rules. (1) The log is not read while these tables are copied. It begins with the tables that it has, reads nothing,
and ends with a savepoint, as at a change of a schema (``log_replanning.py``); then another machine begins from that
with all tables. (2) A table joins the log at the place where its copy ends. If the log was read beyond it, changes in
between are missing. (3) A table whose source or sink refuses is isolated, and the others join. The next driver tries
again. (4) A record holds the new tables before the log is read, so a driver that dies before repeats all of this.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from seatunnel_py.api.log_source import FollowedTable, LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Setup
from seatunnel_py.errors import FatalError
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog, JoinedTables, LogJoin, Refusal
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.restore import adapted
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.targets import joined_targets
from seatunnel_py.runtime.targets.target_alteration import tried
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.work.unit import UnitFailure


def grown(pipeline: Pipeline, join: LogJoin) -> AlteredLog:
    """Plan the pipeline of a log with more tables. Asks the source and the sinks of each, and changes nothing."""
    begun, setups = join.begun, dict[str, Setup]()
    refused: dict[TablePath, Refusal] = {}
    for table in join.tables:
        path = table.table.schema.path
        found = tried("", partial(_joined, pipeline, replace(join, begun=begun), table))
        if isinstance(found, UnitFailure):
            refused[path] = Refusal(found.message, found.remedy, found.step or "")
        else:
            begun = found.begun
            setups |= found.setups
    paths = tuple(one.table.schema.path for one in join.tables if one.table.schema.path not in refused)
    return AlteredLog(log_tables.grown(pipeline, paths), joined=JoinedTables(paths, begun, setups, refused))


def _joined(pipeline: Pipeline, join: LogJoin, table: FollowedTable) -> JoinedTables:
    log, path = pipeline.log, table.table.schema.path
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    begun = plugin_calls.joined_by(log.step, log.source, join.begun, table)
    return JoinedTables((path,), begun, joined_targets.planned(pipeline, log_tables.grown(pipeline, [path])))


def with_tables(
    record: CheckpointRecord, pipeline: Pipeline, topology: Topology, known: Collection[TablePath]
) -> CheckpointRecord:
    """The record of a log that has ended with a savepoint, for the graph with more tables. ``known``: those that the
    log had. FatalError if the record does not fit that graph."""
    found = adapted(record, topology)
    if isinstance(found, RestoreRefusal):
        raise FatalError(
            f"{pipeline.name} cannot go on with more tables: {found.why}",
            "take the new tables out of the job file, and copy them with another job",
        )
    (log,) = (vertex for vertex in pipeline.vertices if vertex.source is pipeline.log)
    had_channels = any(edge.sender == log.id for edge in record.topology.edges)
    if had_channels or not log.outputs:
        return found
    (first,) = (channel for channel in log.outputs if channel.table in known)
    return _divided(found, log.id, first)


def _divided(record: CheckpointRecord, log: str, first: PlannedChannel) -> CheckpointRecord:
    """The record of a log that had one table, and now has a channel for it: its receiver has the sinks, and gets the
    counts of their rows."""
    snapshots = dict(record.snapshots)
    total = RowTally()
    for subtask in record.topology.subtasks([log]):
        state = state_of(snapshots[subtask].state)
        tally = tally_of(state.tally)
        total = total.plus(replace(tally, read=0))
        only_read = RowTally(tally.read, tables={str(first.table): (tally.read, 0)})
        snapshots[subtask] = replace(snapshots[subtask], state=replace(state, tally=only_read.to_plain()).to_plain())
    behind = Subtask(first.receiver, 0)
    snapshots[behind] = replace(snapshots[behind], state=State(tally=total.to_plain()).to_plain())
    return replace(record, snapshots=snapshots)
