"""Records of a log that tables leave and join, and the plan of a table that is copied again."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import BegunLog, Position, Split, TablePath
from seatunnel_py.plan.log_tables import copied_again, following, grown, leaving, without
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.resume.log_growth import with_tables
from seatunnel_py.runtime.values.split_progress import SplitProgress, reading_of
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.runtime.values.topology_builder import graph_of
from seatunnel_py.work.schema_alteration import SchemaAlteration
from tests.unit.plan.test_log_tables import NAMES, logged, shape

BEGUN = BegunLog(Split("log", TablePath("", "", "a")), Position({"end": 3}))


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
    found = with_tables(record_of(whole), rest, graph_of(rest).topology, whole.tables, BEGUN)
    assert {one.scope for one in found.uncommitted} == set(graph_of(rest).topology.commit_scopes)


def test_a_log_goes_back_and_forgets_that_it_has_stopped_a_table() -> None:
    """Else the table would not stop at its next change."""
    whole = logged(NAMES, transformed=False, targets=1)
    rest = following(whole, [path for name, path in paths(whole).items() if name != NAMES[0]])
    log, before = whole.vertices[0].id, record_of(whole)
    reading = SplitProgress(at={"log": Position({"end": 9})}).to_plain()
    stopped = tuple(str(one) for one in whole.tables)
    state = State(reading=reading, refused=stopped).to_plain()
    snapshots = {at: replace(one, state=state) if at.vertex == log else one for at, one in before.snapshots.items()}
    found = with_tables(replace(before, snapshots=snapshots), rest, graph_of(rest).topology, whole.tables, BEGUN)
    (after,) = (state_of(one.state) for at, one in found.snapshots.items() if at.vertex == log)
    assert reading_of(after.reading).at == {"log": Position({"end": 3})}
    assert after.refused == stopped[1:]


def test_a_log_forgets_changes_of_a_table_that_has_left() -> None:
    """I48: its plan had them. Without the table no plan has them, and the log would wait for one for ever."""
    whole = logged(NAMES, transformed=False, targets=1)
    rest = following(whole, [path for name, path in paths(whole).items() if name != NAMES[0]])
    assert whole.log is not None
    log, before = whole.vertices[0].id, record_of(whole)
    state = State(altered=tuple(SchemaAlteration(one).to_plain() for one in whole.log.tables)).to_plain()
    snapshots = {at: replace(one, state=state) if at.vertex == log else one for at, one in before.snapshots.items()}
    found = with_tables(replace(before, snapshots=snapshots), rest, graph_of(rest).topology, whole.tables, BEGUN)
    (after,) = (state_of(one.state) for at, one in found.snapshots.items() if at.vertex == log)
    assert {SchemaAlteration.from_plain(one).path for one in after.altered} == set(rest.tables)


def test_the_only_table_of_a_log_leaves_as_others_join_and_takes_its_counts_along() -> None:
    """The receipt would count rows of a table that the log does not have any more."""
    left, joined = NAMES[:1], NAMES[1:]
    before, after = (logged(names, transformed=True, targets=1) for names in (left, joined))
    (vertex,), (table,) = before.vertices, before.tables
    record, sinks = record_of(before), {node.id: (4, 40) for node in vertex.sinks}
    state = State(tally=RowTally(read=9, filtered=5, written=sinks).to_plain()).to_plain()
    snapshots = {at: replace(one, state=state) for at, one in record.snapshots.items()}
    found = with_tables(replace(record, snapshots=snapshots), after, graph_of(after).topology, before.tables, BEGUN)
    tallies = [tally_of(state_of(one.state).tally) for one in found.snapshots.values()]
    assert [one for one in tallies if one != RowTally()] == [RowTally(9, tables={str(table): (9, 0)})]


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
