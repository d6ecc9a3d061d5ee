"""Records of a log that tables leave and join, and the plan of a table that is copied again."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import TablePath
from seatunnel_py.plan.log_tables import copied_again, following, grown, leaving, without
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.runtime.resume.log_growth import with_tables
from seatunnel_py.runtime.values.subtask_state import State
from seatunnel_py.runtime.values.topology_builder import graph_of
from tests.unit.plan.test_log_tables import NAMES, logged, shape


def paths(pipeline: Pipeline) -> dict[str, TablePath]:
    assert pipeline.log is not None
    return {table.schema.path.table: table.schema.path for table in pipeline.log.tables}


def record_of(pipeline: Pipeline) -> CheckpointRecord:
    """A savepoint that still names a commit of each scope, as each record does."""
    topology = graph_of(pipeline).topology
    snapshots = dict.fromkeys(topology.subtasks(), SubtaskSnapshot(state=State().to_plain()))
    commits = tuple(CommitRecord(scope, 5, ()) for scope in topology.commit_scopes)
    return CheckpointRecord(5, 1, RecordKind.SAVEPOINT, 4, topology, {}, snapshots, commits)


@given(st.data())
def test_commits_of_a_table_that_has_left_are_not_repeated(data: st.DataObject) -> None:
    """They are done. Under the set-up of its next copy they would fail."""
    whole = logged(NAMES, transformed=data.draw(st.booleans()), targets=data.draw(st.sampled_from((1, 2))))
    left = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES) - 1, unique=True))
    rest = following(whole, [path for name, path in paths(whole).items() if name not in left])
    found = with_tables(record_of(whole), rest, graph_of(rest).topology, whole.tables)
    assert {one.scope for one in found.uncommitted} == set(graph_of(rest).topology.commit_scopes)


@given(st.data())
def test_a_table_leaves_is_copied_and_joins(data: st.DataObject) -> None:
    whole = logged(NAMES, transformed=data.draw(st.booleans()), targets=data.draw(st.sampled_from((1, 2))))
    again = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES) - 1, unique=True))
    tables = {paths(whole)[name] for name in again}
    begun = replace(whole, becomes=without(whole, tables))
    assert (copied_again(begun), set(leaving(begun))) == (tables, tables)
    rest = grown(begun, ())
    assert (copied_again(rest), leaving(rest), set(rest.tables)) == (frozenset(), (), set(whole.tables) - tables)
    assert shape(grown(rest, tables)) == shape(whole)
