"""Changes of schemas that wait for a person: as plain data, in records, and the decisions about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.api import (
    STRING,
    Column,
    Position,
    SchemaBehavior,
    Setup,
    SourceTable,
    TablePath,
    TableSchema,
)
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.runtime.control import change_decisions
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind
from seatunnel_py.runtime.storage.journal import Journal, decision_line
from seatunnel_py.runtime.targets.held_change import HeldChange, change_id
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline, held_in, prepared_of
from seatunnel_py.runtime.values.split_progress import SplitProgress
from seatunnel_py.runtime.values.subtask_state import State
from seatunnel_py.runtime.values.topology_builder import graph_of
from seatunnel_py.work.schema_alteration import SchemaAlteration
from tests.unit.plan.test_log_tables import NAMES, logged

PLACE = Position({"end": 7})


def held(table: str = "orders", place: Position = PLACE) -> HeldChange:
    path = TablePath("", "public", table)
    before = SourceTable(TableSchema(path, (Column("id", STRING),)))
    after = SourceTable(TableSchema(path, (Column("id", STRING), Column("more", STRING))), log_hints={"a": 1})
    change = SchemaAlteration(after, statement="ADD COLUMN more text")
    return HeldChange(before, change, place, ("it waits", "decide"), 12, {"sink": Setup(data={"b": 2})})


def record(*waiting: HeldChange) -> CheckpointRecord:
    prepared = PreparedPipeline({}, {}, held={one.path: one for one in waiting})
    topology = graph_of(logged(NAMES, transformed=False, targets=1)).topology
    return CheckpointRecord(15, 1, RecordKind.PERIODIC, 4, topology, {}, {}, plan=prepared.to_plain())


def test_a_record_keeps_what_waits() -> None:
    one = held()
    plain = record(one).plan
    assert held_in(plain) == (one,)
    assert prepared_of(plain).held == {one.path: one}


def test_an_id_follows_from_the_change_and_its_place() -> None:
    """A decision about one change never counts for another, be it the same statement later."""
    one = held()
    assert one.id.startswith("orders-")
    assert one.id == HeldChange.from_plain(one.to_plain()).id
    assert one.id == one.by(SchemaBehavior.EVOLVE).id
    assert one.by(SchemaBehavior.EVOLVE).alteration.behavior is SchemaBehavior.EVOLVE
    assert one.id != held(place=Position({"end": 8})).id
    assert one.id != change_id(replace(one.alteration, statement="DROP COLUMN more"), PLACE)


def test_decisions_are_taken_down() -> None:
    one = held()
    request = ControlRequest("r", RequestKind.REJECT, "", one.id, by="anna")
    answer, (line,) = change_decisions.decided(request, {"p": record(one)}, 5.0)
    assert answer.done
    found = answer.about
    assert (found["verdict"], found["by"], found["at"], found["checkpoint"]) == ("reject", "anna", 5.0, 15)
    assert line == decision_line("p", found)
    journal = Journal()
    journal.apply(line)
    again = Journal()
    for line in journal.lines():
        again.apply(line)
    assert change_decisions.behaviors(again.decisions) == {"p": {one.id: SchemaBehavior.IGNORE}}


@pytest.mark.parametrize(("waiting", "listed"), [((), False), (("b", "c"), False), (("b", "c", "d"), True)])
def test_the_last_table_that_a_log_reads_waits_with_it(waiting: tuple[str, ...], *, listed: bool) -> None:
    """The log stops at its change. The policy decides about a change as long as other tables are read."""
    log = logged(NAMES, transformed=False, targets=1)
    paths = {one.table: one for one in log.tables}
    changes = {paths[name]: replace(held(), before=SourceTable(TableSchema(paths[name], ()))) for name in waiting}
    met = SchemaAlteration(SourceTable(TableSchema(paths["a"], (Column("more", STRING),))), statement="ADD COLUMN")
    topology = graph_of(log).topology
    reader = topology.sources[0]
    state = State(reading=SplitProgress(at={"log": PLACE}).to_plain(), altered=(met.to_plain(),))
    snapshots = {at: SubtaskSnapshot(state=state.to_plain()) for at in topology.subtasks([reader])}
    assert log.log is not None
    prepared = PreparedPipeline({}, {}, tables={one.schema.path: one for one in log.log.tables}, held=changes)
    stored = CheckpointRecord(15, 1, RecordKind.SAVEPOINT, 4, topology, {}, snapshots, plan=prepared.to_plain())
    found = [one for one in change_decisions.waiting_in({"log": stored}) if one.alone]
    assert [(one.table, one.id) for one in found] == ([(str(paths["a"]), change_id(met, PLACE))] if listed else [])


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [("nothing", "these wait: orders-"), (held().id[:-1], f"did you mean {held().id}?")],
)
def test_an_unknown_id_names_the_nearest(asked: str, remedy: str) -> None:
    request = ControlRequest("r", RequestKind.APPROVE, "", asked)
    answer, lines = change_decisions.decided(request, {"p": record(held())}, 5.0)
    assert (answer.done, lines) == (False, ())
    assert remedy in answer.remedy


def test_where_nothing_waits_an_id_is_refused() -> None:
    with pytest.raises(SeaTunnelError, match="no change 'x' waits"):
        change_decisions.found((), "x")
