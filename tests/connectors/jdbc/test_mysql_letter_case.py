"""A server on which letter case tells no tables apart (lower_case_table_names = 1): a table that is there is known
under every spelling of its name. 2 needs a file system that folds case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_py.api import FatalError
from tests.connectors.jdbc.conftest import MariadbPlace, mariadb_place, running_mariadb
from tests.connectors.jdbc.copying import copy_tables
from tests.connectors.jdbc.test_rows_there import planned
from tests.connectors.jdbc.test_target_names import job
from tests.servers.mariadb import MariadbServer

pytestmark = pytest.mark.mariadb


@pytest.fixture(scope="module")
def folding_server() -> Iterator[MariadbServer]:
    yield from running_mariadb(lower_case_table_names="1")


@pytest.fixture
def folding(folding_server: MariadbServer) -> Iterator[MariadbPlace]:
    for place in mariadb_place(folding_server):
        place.run("CREATE TABLE a.Tt (id int PRIMARY KEY, n int)", "INSERT INTO a.tt VALUES (1, 1), (2, 2)")
        place.run("CREATE TABLE b.Tt (id int PRIMARY KEY, n int)", "INSERT INTO b.tt VALUES (1, 9), (7, 7)")
        yield place


def test_a_table_that_is_there_is_not_taken_for_new(folding: MariadbPlace, tmp_path: Path) -> None:
    sinks, text = planned(job(tmp_path, folding.source(table_path="A.TT"), ("Jdbc", folding.sink(table="TT"))))

    assert "updated by key (2 rows there)" in text and "create table" not in text
    assert sinks["tt"]["present"]["count"] == 2


@pytest.mark.parametrize("recipe", ["", "direct", "staged", "shadow"])
def test_rows_that_are_there_are_emptied(folding: MariadbPlace, recipe: str) -> None:
    """They stayed, and the plan said that the table is new."""
    once = {"is_exactly_once": True, "exactly_once_recipe": recipe} if recipe else {}

    copy_tables(folding.source(table_path="a.tt"), folding.sink(table="TT", data_save_mode="DROP_DATA", **once))

    assert folding.rows("SELECT * FROM b.tt ORDER BY id") == [(1, 1), (2, 2)]


def test_rows_that_are_there_forbid_the_run(folding: MariadbPlace) -> None:
    with pytest.raises(FatalError, match="holds rows"):
        copy_tables(
            folding.source(table_path="a.tt"), folding.sink(table="TT", data_save_mode="ERROR_WHEN_DATA_EXISTS")
        )
