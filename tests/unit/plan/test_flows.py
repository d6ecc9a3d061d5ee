"""What a sink may believe of a key: proved by the source, until a step could have changed its values."""

from __future__ import annotations

from collections.abc import Sequence

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
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginEntry, PluginKind, Registry
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
