"""A small new table is made in the transaction of its first unit, whichever way its rows take."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from seatunnel_py.api import BadRowsError, CommitContext, JobMode, Sink, SinkCommit, WriteContext, Writer
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink, same_rows
from tests.connectors.jdbc.test_postgres_write import SCHEMA, batch, inserts

pytestmark = pytest.mark.postgres

SMALL = replace(SCHEMA, options={"estimated_rows": "10"})


class Table:
    """A sink whose target is not there, set up."""

    def __init__(self, pg: PostgresPlace, estimate: str = "10", mode: JobMode = JobMode.BATCH, **options: Any) -> None:
        self.pg = pg
        schema = replace(SCHEMA, options={"estimated_rows": estimate})
        self.sink: Sink = make_sink(pg.sink(table="b.t", primary_keys=["id"], **options), schema, mode=mode)[0]
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)

    def writer(self, number: int, **context: Any) -> Writer:
        return self.sink.open(WriteContext("job", "lin", "sink", f"u{number}", setup=self.setup.data, **context))

    def commit(self, *pieces: Any) -> None:
        context = CommitContext("job", "lin", "sink", 1, setup=self.setup.data)
        self.sink.committer().commit(pieces, context)

    @property
    def is_there(self) -> bool:
        return self.pg.rows("SELECT to_regclass('b.t')") != [(None,)]


def test_it_is_made_with_its_rows(pg: PostgresPlace) -> None:
    """Not before: a table that fails leaves nothing behind; and people are told beforehand that it will be made."""
    table = Table(pg)
    assert [effect.action for effect in table.setup.effects] == ["create ledger", "create table"]
    assert not table.is_there
    writer = table.writer(1)
    writer.write(batch(inserts(1, 2)))
    assert not table.is_there
    piece = writer.stage()
    second = table.writer(2)
    second.write(batch(inserts(3)))
    table.commit(piece, second.stage())

    assert [row[0] for row in pg.rows("SELECT id FROM b.t ORDER BY id")] == [1, 2, 3]
    assert pg.rows("SELECT conname FROM pg_constraint WHERE conrelid = 'b.t'::regclass AND contype = 'p'") == [
        ("t_pkey",)
    ]


@pytest.mark.usefixtures("way")
def test_the_table_arrives_as_one_that_was_made_before(pg: PostgresPlace) -> None:
    """Whichever way the rows take: comments, indexes, and one in another schema of that name in the way."""
    pg.db.execute(
        "CREATE TABLE a.t (id bigint PRIMARY KEY, name text UNIQUE); COMMENT ON COLUMN a.t.name IS 'it''s \"a\" $$name$$';"
        "INSERT INTO a.t SELECT i, 'n' || i FROM generate_series(1, 500) i; ANALYZE a.t"
    )
    [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))

    assert copied.setup.data["make"] and not any("CREATE TABLE" in str(one) and '"b"."t"' in str(one)
                                                 for one in copied.setup.data["before"])  # fmt: skip
    same_rows(pg.rows("SELECT * FROM a.t"), pg.rows("SELECT * FROM b.t"))
    assert pg.rows("SELECT col_description('b.t'::regclass, 2)") == [('it\'s "a" $$name$$',)]
    unique = "SELECT indkey::text FROM pg_index WHERE indrelid = '{}.t'::regclass AND indisunique ORDER BY 1"
    assert pg.rows(unique.format("a")) == pg.rows(unique.format("b")) == [("1",), ("2",)]


def test_units_that_begin_at_a_time_make_it_once(pg: PostgresPlace) -> None:
    """CREATE TABLE IF NOT EXISTS alone fails there: both see nothing, and the second one meets the first one's name."""
    table = Table(pg)
    errors: list[BaseException] = []
    start = threading.Barrier(4)

    def unit(number: int) -> None:
        try:
            writer = table.writer(number)
            writer.write(batch(inserts(*range(number * 10, number * 10 + 10))))
            start.wait(timeout=20)
            writer.stage()
        except BaseException as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=unit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert not errors and len(pg.rows("SELECT id FROM b.t")) == 40


def test_a_unit_that_fails_leaves_no_table(pg: PostgresPlace) -> None:
    table = Table(pg, enable_upsert=False)
    writer = table.writer(1)
    writer.write(batch(inserts(1, 1)))
    with pytest.raises(BadRowsError):
        writer.stage()

    assert not table.is_there


@pytest.mark.parametrize("alone", [True, False])
def test_a_table_without_rows_is_made_too(pg: PostgresPlace, alone: bool) -> None:
    """By a unit that read nothing, or by the last commit where there was no unit at all."""
    table = Table(pg)
    table.writer(1).stage()
    assert table.is_there
    pg.db.execute("DROP TABLE b.t")
    context = CommitContext("job", "lin", "sink", 1, setup=table.setup.data)
    if alone:
        table.sink.committer().commit([], context)
    else:
        committer = table.sink.committer()
        committer.commit_together([SinkCommit(committer, [], context)])

    assert table.is_there


def test_what_is_large_or_somebodys_own_or_a_stream_is_made_before(pg: PostgresPlace) -> None:
    """A person's statements may need the table; a large one's units should not wait for each other."""
    for options in (
        {"estimate": "60000"},
        {"estimate": ""},
        {"mode": JobMode.STREAMING},
        {"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "INSERT INTO b.t VALUES (0, 'mine')"},
    ):
        table = Table(pg, **options)
        assert not table.setup.data["make"] and (table.is_there or table.setup.data["how"] == "shadow"), options
        pg.db.execute("DROP TABLE IF EXISTS b.t")


def test_a_recreated_table_is_made_before(pg: PostgresPlace) -> None:
    """What is there is dropped once, before all rows."""
    pg.db.execute("CREATE TABLE b.t (id bigint PRIMARY KEY, old text); INSERT INTO b.t VALUES (7, 'old')")
    table = Table(pg, schema_save_mode="RECREATE_SCHEMA")

    assert not table.setup.data["make"]
    with pytest.raises(psycopg.errors.UndefinedColumn):
        pg.rows("SELECT old FROM b.t")
