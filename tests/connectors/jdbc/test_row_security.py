"""Rows that PostgreSQL hides from a user: a table of which that may be true is refused, on both ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.test_rows_there import planned, run
from tests.connectors.jdbc.test_target_names import job

LOW = {"username": "low"}


@pytest.fixture
def guarded(pg: PostgresPlace) -> Iterator[PostgresPlace]:
    pg.db.execute("CREATE ROLE low LOGIN; GRANT USAGE, CREATE ON SCHEMA a, b TO low")
    for schema in ("a", "b"):
        pg.db.execute(
            f"CREATE TABLE {schema}.t (id int PRIMARY KEY, o text); GRANT ALL ON {schema}.t TO low;"
            f"INSERT INTO {schema}.t VALUES (1, 'low'), (2, 'other'); ALTER TABLE {schema}.t ENABLE ROW LEVEL SECURITY;"
            f"CREATE POLICY p ON {schema}.t USING (o = current_user); CREATE TABLE {schema}.open (id int PRIMARY KEY);"
            f"GRANT ALL ON {schema}.open TO low; INSERT INTO {schema}.open VALUES (1)".encode()
        )
    yield pg
    pg.db.execute("DROP OWNED BY low; DROP ROLE low")


def test_a_source_that_hides_rows_fails_alone(guarded: PostgresPlace, tmp_path: Path) -> None:
    """One of two rows was read, and nothing said so."""
    source = {**guarded.source(table_path=r"a[.].*", use_regex=True), **LOW}
    path = job(tmp_path, source, ("Jdbc", guarded.sink(table="b.copied_${table_name}")))

    _, text = planned(path)
    receipt = run(tmp_path, path)

    assert "policies of row-level security may hide rows of it from the user 'low'" in text
    assert 'ALTER ROLE "low" BYPASSRLS' in text and 'SELECT * FROM "a"."t"' in text
    assert receipt.exit_code == 3 and guarded.rows("SELECT * FROM b.copied_open") == [(1,)]
    assert guarded.rows("SELECT to_regclass('b.copied_t')") == [(None,)]


def test_a_query_gives_what_the_policies_show(guarded: PostgresPlace, tmp_path: Path) -> None:
    source = {**guarded.source(query="SELECT * FROM a.t"), **LOW}

    assert run(tmp_path, job(tmp_path, source, ("Jdbc", guarded.sink(table="b.shown")))).exit_code == 0
    assert guarded.rows("SELECT id FROM b.shown") == [(1,)]


def test_whom_policies_do_not_apply_to_reads_and_writes(guarded: PostgresPlace, tmp_path: Path) -> None:
    path = job(tmp_path, guarded.source(table_path="a.t"), ("Jdbc", guarded.sink(table="b.t")))

    assert run(tmp_path, path).exit_code == 0
    assert guarded.rows("SELECT count(*) FROM b.t") == [(2,)]


@pytest.mark.parametrize("mode", ["APPEND_DATA", "DROP_DATA", "ERROR_WHEN_DATA_EXISTS"])
def test_a_target_that_hides_rows_is_refused_at_plan(guarded: PostgresPlace, tmp_path: Path, mode: str) -> None:
    """Hidden rows were not counted, and the first COPY failed."""
    sink = {**guarded.sink(table="b.t", data_save_mode=mode), **LOW}

    sinks, text = planned(job(tmp_path, guarded.source(table_path="a.open"), ("Jdbc", sink)))

    assert "policies of row-level security apply to the user 'low'" in sinks["open"]["problem"] and "BYPASSRLS" in text
