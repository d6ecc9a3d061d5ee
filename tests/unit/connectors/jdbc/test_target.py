"""What a target must look like, save modes as decisions, parameters of a statement, scripts as statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.jdbc.options import JdbcSinkOptions
from seatunnel_connectors.jdbc.statements.script import split_statements
from seatunnel_connectors.jdbc.target.job_targets import JobTargets
from seatunnel_connectors.jdbc.target.query_parameters import bind
from seatunnel_connectors.jdbc.target.sink_key import LOGGED_BY_KEY, key_is_proved, key_of
from seatunnel_connectors.jdbc.target.target_plan import (
    TargetColumn,
    TargetPlan,
    decide,
    in_own_words,
    misfits,
    narrower,
    target_path,
    words_given,
)
from seatunnel_py.api import Column, DataType, FatalError, Kind, PrimaryKey, TablePath, TableSchema
from seatunnel_py.api.types import BIGINT, DOUBLE, FLOAT, INT, STRING, TIMESTAMP, TIMESTAMP_TZ, decimal

TABLE = TableSchema(TablePath("d", "s", "t"), (Column("id", BIGINT, nullable=False), Column("name", STRING)))


def options(**more: Any) -> JdbcSinkOptions:
    return JdbcSinkOptions.model_validate({"url": "jdbc:postgresql://h/d", **more})


@pytest.mark.parametrize(
    ("modes", "exists", "rows", "plan"),
    [
        ({}, False, False, TargetPlan(create=True)),
        ({}, True, True, TargetPlan()),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, True, True, TargetPlan(create=True, drop=True)),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, False, False, TargetPlan(create=True)),
        ({"schema_save_mode": "IGNORE"}, True, True, TargetPlan()),
        ({"data_save_mode": "DROP_DATA"}, True, True, TargetPlan(truncate=True)),
        ({"data_save_mode": "DROP_DATA"}, True, False, TargetPlan()),
        ({"data_save_mode": "DROP_DATA", "schema_save_mode": "RECREATE_SCHEMA"}, True, True, TargetPlan(create=True, drop=True)),
        ({"data_save_mode": "ERROR_WHEN_DATA_EXISTS"}, True, False, TargetPlan()),
        ({"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "x"}, True, True, TargetPlan(custom=True)),
    ],
)  # fmt: skip
def test_save_modes(modes: dict[str, Any], exists: bool, rows: bool, plan: TargetPlan) -> None:
    assert decide(options(**modes), "s.t", exists=exists, has_rows=rows) == plan


def test_save_modes_that_refuse() -> None:
    for mode in ("IGNORE", "ERROR_WHEN_SCHEMA_NOT_EXIST"):
        with pytest.raises(FatalError, match="does not exist"):
            decide(options(schema_save_mode=mode), "s.t", exists=False, has_rows=False)
    with pytest.raises(FatalError, match="holds rows"):
        decide(options(data_save_mode="ERROR_WHEN_DATA_EXISTS"), "s.t", exists=True, has_rows=True)


def test_only_the_first_of_several_upstream_tables_renews_the_target() -> None:
    place, targets = object(), JobTargets()

    assert not targets.prepared_by_sibling(place, "a")
    targets.mark_prepared(place, "a", "1")
    targets.mark_prepared(place, "a", "1")
    assert targets.prepared_by_sibling(place, "b") and not targets.prepared_by_sibling(place, "a")
    targets.mark_prepared(place, "b", "2")
    targets.mark_prepared(place, "a", "3")
    assert targets.prepared_by_sibling(place, "b")
    assert (
        decide(options(schema_save_mode="RECREATE_SCHEMA"), "t", exists=True, has_rows=True, first=False)
        == TargetPlan()
    )


@pytest.mark.parametrize(
    ("source", "target", "length", "fits"),
    [
        (INT, BIGINT, 0, True),
        (BIGINT, INT, 0, False),
        (BIGINT, decimal(19, 0), 0, True),
        (BIGINT, decimal(10, 0), 0, False),
        (decimal(10, 2), decimal(12, 2), 0, True),
        (decimal(10, 2), decimal(10, 4), 0, False),
        (decimal(10, 2), decimal(10, 1), 0, False),
        (decimal(38, 18), decimal(10, 2), 0, True),
        (DOUBLE, FLOAT, 0, False),
        (TIMESTAMP_TZ, TIMESTAMP, 0, True),
        (STRING, INT, 0, False),
        (INT, STRING, 0, True),
        (DataType(Kind.NULL), INT, 0, True),
        (STRING, STRING, 10, False),
        (STRING, STRING, 20, True),
    ],
)
def test_narrower(source: DataType, target: DataType, length: int, fits: bool) -> None:
    column = Column("x", source, length=20 if source is STRING else 0)

    assert (narrower(column, TargetColumn("x", target, "shown", length=length)) == "") is fits


def test_misfits_name_missing_extra_and_differently_spelt_columns() -> None:
    target = {
        "ID": TargetColumn("ID", BIGINT, "bigint"),
        "must": TargetColumn("must", INT, "integer", nullable=False),
        "filled": TargetColumn("filled", INT, "integer", nullable=False, fills=True),
        "name": TargetColumn("name", STRING, "text", generated=True),
    }

    found = misfits(TABLE, target, {"id": "id", "name": "name"})

    assert [text.split(" ")[1] for text in found] == ["'id'", "'name'", "'must'"]
    assert "'ID'" in found[0] and "generated" in found[1]


def test_keys() -> None:
    keyed = replace(TABLE, primary_key=PrimaryKey(("id",), proved=True))

    assert key_of(options(), keyed) == ("id",) and key_of(options(primary_keys=[]), keyed) == ()
    assert key_is_proved(("id",), keyed) and key_is_proved((), TABLE) and key_is_proved(("id", "name"), keyed)
    assert not key_is_proved(("name",), keyed) and not key_is_proved(("id",), TABLE)
    with pytest.raises(FatalError, match="primary_keys names x"):
        key_of(options(primary_keys=["x"]), TABLE)
    with pytest.raises(FatalError, match=r"holds \$\{primary_key\}, but the table that is read has no primary key"):
        key_of(options(primary_keys=["${primary_key}"]), TABLE)


def test_keys_of_tables_whose_log_tells_of_changes_by_their_key() -> None:
    """A row keeps an earlier value of another column for ever: the log does not show it."""
    logged = replace(TABLE, primary_key=PrimaryKey(("id",), proved=True), options={LOGGED_BY_KEY: "true"})

    assert key_of(options(), logged) == key_of(options(primary_keys=["id"]), logged) == ("id",)
    assert key_of(options(primary_keys=[]), logged) == ()
    for key in (["name"], ["id", "name"]):
        with pytest.raises(FatalError, match="only where id changes"):
            key_of(options(primary_keys=key), logged)
    with pytest.raises(FatalError, match="only where its key changes"):
        key_of(options(primary_keys=["id"]), replace(logged, primary_key=None))


def test_table_names() -> None:
    assert target_path(options(), TABLE) == TablePath("", "", "t")
    assert str(target_path(options(table="a.b", tablePrefix="p_", tableSuffix="_s"), TABLE)) == "a.p_b_s"
    assert target_path(options(schema="x", tablePrefix="p_"), TABLE) == TablePath("", "x", "p_t")
    assert target_path(options(schema="x", table="a.b"), TABLE, schema_first=True) == TablePath("", "x", "b")
    for url in ("jdbc:mysql://h/d", "jdbc:sqlite:d"):
        with pytest.raises(ValidationError, match="has no schemas below a database"):
            options(url=url, schema="x")


def test_types_in_the_words_of_another_database_are_dropped_and_a_persons_stay() -> None:
    columns = (
        Column("a", STRING, native="uuid"),
        Column("b", STRING, native="citext"),
        Column("c", STRING, native="x; DROP"),
    )
    table = TableSchema(TABLE.path, columns, options={"native_dialect": "postgres"})

    assert [column.native for column in in_own_words(table, "mysql").columns] == ["", "citext", "x; DROP"]
    assert in_own_words(table, "postgres") is table
    assert [words_given(column) for column in columns] == ["uuid", "citext", ""]


@pytest.mark.parametrize(
    ("query", "sql", "positions"),
    [
        ("INSERT INTO x VALUES (?, ?)", "INSERT INTO x VALUES (%s, %s)", (0, 1)),
        ("INSERT INTO x VALUES (:name, :id);", "INSERT INTO x VALUES (%s, %s)", (1, 0)),
        ("SELECT '?:id', \":id\", :id::int, a %% 2 -- :id", "SELECT '?:id', \":id\", %s::int, a %%%% 2 -- :id", (0,)),
        ("SELECT $$:id ?$$, ?", "SELECT $$:id ?$$, %s", (0,)),
        ("SELECT '100%', ?", "SELECT '100%%', %s", (0,)),
    ],
)
def test_parameters(query: str, sql: str, positions: tuple[int, ...]) -> None:
    found = bind(query, TABLE)

    assert (found.sql, found.positions) == (sql, positions)


def test_scripts() -> None:
    assert split_statements("a; b ';' ; -- c;\n d;;") == ["a", "b ';'", "-- c;\n d"]
