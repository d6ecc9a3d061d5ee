"""The plan as text, JSON and picture: everything in it, nothing executed by it."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_toys import Graph, ToySink, ToySource

from seatunnel_py.api import Effect, FatalError
from seatunnel_py.config.job_file import loads
from seatunnel_py.plan import plan_data, table_graph
from seatunnel_py.plan.pipelines import divide
from seatunnel_py.plan.plan_svg import PIPELINES_MAX, svg
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import Job, understand

SVG = "{http://www.w3.org/2000/svg}"
STEPS = [{"id": name, "kind": kind, "plugin": "Toy"} for name, kind in (("a", "source"), ("out", "sink"))]
DROP = Effect("drop table", "shop.orders", "DROP TABLE shop.orders", destructive=True)


def any_job() -> Job:
    return understand(loads("source { Countdown { start = 3 } }\nsink { Lines { directory = x } }"), installed())


def described(graph: Graph, *, look: bool = True) -> dict[str, Any]:
    return plan_data.describe(any_job(), graph.flow, divide(graph.flow), look=look)


def one_table(source: ToySource | None = None, sink: ToySink | None = None, table: str = "x") -> Graph:
    graph = Graph()
    graph.sink("out", [graph.source("a", table, source=source)], sink=sink)
    return graph


def test_the_plan_of_a_real_job_is_plain_data() -> None:
    """JSON goes out and comes back the same, and text is made from nothing else."""
    job = any_job()
    graph = table_graph.build(job, None)
    plan = plan_data.describe(job, graph, divide(graph), look=True)

    again = json.loads(json.dumps(plan))

    assert again == plan
    assert plan_data.text(again) == plan_data.text(plan)
    assert "create directory x" in plan_data.text(plan)


def test_a_destructive_effect_is_flagged_with_its_statement() -> None:
    """Nobody should find out afterwards."""
    text = plan_data.text(described(one_table(sink=ToySink("shop.orders", (DROP,)))))

    assert "DESTROYS drop table shop.orders\n             DROP TABLE shop.orders" in text


def test_without_looking_nothing_is_asked() -> None:
    """A plan for a picture alone opens neither end."""
    broken = one_table(ToySource(error=FatalError("down")), ToySink(error=FatalError("down")))

    assert not plan_data.has_problem(described(broken, look=False))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FatalError("the table is gone", "create it"), "the table is gone"),
        (OSError(13, "Permission denied"), "PermissionError: [Errno 13] Permission denied"),
        (KeyError("n"), "KeyError: 'n'"),
    ],
)
@pytest.mark.parametrize("end", ["source", "sink"])
def test_a_table_that_would_fail_says_so_and_the_others_are_planned(error: Exception, message: str, end: str) -> None:
    """Whatever a plugin raises when it is looked at concerns its own table; what it does not foresee names it."""
    graph = one_table(
        ToySource(error=error) if end == "source" else None, ToySink(error=error) if end == "sink" else None
    )
    graph.sink("other", [graph.source("b", "y")])

    plan = described(graph)

    method = "discover" if end == "source" else "plan_setup"
    assert plan_data.has_problem(plan)
    assert f"PROBLEM  {message}" in plan_data.text(plan).replace(f"{method} of the plugin Toy failed: ", "")
    assert "splits   1: s0" in plan_data.text(plan).partition("pipeline p2")[2]


def test_a_table_called_problem_is_none() -> None:
    """Whether a plan is good is not decided by reading its text."""
    plan = described(one_table(table="PROBLEM"))

    assert not plan_data.has_problem(plan)


def test_many_splits_are_counted_and_a_few_shown() -> None:
    """A plan of a big table stays readable."""
    assert "splits   500: s0, s1, s2, s3, s4, s5, s6, s7 … and 492 more" in plan_data.text(
        described(one_table(ToySource(splits=500)))
    )


def pictured(graph: Graph) -> ElementTree.Element:
    return ElementTree.fromstring(svg(described(graph, look=False) | {"steps": STEPS}))


def test_the_picture_is_xml_with_a_box_per_node_and_an_arrow_per_channel() -> None:
    """Any viewer can show it."""
    graph = Graph()
    stream = graph.source("a", "x")
    graph.sink("out", [stream])
    graph.sink("out2", [stream])
    steps = [*STEPS, {"id": "out2", "kind": "sink", "plugin": "Toy"}]

    root = ElementTree.fromstring(svg(described(graph, look=False) | {"steps": steps}))

    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts == ["p1: x", "Toy  a[x]", "Toy  out[x]", "Toy  out2[x]"]
    assert sum(element.get("marker-end") is not None for element in root.iter(f"{SVG}path")) == 2


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "a&b",
        "]]>",
        '"><svg onload="x"',
        "nul\x00bell\x07",
        "\x1b[31mred",
        "�\uffff",
        "&#0;",
    ],
)
def test_hostile_names_are_text(name: str) -> None:
    """Table names come from databases that others own: none may become markup, or break the file."""
    root = pictured(one_table(table=name))

    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "rect", "defs", "marker", "path", "text")
    }
    assert not any("onload" in element.attrib for element in root.iter())


@given(st.text(min_size=1).filter(lambda name: name.strip(". ")))
def test_every_name_gives_a_picture_that_can_be_read(name: str) -> None:
    """Whatever a database allows as a name."""
    graph = Graph()
    graph.sink("out", [graph.source("a", "x")])
    plan = described(graph, look=False) | {"steps": STEPS}
    plan["pipelines"][0]["name"] = name

    assert ElementTree.fromstring(svg(plan)).tag == f"{SVG}svg"


def test_a_thousand_pipelines_are_cut_short_and_counted() -> None:
    """A picture of a thousand tables shows nobody anything."""
    graph = Graph()
    graph.sink("out", [graph.source("a", f"t{n}") for n in range(PIPELINES_MAX + 5)])

    assert [element.text for element in pictured(graph).iter(f"{SVG}text")][-1] == "… and 5 more pipelines"


def test_a_plan_without_pipelines_can_be_shown() -> None:
    """Every table may have been filtered away."""
    graph = Graph()

    assert "0 pipelines, 0 vertices" in plan_data.text(described(graph))
    assert pictured(graph).tag == f"{SVG}svg"
