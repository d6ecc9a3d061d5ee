"""Kinds of tables are chosen on purpose: partitions and views are left out of patterns, and how many is said."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app
from seatunnel_py.cli.commands.copy import CopyRequest, job_file
from seatunnel_py.cli.view.receipt_view import receipt_text
from seatunnel_py.errors import PlanError
from seatunnel_py.plan import plan_data
from seatunnel_py.runtime.storage.home import Home
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_rows_there import run
from tests.connectors.jdbc.test_target_names import job

ALL = {"table_path": r"a[.].*", "use_regex": True}


def names(tmp_path: Path, source: Mapping[str, Any]) -> set[str]:
    found = app.plan(job(tmp_path, source, ("Console", {})))
    return {path.table for one in found.pipelines for path in one.tables}


@pytest.fixture
def kinds(pg: PostgresPlace) -> PostgresPlace:
    """Each kind of relation: a partitioned table with a partitioned partition among its leaves."""
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY); INSERT INTO a.t VALUES (1);"
        "CREATE TABLE a.m (id int, at int) PARTITION BY RANGE (at);"
        "CREATE TABLE a.m1 PARTITION OF a.m FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE a.m2 PARTITION OF a.m FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);"
        "CREATE TABLE a.m2a PARTITION OF a.m2 DEFAULT; INSERT INTO a.m VALUES (1, 1), (2, 11), (3, 12);"
        "CREATE VIEW a.v AS SELECT * FROM a.t; CREATE MATERIALIZED VIEW a.mv AS SELECT * FROM a.t;"
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw;"
        "CREATE SERVER IF NOT EXISTS other FOREIGN DATA WRAPPER postgres_fdw;"
        "CREATE FOREIGN TABLE a.f (id int) SERVER other"
    )
    return pg


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"t", "m"}),
        ({"kinds": ["table", "partition"]}, {"t", "m", "m1", "m2", "m2a"}),
        ({"kinds": "view,materialized_view"}, {"v", "mv"}),
        ({"kinds": ["foreign"]}, {"f"}),
        ({"exclude": [r"a[.]t"]}, {"m"}),
        ({"kinds": ["table", "view"], "exclude": [r".*[.]m.*"]}, {"t", "v"}),
    ],
)
def test_a_pattern_reads_the_kinds_that_are_asked_for(
    kinds: PostgresPlace, tmp_path: Path, more: dict[str, Any], expected: set[str]
) -> None:
    """P1-partitions."""
    assert names(tmp_path, kinds.source(**ALL, **more)) == expected


def test_what_is_named_is_read_whatever_it_is(kinds: PostgresPlace, tmp_path: Path) -> None:
    for name in ("m1", "v", "mv"):
        assert names(tmp_path, kinds.source(table_path=f"a.{name}", exclude=["a[.].*"])) == {name}


def test_rows_of_partitions_come_once_and_what_is_left_out_is_said(kinds: PostgresPlace, tmp_path: Path) -> None:
    path = job(tmp_path, kinds.source(**ALL), ("Jdbc", kinds.sink(table="b.${table_name}")))

    found = app.plan(path)
    receipt = run(tmp_path, path)

    plan = plan_data.describe(found.job, found.graph, found.pipelines, look=False)
    assert receipt.exit_code == 0 and kinds.rows("SELECT count(*), sum(id) FROM b.m") == [(3, 6)]
    assert kinds.rows(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'b'::regnamespace AND relname ~ '^(m|v|t|f)'"
    ) == [(3,)]
    assert {one["table"].rpartition(".")[2] for one in plan["left_out"]} == {"m1", "m2", "m2a", "v", "mv", "f"}
    for text in (plan_data.text(plan), receipt_text(receipt, Home(tmp_path / "home"))):
        assert (
            "leaves out 3 (partitions, whose rows come with their tables; kinds = table,partition reads them)" in text
        )
        assert "leaves out 1 (views; kinds = table,view reads them)" in text


def test_a_pattern_that_matches_nothing_but_what_is_left_out_says_so(kinds: PostgresPlace, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="kinds = table,view reads them"):
        names(tmp_path, kinds.source(table_path="a[.]v", use_regex=True))


def test_copy_takes_kinds_and_leaves_out(kinds: PostgresPlace, tmp_path: Path) -> None:
    address = kinds.url.removeprefix("jdbc:").replace("//", "//postgres@")
    (path := tmp_path / "copy.conf").write_text(
        job_file(
            CopyRequest(address, str(tmp_path / "out"), ("a.*",), exclude=("a.m*", "*.f"), kinds=("table", "view"))
        )
    )

    assert {table.table for one in app.plan(path).pipelines for table in one.tables} == {"t", "v"}


@pytest.mark.mariadb
def test_mariadb_and_sqlite_too(maria: MariadbPlace, tmp_path: Path) -> None:
    statements = ("CREATE TABLE {}t (id int)", "CREATE VIEW {}v AS SELECT * FROM {}t")
    maria.run(*(one.format("a.", "a.") for one in statements), "CREATE SEQUENCE a.s")
    with closing(sqlite3.connect(tmp_path / "in.db")) as db:
        for one in statements:
            db.execute(one.format("", ""))
    database = {"url": f"jdbc:sqlite:{tmp_path}/in.db", "table_path": ".*", "use_regex": True}
    for source in (maria.source(**ALL), database):
        assert names(tmp_path, source) == {"t"}
        assert names(tmp_path, source | {"kinds": "table,view"}) == {"t", "v"}
        assert names(tmp_path, source | {"kinds": "table,view", "exclude": ".*t"}) == {"v"}
