"""What a sink may believe of a key: proved by the source, until a step could have changed its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from seatunnel_py.api import (
    Column,
    Determinism,
    Enumerator,
    Plain,
    PrimaryKey,
    Reader,
    Source,
    SourceCapabilities,
    SourceFactory,
    SourceOptions,
    SourceTable,
    StepContext,
    TablePath,
    TableSchema,
    parse_type,
)
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import PlanError
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginEntry, PluginKind, Registry
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.plan.steps import understand

TABLE = TableSchema(
    TablePath.parse("keyed"),
    (Column("id", parse_type("string"), nullable=False), Column("name", parse_type("string"))),
    PrimaryKey(("id",), proved=True),
)


class Keyed(Source):
    """One table whose key the source vouches for; nothing reads it."""

    def tables(self) -> Sequence[SourceTable]:
        return [SourceTable(TABLE)]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        raise AssertionError("planning opens nothing")

    def reader(self, table: SourceTable) -> Reader:
        raise AssertionError("planning opens nothing")


class KeyedFactory(SourceFactory[SourceOptions]):
    name = "Keyed"
    options = SourceOptions

    def capabilities(self, options: SourceOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE)

    def create(self, options: SourceOptions, context: StepContext) -> Source:
        return Keyed()


def key_behind(transform: str) -> PrimaryKey | None:
    """The key that the sink behind a transform sees."""
    registry = Registry(
        (*installed().entries(), PluginEntry(PluginKind.SOURCE, "Keyed", "tests", factory=KeyedFactory))
    )
    job = understand(loads(f"source {{ Keyed {{}} }}\ntransform {{ {transform} }}\nsink {{ Console {{}} }}"), registry)
    (sink,) = (node for node in table_graph.build(job, None).nodes.values() if isinstance(node, table_graph.SinkNode))
    return sink.table.primary_key


@pytest.mark.parametrize(
    "transform",
    [
        "",
        "Filter { include_fields = [id] }",
        "FieldMapper { field_mapper { id = id } }",
        "TableRename { prefix = x_ }",
        "FilterRowKind { exclude_kinds = [DELETE] }",
    ],
)
def test_a_key_stays_proved_where_its_values_do(transform: str) -> None:
    """A sink may then load without looking for duplicates."""
    key = key_behind(transform)

    assert key is not None and key.proved


@pytest.mark.parametrize(
    "transform",
    [
        'Replace { replace_field = id, pattern = "[0-9]", replacement = x, is_regex = true }',
        "Copy { fields { id = name } }",
        "Double { field = name }",
    ],
)
def test_a_key_is_proved_no_longer_behind_a_step_that_may_change_it(transform: str) -> None:
    """Two keys may have become one: the sink must merge, not fail at the end of a load."""
    key = key_behind(transform)

    assert key is not None and not key.proved


def test_a_key_whose_column_is_gone_is_gone() -> None:
    """A key of fewer columns would be another key."""
    assert key_behind("Filter { exclude_fields = [id] }") is None


# ---------------------------------------------------------------- rules for single tables


class Asking:
    """An analyst that takes a query for the name of its only column."""

    def analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        column = Column(query, parse_type("int"))
        return Analysis(query, (column,), True, Determinism.DETERMINATE)

    def rows(self, query: str, inputs: Mapping[str, Any]) -> Any:
        raise AssertionError("planning reads nothing")


def columns_behind(transform: str) -> dict[str, tuple[str, ...]]:
    """The columns that the sink sees, by table: of ``d.a``, ``d.b`` and ``d.c`` with ``id`` and ``name``."""
    tables = ", ".join(f'{{ schema {{ table = "d.{name}", fields {{ id = int, name = string }} }} }}' for name in "abc")
    text = f"source {{ FakeSource {{ tables_configs = [{tables}] }} }}\ntransform {{ {transform} }}\nsink {{ Console {{}} }}"
    nodes = table_graph.build(understand(loads(text), installed()), Asking()).nodes.values()
    return {node.table.path.table: node.table.names for node in nodes if isinstance(node, table_graph.SinkNode)}


def test_a_rule_for_one_table_stands_alone() -> None:
    """None of the step's own options hold there, whether they are called by an older name or not."""
    transform = """Filter { table_match_regex = "d.a", fields = [name]
        table_transform = [{ table_path = "d.b", fields = [id] }] }"""
    rename = """FieldRename { table_match_regex = "d.a", prefix = "x_"
        table_transform = [{ table_path = "d.b", suffix = "_y" }] }"""

    assert columns_behind(transform) == {"a": ("name",), "b": ("id",), "c": ("id", "name")}
    assert columns_behind(rename) == {"a": ("x_id", "x_name"), "b": ("id_y", "name_y"), "c": ("id", "name")}


def test_queries_go_by_table_like_other_transforms() -> None:
    transform = """Sql { table_match_regex = "d.a", query = "one"
        table_transform = [{ table_path = "d.b", query = "other" }] }"""

    assert columns_behind(transform) == {"a": ("one",), "b": ("other",), "c": ("id", "name")}


@pytest.mark.parametrize("wiring", ["", "plugin_output = x"])
def test_rules_for_single_tables_may_be_all_that_a_step_says(wiring: str) -> None:
    """Options that every other table would need are not missed, for there is no other table."""
    transform = """Copy { %s
        table_transform = [{ table_path = "d.b", fields { twin = name } }, { table_path = "d.c", fields { two = id } }] }"""

    assert columns_behind(transform % wiring) == {
        "a": ("id", "name"),
        "b": ("id", "name", "twin"),
        "c": ("id", "name", "two"),
    }


def test_rules_in_the_older_spelling_are_the_same_rules() -> None:
    transform = """FieldMapper {
        table_transform = [{ tablePath = "d.b", fieldMapper { name = n } }, { tablePath = "d.c", fieldMapper { id = i } }] }"""

    assert columns_behind(transform) == {"a": ("id", "name"), "b": ("n",), "c": ("i",)}


def test_a_rule_that_lacks_an_option_is_named() -> None:
    with pytest.raises(PlanError, match="table_transform for d.b: pattern"):
        columns_behind(
            'Replace { replace_field = name, pattern = a, replacement = b, table_transform = [{ table_path = "d.b", replace_field = name }] }'
        )
