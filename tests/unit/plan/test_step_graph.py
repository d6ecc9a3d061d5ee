"""The graph of a plan by steps: which tables pass which, what is folded, and what is counted."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.plan.picture import graph_data
from seatunnel_py.plan.picture.layered_layout import depths
from seatunnel_py.plan.picture.step_graph import NODES_MAX, step_graph

Plan = dict[str, Any]


def node(step: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"{step}[{name}]", "step": step, "plugin": "Toy", **more}


def vertex(*nodes: dict[str, Any], inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> dict[str, Any]:
    about = {"id": nodes[0]["id"], "nodes": list(nodes), "parallelism": 1}
    return {**about, "inputs": list(inputs), "outputs": list(outputs)}


def plan_of(kinds: dict[str, str], *pipelines: list[dict[str, Any]], isolated: Any = ()) -> Plan:
    steps = [{"id": id, "kind": kind, "plugin": "Toy"} for id, kind in kinds.items()]
    lines = [{"id": f"p{at}", "vertices": vertices} for at, vertices in enumerate(pipelines)]
    return {"steps": steps, "pipelines": lines, "isolated": list(isolated)}


def straight(table: str, source: str = "in", sink: str = "out") -> list[dict[str, Any]]:
    """A source and a sink in one vertex."""
    return [vertex(node(source, table, table=table), node(sink, table, table=table, target=f"to {table}"))]


def counted(table: str, state: str = "DONE", read: int = 10, **targets: int) -> dict[str, Any]:
    named = [{"target": f"to {name}", "rows_written": rows, "state": state} for name, rows in targets.items()]
    return {"table": table, "state": state, "rows_read": read, "rows_written": read, "targets": named}


ONE = {"in": "source", "out": "sink"}


def test_tables_are_counts_of_a_node() -> None:
    """A thousand tables are two nodes and a line."""
    graph = step_graph(plan_of(ONE, *(straight(f"t{at}") for at in range(1_000))))
    tables = [counted(f"t{at}", "RUNNING" if at < 7 else "DONE", **{f"t{at}": 9}) for at in range(1_000)]
    found = graph_data.whole(graph_data.geometry(graph), graph_data.counts(graph, tables))

    assert [one["id"] for one in found["nodes"]] == ["in", "out"]
    assert found["nodes"][0] | {"x": 0, "y": 0, "width": 0, "height": 0} == {
        "id": "in", "kind": "source", "plugin": "Toy", "label": "in", "x": 0, "y": 0, "width": 0, "height": 0,
        "folded": 1, "tables": {"RUNNING": 7, "DONE": 993}, "rows_in": None, "rows_out": 10_000,
    }  # fmt: skip
    assert (found["nodes"][1]["rows_in"], found["nodes"][1]["rows_out"]) == (9_000, None)
    assert [(one["from"], one["to"], one["rows"], len(one["points"])) for one in found["edges"]] == [
        ("in", "out", 10_000, 2)
    ]


def test_targets_and_states_are_those_of_each_sink() -> None:
    """A table that goes to two sinks is counted in both, each with its own state."""
    kinds = {"in": "source", "map": "transform", "a": "sink", "b": "sink"}
    vertices = [
        vertex(node("in", "t", table="t"), node("map", "t"), outputs=("a[t]", "b[t]")),
        vertex(node("a", "t", table="t", target="to a"), inputs=("in[t]",)),
        vertex(node("b", "t", table="t", target="to b"), inputs=("in[t]",)),
    ]
    graph = step_graph(plan_of(kinds, vertices))
    table = counted("t", "RUNNING", a=8, b=3)
    table["targets"][0]["state"] = "DONE"
    found = graph_data.counts(graph, [table])

    assert found["nodes"] == {
        "in": {"tables": {"RUNNING": 1}, "rows_in": None, "rows_out": 10},
        "map": {"tables": {"RUNNING": 1}, "rows_in": 10, "rows_out": None},
        "a": {"tables": {"DONE": 1}, "rows_in": 8, "rows_out": None},
        "b": {"tables": {"RUNNING": 1}, "rows_in": 3, "rows_out": None},
    }
    assert {(one["from"], one["to"]): one["rows"] for one in found["edges"]} == {
        ("in", "map"): 10, ("map", "a"): 8, ("map", "b"): 3
    }  # fmt: skip


def test_a_log_of_several_tables_is_divided_by_table() -> None:
    """Each goes its own way after the log."""
    kinds = {"log": "source", "a": "sink", "b": "sink"}
    first = {**node("log", "x", table="x"), "tables": ["x", "y"]}
    vertices = [
        vertex(first, outputs=("a[x]~log", "b[y]~log")),
        vertex({**node("a", "x", table="x", target="to x"), "id": "a[x]~log"}, inputs=(first["id"],)),
        vertex({**node("b", "y", table="y", target="to y"), "id": "b[y]~log"}, inputs=(first["id"],)),
    ]
    graph = step_graph(plan_of(kinds, vertices))

    assert graph.routes["x"].nodes == {"log", "a"} and graph.routes["y"].nodes == {"log", "b"}
    found = graph_data.counts(graph, [counted("x", x=5), counted("y", "FAILED", y=0), counted("z")])
    assert found["nodes"]["log"]["tables"] == {"DONE": 1, "FAILED": 1}
    assert found["elsewhere"] == {"DONE": 1}


def test_an_isolated_table_stands_at_its_step() -> None:
    """It has no pipeline."""
    plan = plan_of(ONE, straight("t"), isolated=[{"table": "bad", "step": "out", "problem": "", "remedy": ""}])
    found = graph_data.counts(step_graph(plan), [counted("t", t=1), counted("bad", "ISOLATED", 0)])

    assert found["nodes"]["out"]["tables"] == {"DONE": 1, "ISOLATED": 1}
    assert found["nodes"]["in"]["tables"] == {"DONE": 1}


def test_sources_that_are_alike_are_one_node() -> None:
    """37 of them, with a place for the one that is not."""
    kinds = {f"s{at}": "source" for at in range(60)} | {"map": "transform", "out": "sink", "other": "sink"}
    pipelines = [
        [
            vertex(
                node(f"s{at}", f"t{at}", table=f"t{at}"),
                node("map", f"t{at}"),
                node("out", f"t{at}", target=f"to t{at}"),
            )
        ]
        for at in range(59)
    ]
    pipelines.append(straight("t59", "s59", "other"))
    graph = step_graph(plan_of(kinds, *pipelines))

    assert [(one.id, one.label, len(one.steps)) for one in graph.nodes] == [
        ("s0+58", "59 sources alike", 59),
        ("s59", "s59", 1),
        ("map", "map", 1),
        ("out", "out", 1),
        ("other", "other", 1),
    ]
    assert set(graph.lines) == {("s0+58", "map"), ("map", "out"), ("s59", "other")}
    found = graph_data.counts(graph, [counted(f"t{at}", **{f"t{at}": 1}) for at in range(60)])
    assert found["nodes"]["s0+58"]["tables"] == {"DONE": 59}


@st.composite
def any_plans(draw: st.DrawFn) -> Plan:
    """Chains of any length through steps of any plugin, for more steps than are shown."""
    number = draw(st.integers(51, 120))
    kinds = {f"n{at}": "source" if at < 20 else "sink" if at >= number - 20 else "transform" for at in range(number)}
    pipelines = []
    for at in range(draw(st.integers(1, 40))):
        between = draw(st.lists(st.integers(20, number - 21), unique=True, max_size=4)) if number > 41 else []
        begin, end = draw(st.integers(0, 19)), draw(st.integers(number - 20, number - 1))
        way = [f"n{one}" for one in (begin, *sorted(between), end)]
        pipelines.append([vertex(*(node(step, f"t{at}", table=f"t{at}") for step in way))])
    plan = plan_of(kinds, *pipelines)
    for step in plan["steps"]:
        step["plugin"] = draw(st.sampled_from("ABC"))
    return plan


@given(any_plans())
def test_at_most_fifty_nodes_without_a_cycle(plan: Plan) -> None:
    """Whatever is folded; each step is in one node, and each line of a table leads on."""
    graph = step_graph(plan)

    assert len(graph.nodes) <= NODES_MAX
    assert sorted(step for one in graph.nodes for step in one.steps) == sorted(step["id"] for step in plan["steps"])
    depths([one.id for one in graph.nodes], graph.lines)
    assert set(graph.lines) == {line for route in graph.routes.values() for line in route.lines}
    assert graph_data.geometry(graph) == graph_data.geometry(step_graph(plan))


@pytest.mark.parametrize("number", [0, 1])
def test_a_plan_without_tables_is_a_graph_without_lines(number: int) -> None:
    """Every table may have been filtered away."""
    plan = plan_of(ONE if number else {})
    found = graph_data.geometry(step_graph(plan))

    assert (len(found["nodes"]), found["edges"]) == (2 * number, [])


def test_a_thousand_tables_take_little_time() -> None:
    """The counts are made for each answer."""
    graph = step_graph(plan_of(ONE, *(straight(f"t{at}") for at in range(1_000))))
    tables = [counted(f"t{at}", **{f"t{at}": 9}) for at in range(1_000)]
    begun = time.process_time()
    for _ in range(10):
        graph_data.counts(graph, tables)

    assert (time.process_time() - begun) / 10 < 0.04
