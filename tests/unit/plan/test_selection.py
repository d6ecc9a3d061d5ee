"""``--only``: which pipelines a name means."""

from __future__ import annotations

import pytest
from plan_toys import Graph

from seatunnel_py.errors import PlanError
from seatunnel_py.plan.pipelines import Pipeline, divide
from seatunnel_py.plan.tables.selection import only


def three() -> tuple[Pipeline, ...]:
    graph = Graph()
    graph.sink(
        "out", [graph.source("a", name) for name in ("shop.public.orders", "shop.audit.orders", "shop.public.people")]
    )
    graph.sink("again", [graph.source("b", "shop.public.people")])
    return divide(graph.flow)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ((), ["p1", "p2", "p3", "p4"]),
        (("shop.public.orders",), ["p1"]),
        (("audit.orders",), ["p2"]),
        (("people",), ["p3", "p4"]),  # every pipeline that reads it
        (("people", "audit.orders"), ["p2", "p3", "p4"]),
    ],
)
def test_a_name_or_its_end_chooses_pipelines(wanted: tuple[str, ...], ids: list[str]) -> None:
    """As people call their tables, in the order of the plan."""
    assert [pipeline.id for pipeline in only(three(), (), wanted)[0]] == ids


def test_every_name_that_means_none_or_several_is_reported() -> None:
    """All at once, each with what it could mean."""
    with pytest.raises(PlanError) as caught:
        only(three(), (), ["orders", "peple", "shop.public.orders"])

    several, none = caught.value.problems
    assert "'orders' is the end of 2 names" in several.message
    assert several.remedy == "one of shop.public.orders, shop.audit.orders"
    assert "no table 'peple'" in none.message
