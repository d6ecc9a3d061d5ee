"""Which log refreshes a table, which requests wait, and which are refused before anything changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.errors import PlanError
from seatunnel_py.plan.graph_nodes import SinkNode, SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.resume.table_refresh import chosen, sinks_of
from seatunnel_py.runtime.resume.table_reset import refusal
from seatunnel_py.work.plain_schema import table_plain
from tests.unit.plan.test_log_growth import paths, record_of
from tests.unit.plan.test_log_tables import logged

NAMES = ("a", "b")


def job(*, keys: tuple[str, ...] = ("id",)) -> dict[str, Pipeline]:
    """Copies of two tables, and the log of both."""
    log = logged(NAMES, transformed=False, targets=1)
    vertices = []
    for vertex in log.vertices:
        nodes = [
            replace(node, capabilities=replace(node.capabilities, keys=keys)) if isinstance(node, SinkNode) else node
            for node in vertex.nodes
        ]
        if vertex.source is not None:
            nodes[0] = replace(vertex.source, part=SourcePart.LOG_AFTER_COPY)
        vertices.append(replace(vertex, nodes=tuple(nodes)))
    log = replace(log, id="log", vertices=tuple(vertices), after=("c-a", "c-b"))
    copies = {f"c-{name}": replace(logged((name,), transformed=False, targets=1), id=f"c-{name}") for name in NAMES}
    return {**copies, "log": log}


def record(log: Pipeline, tables: tuple[str, ...] = NAMES, refused: tuple[str, ...] = ()) -> CheckpointRecord:
    assert log.log is not None
    known = [table_plain(one) for one in log.log.tables if one.schema.path.table in tables]
    path = paths(log)
    cause = {"kind": "fatal", "message": "no"}
    plain = [[{"database": path[one].database, "schema": path[one].schema, "table": one}, cause] for one in refused]
    return replace(record_of(log), plan={"tables": known, "refused": plain})


def test_the_log_of_the_table_is_chosen_by_the_end_of_its_name() -> None:
    named = job()
    whole = str(paths(named["log"])["b"])
    found = chosen(named, {"log": record(named["log"])}, RefreshWish("r", "b", "id > 5"))
    assert found == ("log", RefreshWish("r", whole, "id > 5"))
    assert [node.table.path.table for node in sinks_of(named["log"], whole)] == ["b"]


def test_a_table_that_is_copied_waits() -> None:
    named = job()
    log, wish = named["log"], RefreshWish("r", "b")
    assert chosen(named, {"log": None}, wish) is None
    assert chosen(named, {"log": record(log, ("a",))}, wish) is None
    assert chosen(named, {"log": record(log)}, wish, resets=("c-b",)) is None
    assert chosen(named, {"log": record(log)}, wish, resets=("c-a",)) is not None


@pytest.mark.parametrize(
    ("keys", "refused", "table", "reason"),
    [
        ((), (), "b", "does not write by key"),
        (("id",), ("b",), "b", "ISOLATED"),
        (("id",), (), "nowhere", "no table 'nowhere'"),
    ],
)
def test_others_are_refused(keys: tuple[str, ...], refused: tuple[str, ...], table: str, reason: str) -> None:
    named = job(keys=keys)
    with pytest.raises(PlanError) as error:
        chosen(named, {"log": record(named["log"], refused=refused)}, RefreshWish("r", table))
    message, remedy = refusal(error.value)
    assert reason in message and remedy
