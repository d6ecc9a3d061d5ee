"""The option ``database`` on MySQL: a connection reaches every database of its server."""

from __future__ import annotations

import pytest

from tests.connectors.jdbc.conftest import MariadbPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink, make_source

pytestmark = pytest.mark.mariadb

SOURCE = (
    "CREATE TABLE a.t (id bigint PRIMARY KEY, v varchar(10))",
    "INSERT INTO a.t VALUES (1, 'x'), (2, 'y')",
)


def test_the_option_decides_over_the_url(maria: MariadbPlace) -> None:
    """The url is how to get to the server; the table goes where the option says, and nowhere else."""
    maria.run(*SOURCE)
    sink = {**maria.sink(table="t"), **maria.connection("a"), "database": "b"}

    copy_tables(maria.source(table_path="a.t"), sink)

    assert maria.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, "x"), (2, "y")]
    assert maria.rows("SELECT count(*) FROM a.t") == [(2,)]


def test_a_missing_database_is_created(maria: MariadbPlace) -> None:
    """Before its first table; the plan says so."""
    maria.run(*SOURCE, "DROP DATABASE b")
    sink = {**maria.sink(table="t"), **maria.connection("a"), "database": "b"}
    [table] = make_source(maria.source(table_path="a.t")).tables()

    made, _ = make_sink(sink, table.schema)
    effects = [(effect.action, effect.target) for effect in made.plan_setup().effects]
    copy_tables(maria.source(table_path="a.t"), sink)

    assert effects[:2] == [("create database", "b"), ("create table", "b.t")]
    assert made.target.endswith(": b.t")
    assert maria.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, "x"), (2, "y")]


def test_a_database_before_the_table_s_name_decides_over_the_option(maria: MariadbPlace) -> None:
    """As with SeaTunnel's table paths: the longer name is the clearer one."""
    maria.run(*SOURCE)

    copy_tables(maria.source(table_path="a.t"), {**maria.sink(table="b.u"), "database": "a"})

    assert maria.rows("SELECT count(*) FROM b.u") == [(2,)]
