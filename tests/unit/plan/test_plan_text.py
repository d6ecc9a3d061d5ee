"""The plan of many tables is a page: totals first, what is equal once."""

from __future__ import annotations

from seatunnel_py.api import Effect
from seatunnel_py.plan import plan_data
from tests.unit.plan.plan_toys import Graph, ToySink
from tests.unit.plan.test_explain import described


def test_what_is_equal_stands_once_above_all_tables() -> None:
    """P1-plan of 45 tables: the guarantee and the ledger were repeated for each."""
    graph = Graph()
    ledger = Effect("create ledger", "shop.seatunnel_ledger")
    for number in range(5):
        made = ToySink(f"shop.t{number}", (ledger, Effect("create table", f"shop.t{number}", "CREATE TABLE t (n int)")))
        graph.sink(f"out{number}", [graph.source(f"in{number}", f"t{number}")], sink=made)

    plan = described(graph, look=True)
    lines = plan_data.text(plan).splitlines()

    assert plan["summary"] == {"tables": 5, "rows_estimate": 50}
    assert lines[1] == "5 tables, about 50 rows"
    assert [line for line in lines if "ledger" in line] == [
        "  effect     create ledger shop.seatunnel_ledger (for 5 tables)"
    ]
    assert len([line for line in lines if "guarantee" in line]) == 1 and "all: exactly-once" in plan_data.text(plan)
    assert len([line for line in lines if "create table" in line]) == 5


def test_a_plan_of_one_table_has_no_summary() -> None:
    graph = Graph()
    graph.sink("out", [graph.source("in")])

    text = plan_data.text(described(graph, look=True))

    assert "1 table" not in text and "guarantee  in[t] to out[t]: exactly-once" in text
