"""Options of a transform step that are for some tables only: ``table_match_regex`` and ``table_transform``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from seatunnel_py.api import Column, Determinism, TableSchema, parse_type
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import JobFileError, PlanError
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.plan.steps import understand


class Asking:
    """An analyst that takes a query for the name of its only column."""

    def analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        column = Column(query, parse_type("int"))
        return Analysis(query, (column,), True, Determinism.DETERMINATE)

    def rows(self, query: str, inputs: Mapping[str, Any]) -> Any:
        raise AssertionError("planning reads nothing")


def graph_of(transform: str) -> FlowGraph:
    """The graph of ``d.a``, ``d.b`` and ``d.c`` with columns ``id`` and ``name``, a transform, and a sink."""
    tables = ", ".join(f'{{ schema {{ table = "d.{name}", fields {{ id = int, name = string }} }} }}' for name in "abc")
    source = f"source {{ FakeSource {{ tables_configs = [{tables}] }} }}"
    text = f"{source}\ntransform {{\n{transform}\n}}\nsink {{ Console {{}} }}"
    return table_graph.build(understand(loads(text, file="job.conf"), installed()), Asking())


def columns_after(transform: str) -> dict[str, tuple[str, ...]]:
    """The columns that the sink sees, by table."""
    nodes = graph_of(transform).nodes.values()
    return {node.table.path.table: node.table.names for node in nodes if isinstance(node, SinkNode)}


def test_a_rule_for_one_table_stands_alone() -> None:
    """None of the step's own options hold there, whether they are called by an older name or not."""
    transform = """Filter { table_match_regex = "d.a", fields = [name]
        table_transform = [{ table_path = "d.b", fields = [id] }] }"""
    rename = """FieldRename { table_match_regex = "d.a", prefix = "x_"
        table_transform = [{ table_path = "d.b", suffix = "_y" }] }"""

    assert columns_after(transform) == {"a": ("name",), "b": ("id",), "c": ("id", "name")}
    assert columns_after(rename) == {"a": ("x_id", "x_name"), "b": ("id_y", "name_y"), "c": ("id", "name")}


def test_queries_go_by_table_like_other_transforms() -> None:
    transform = """Sql { table_match_regex = "d.a", query = "one"
        table_transform = [{ table_path = "d.b", query = "other" }] }"""

    assert columns_after(transform) == {"a": ("one",), "b": ("other",), "c": ("id", "name")}


@pytest.mark.parametrize("wiring", ["", "plugin_output = x"])
def test_rules_for_single_tables_may_be_all_that_a_step_says(wiring: str) -> None:
    """Options that every other table would need are not missed, for there is no other table."""
    transform = """Copy { %s
        table_transform = [{ table_path = "d.b", fields { twin = name } }, { table_path = "d.c", fields { two = id } }] }"""

    assert columns_after(transform % wiring) == {
        "a": ("id", "name"),
        "b": ("id", "name", "twin"),
        "c": ("id", "name", "two"),
    }


def test_rules_in_the_older_spelling_are_the_same_rules() -> None:
    transform = """FieldMapper {
        table_transform = [{ tablePath = "d.b", fieldMapper { name = n } }, { tablePath = "d.c", fieldMapper { id = i } }] }"""

    assert columns_after(transform) == {"a": ("id", "name"), "b": ("n",), "c": ("i",)}


def test_a_rule_that_lacks_an_option_is_named() -> None:
    with pytest.raises(PlanError, match="table_transform for d.b: pattern"):
        columns_after(
            'Replace { replace_field = name, pattern = a, replacement = b, table_transform = [{ table_path = "d.b", replace_field = name }] }'
        )


@pytest.mark.parametrize(
    ("rules", "notes"),
    [
        (
            'table_match_regex = "b"',
            [
                "job.conf:3:10: transform[0].Filter.table_match_regex: 'b' matches no table that reaches this step\n"
                "    remedy: the nearest table is d.b; give full names"
            ],
        ),
        (
            'table_match_regex = "d[.]a", table_transform = [{ table_path = "d.bb", fields = [id] }]',
            [
                "job.conf:3:39: transform[0].Filter.table_transform: no table 'd.bb' reaches this step\n"
                "    remedy: the nearest table is d.b; give full names"
            ],
        ),
        ('table_match_regex = "d[.].*"', []),
        ('table_transform = [{ table_path = "d.b", fields = [id] }]', []),
    ],
)
def test_a_rule_that_applies_to_no_table_is_noted_with_the_nearest_name(rules: str, notes: list[str]) -> None:
    assert list(graph_of(f"Filter {{ {rules}, fields = [id] }}").notes()) == notes


def test_a_rule_without_a_table_is_refused() -> None:
    with pytest.raises(JobFileError, match="rule 2 has no table_path"):
        graph_of('Filter { fields = [id], table_transform = [{ table_path = "d.b" }, { fields = [id] }] }')


def test_a_join_takes_no_rules_for_tables() -> None:
    source = "FakeSource { plugin_output = %s, schema { fields { id = int } } }"
    text = f"""source {{ {source % "a"}\n{source % "b"} }}
        transform {{ Sql {{ plugin_input = [a, b], plugin_output = c, query = "id", table_match_regex = "a" }} }}
        sink {{ Console {{ plugin_input = c }} }}"""

    with pytest.raises(PlanError, match="table_match_regex: a query over several inputs reads each of them whole"):
        table_graph.build(understand(loads(text), installed()), Asking())
