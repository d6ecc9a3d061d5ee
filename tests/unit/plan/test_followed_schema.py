"""The schema that later steps see after changes of a followed table's schema."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import (
    BIGINT,
    STRING,
    Batch,
    Column,
    DataType,
    FatalError,
    Kind,
    PrimaryKey,
    SchemaBehavior,
    SchemaEvent,
    SchemaPolicy,
    SourceTable,
    TablePath,
    TableSchema,
)
from seatunnel_py.plan.followed_schema import decided, followed
from seatunnel_py.work.plain_schema import table_of, table_plain
from seatunnel_py.work.rows.projection import projected
from seatunnel_py.work.schema_alteration import SchemaAlteration

INT = DataType(Kind.INT)
NAMES = ("a", "b", "c", "d")
TYPES = (INT, BIGINT, STRING)
PATH = TablePath("", "public", "t")
START = TableSchema(
    PATH, (Column("id", INT, nullable=False), Column("a", INT), Column("b", STRING)), PrimaryKey(("id",))
)


def altered(schema: TableSchema, **renamed: str) -> SchemaAlteration:
    return SchemaAlteration(SourceTable(schema), renamed, "ALTER TABLE t")


@st.composite
def changes(draw: st.DrawFn, schema: TableSchema) -> SchemaAlteration:
    """One change of a column that is no part of the key."""
    columns = [one for one in schema.columns if one.name != "id"]
    free = [name for name in NAMES if schema.column(name) is None]
    kinds = ["add"] * bool(free) + ["drop", "retype"] * bool(columns) + ["rename"] * bool(columns and free)
    kind, renamed = draw(st.sampled_from(kinds)), {}
    if kind == "add":
        columns.append(Column(draw(st.sampled_from(free)), draw(st.sampled_from(TYPES)), draw(st.booleans())))
    else:
        at = draw(st.integers(0, len(columns) - 1))
        old = columns[at]
        if kind == "drop":
            del columns[at]
        elif kind == "retype":
            columns[at] = replace(old, dtype=draw(st.sampled_from([one for one in TYPES if one != old.dtype])))
        else:
            renamed = {old.name: draw(st.sampled_from(free))}
            columns[at] = replace(old, name=renamed[old.name])
    return SchemaAlteration(SourceTable(replace(schema, columns=(schema.columns[0], *columns))), renamed, kind)


@st.composite
def scripts(draw: st.DrawFn) -> list[SchemaAlteration]:
    found, schema = [], START
    for _ in range(draw(st.integers(1, 6))):
        found.append(draw(changes(schema)))
        schema = found[-1].table.schema
    return found


POLICIES = st.builds(
    SchemaPolicy,
    st.sampled_from([SchemaBehavior.EVOLVE, SchemaBehavior.LENIENT, SchemaBehavior.IGNORE]),
    st.frozensets(st.sampled_from(SchemaEvent), max_size=2),
    st.frozensets(st.sampled_from(SchemaEvent), max_size=2),
)


def after_each(script: list[SchemaAlteration], policy: SchemaPolicy) -> list[tuple[SourceTable, SchemaAlteration]]:
    """The tables as planned, up to the first change that stops the table, each with its change."""
    table, found = SourceTable(START), []
    for one in script:
        made = decided(one, table, policy)
        if made.stops is not None:
            break
        table = made.table
        found.append((table, one))
    return found


@given(scripts())
def test_evolving_targets_have_the_schema_of_the_source(script: list[SchemaAlteration]) -> None:
    found = after_each(script, SchemaPolicy())
    assert [table.output for table, _ in found] == [one.table.schema for one in script]
    assert all(table.projection is None for table, _ in found)


@given(scripts())
def test_targets_that_ignore_changes_keep_their_columns(script: list[SchemaAlteration]) -> None:
    for table, _ in after_each(script, SchemaPolicy(SchemaBehavior.IGNORE)):
        assert [(one.name, one.dtype) for one in table.output.columns] == [
            (one.name, one.dtype) for one in START.columns
        ]


@given(scripts())
def test_lenient_targets_only_get_columns_and_wider_types(script: list[SchemaAlteration]) -> None:
    before = START
    for table, change in after_each(script, SchemaPolicy(SchemaBehavior.LENIENT)):
        assert set(before.names) <= set(table.output.names)
        assert set(change.table.schema.names) <= set(table.output.names)
        for column in before.columns:
            now = table.output.column(column.name)
            assert now is not None
            assert now.dtype in (column.dtype, BIGINT)
            assert now.nullable or not column.nullable
        before = table.output


@given(scripts(), POLICIES)
def test_rows_fit_the_schema_and_no_value_moves_to_another_column(
    script: list[SchemaAlteration], policy: SchemaPolicy
) -> None:
    for table, _ in after_each(script, policy):
        assert table.output.key == ("id",)
        assert table_of(table_plain(table)) == table
        arrays = [pa.array([7], pa.int64()).cast(one.type) for one in table.schema.arrow()]
        data = pa.RecordBatch.from_arrays(arrays, schema=table.schema.arrow())
        rows = projected(Batch(PATH, data), table.output).data
        assert rows.schema == table.output.arrow()
        for column in table.output.columns:
            value = rows.column(rows.schema.get_field_index(column.name))[0].as_py()
            there = table.schema.column(column.name) is not None
            assert (value is not None) == there
            assert there or column.nullable


def test_columns_that_exchange_names_stop_a_table_that_keeps_them() -> None:
    swapped = replace(START, columns=(START.columns[0], Column("b", INT), Column("a", STRING)))
    with pytest.raises(FatalError, match="another meaning"):
        followed(SourceTable(START), altered(swapped, a="b", b="a"), SchemaPolicy(SchemaBehavior.IGNORE))


def test_a_key_that_rows_lose_stops_the_table() -> None:
    renamed = replace(
        START, columns=(Column("number", INT, nullable=False), *START.columns[1:]), primary_key=PrimaryKey(("number",))
    )
    change = altered(renamed, id="number")
    assert followed(SourceTable(START), change, SchemaPolicy()) == renamed
    with pytest.raises(FatalError, match="'id', a column of the key"):
        followed(SourceTable(START), change, SchemaPolicy(SchemaBehavior.LENIENT))


@pytest.mark.parametrize(
    ("policy", "applied"),
    [
        (SchemaPolicy(), True),
        (SchemaPolicy(SchemaBehavior.LENIENT), False),
        (SchemaPolicy(SchemaBehavior.IGNORE), False),
        (SchemaPolicy(exclude=frozenset({SchemaEvent.TRUNCATE_TABLE})), False),
        (SchemaPolicy(SchemaBehavior.LENIENT, frozenset({SchemaEvent.TRUNCATE_TABLE})), True),
        (SchemaPolicy(include=frozenset({SchemaEvent.ADD_COLUMN})), False),
    ],
)
def test_a_truncation_is_applied_as_the_policy_says(policy: SchemaPolicy, *, applied: bool) -> None:
    found = decided(SchemaAlteration(SourceTable(START), truncates=True), SourceTable(START), policy)
    assert found.truncates is applied


WIDER = replace(START, columns=(*START.columns, Column("c", INT)))


def test_a_change_in_the_inbox_waits_and_a_decision_takes_the_place_of_the_policy() -> None:
    policy, change, before = SchemaPolicy(SchemaBehavior.INBOX), altered(WIDER), SourceTable(START)
    waits = decided(change, before, policy)
    assert waits.stops is not None
    assert "waits for a decision" in waits.stops[0]
    approved = decided(replace(change, behavior=SchemaBehavior.EVOLVE), before, policy)
    assert (approved.stops, approved.table.output) == (None, WIDER)
    rejected = decided(replace(change, behavior=SchemaBehavior.IGNORE), before, policy)
    assert (rejected.stops, rejected.table.output.names) == (None, START.names)


def test_a_truncation_in_the_inbox_waits() -> None:
    change = SchemaAlteration(SourceTable(START), truncates=True)
    policy, before = SchemaPolicy(SchemaBehavior.INBOX), SourceTable(START)
    assert decided(change, before, policy).stops is not None
    assert decided(replace(change, behavior=SchemaBehavior.EVOLVE), before, policy).truncates
    assert not decided(replace(change, behavior=SchemaBehavior.IGNORE), before, policy).truncates


def test_an_excluded_change_needs_no_decision() -> None:
    policy = SchemaPolicy(SchemaBehavior.INBOX, exclude=frozenset({SchemaEvent.ADD_COLUMN}))
    found = decided(altered(WIDER), SourceTable(START), policy)
    assert (found.stops, found.table.output.names) == (None, START.names)


def test_a_rejection_holds_although_the_policy_includes_the_change() -> None:
    policy = SchemaPolicy(SchemaBehavior.INBOX, include=frozenset({SchemaEvent.ADD_COLUMN}))
    change = replace(altered(WIDER), behavior=SchemaBehavior.IGNORE)
    assert decided(change, SourceTable(START), policy).table.output.names == START.names


def test_under_try_a_change_that_cannot_be_followed_counts_as_ignored() -> None:
    """Without its key the table could not be followed; as ignored it stops nonetheless, with the same cause."""
    policy, before = SchemaPolicy(SchemaBehavior.TRY), SourceTable(START)
    assert decided(altered(WIDER), before, policy).table.output == WIDER
    swapped = replace(START, columns=(START.columns[0], Column("b", INT), Column("a", STRING)))
    ignored = decided(altered(swapped, a="b", b="a"), before, SchemaPolicy(SchemaBehavior.IGNORE))
    tried = decided(altered(swapped, a="b", b="a"), before, policy)
    assert tried.table.output in (swapped, ignored.table.output)
