"""PostgreSQL: commits and start effects of many tables in one transaction leave what they leave one by one."""

from __future__ import annotations

import contextlib
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from seatunnel_connectors.jdbc.postgres.ledger import ledger_commit
from seatunnel_py.api import (
    CommitContext,
    FatalError,
    JobMode,
    Piece,
    RetriableError,
    Sink,
    SinkCommit,
    SinkSetup,
    WriteContext,
)
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import make_sink
from tests.connectors.jdbc.test_postgres_write import SCHEMA, batch, inserts

pytestmark = pytest.mark.postgres

RECIPES = ("direct", "staged")
TABLES = ("a", "b", "c")
LEDGER = "SELECT table_name, step, last_checkpoint, incarnation, rows, finished FROM b.seatunnel_ledger ORDER BY step"
PIECES = "SELECT data_id, checkpoint, vertex, epoch FROM b.seatunnel_piece WHERE data_id <> '' ORDER BY data_id"


class Tables:
    """Several tables of one job, each with a sink of its own."""

    def __init__(self, pg: PostgresPlace, recipe: str, prefix: str = "t", lineage: str = "lin") -> None:
        self.pg = pg
        self.lineage = lineage
        self.sinks: dict[str, Sink] = {}
        self.setups: dict[str, Any] = {}
        options = {"primary_keys": ["id"], "is_exactly_once": True, "exactly_once_recipe": recipe}
        for name in TABLES:
            given = pg.sink(table=f"b.{prefix}_{name}", **options)
            self.sinks[name] = make_sink(given, SCHEMA, mode=JobMode.BATCH)[0]
            self.setups[name] = self.sinks[name].plan_setup()
            self.sinks[name].setup(self.setups[name])

    def write(self, name: str, number: int, **context: Any) -> Piece:
        who = WriteContext(
            "job", self.lineage, name, f"{name}{number}", setup=self.setups[name].data, vertex="read", **context
        )
        writer = self.sinks[name].open(who)
        writer.write(batch(inserts(number)))
        return writer.stage()

    def context(self, name: str, checkpoint: int = 1, **more: Any) -> CommitContext:
        setup = self.setups[name].data
        return CommitContext("job", self.lineage, name, checkpoint, setup=setup, **{"final": False, **more})

    def commit_of(self, name: str, pieces: list[Piece], checkpoint: int = 1, **more: Any) -> SinkCommit:
        return SinkCommit(self.sinks[name].committer(), pieces, self.context(name, checkpoint, **more))


@pytest.fixture(params=RECIPES)
def tables(pg: PostgresPlace, request: pytest.FixtureRequest) -> Tables:
    return Tables(pg, request.param)


def together(commits: list[SinkCommit]) -> None:
    keys = {one.committer.commits_with(one.context) for one in commits}
    assert len(keys) == 1 and None not in keys
    commits[0].committer.commit_together(commits)


def alone(commits: list[SinkCommit]) -> None:
    for one in commits:
        one.committer.commit(one.pieces, one.context)


def left(pg: PostgresPlace) -> tuple[Any, ...]:
    """What is to be seen of it: books, and tables."""
    names = [name for (name,) in pg.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'b' ORDER BY 1")]
    return pg.rows(LEDGER), pg.rows(PIECES), len(names)


@pytest.mark.parametrize("recipe", RECIPES)
def test_together_is_as_one_by_one(pg: PostgresPlace, recipe: str) -> None:
    """I28, I33: the ledger, the records that stay, the tables that overtaken lives have left: all the same."""
    seen = []
    for commit in (alone, together):
        pg.db.execute("DROP SCHEMA b CASCADE; CREATE SCHEMA b")
        tables = Tables(pg, recipe)
        first = {name: [tables.write(name, 1), tables.write(name, 2, attempt=1)] for name in TABLES}
        commit([tables.commit_of(name, first[name]) for name in TABLES])
        for name in TABLES:
            tables.write(name, 3)  # of a life that ends here
        second = {name: [tables.write(name, number, epoch=1) for number in (4, 5)] for name in TABLES}
        second["b"] = []  # has nothing new
        commit([tables.commit_of(name, second[name], 2) for name in TABLES])
        seen.append(left(pg))

    assert seen[0] == seen[1]
    assert [row[:3] for row in seen[0][0]] == [("db.up.t", name, 2) for name in TABLES]


def test_the_last_commits_of_tables_that_are_written_in_place(pg: PostgresPlace) -> None:
    tables = Tables(pg, "direct")
    pieces = {name: [tables.write(name, 1)] for name in TABLES}

    together([tables.commit_of(name, pieces[name], 7, final=True) for name in TABLES])

    assert [row[1:] for row in pg.rows(LEDGER)] == [(name, 7, 1, 1, True) for name in TABLES]
    assert pg.rows(PIECES) == []


def test_a_commit_that_shows_rows_goes_alone(pg: PostgresPlace) -> None:
    """It takes as long as the rows are many, and waits for whoever reads the target."""
    staged = Tables(pg, "staged")

    assert staged.sinks["a"].committer().commits_with(staged.context("a", final=True)) is None
    assert staged.sinks["a"].committer().commits_with(staged.context("a")) is not None


def test_a_second_time_changes_nothing_and_the_rest_is_committed(tables: Tables) -> None:
    """I28: one of them was committed before the driver died."""
    pieces = {name: [tables.write(name, 1)] for name in TABLES}
    commits = [tables.commit_of(name, pieces[name]) for name in TABLES]
    alone(commits[:1])
    together(commits)
    before = left(tables.pg)
    together(commits)

    assert left(tables.pg) == before
    assert [row[1:3] for row in tables.pg.rows(LEDGER)] == [(name, 1) for name in TABLES]


def test_units_that_are_lost_are_named_and_nothing_is_committed(tables: Tables) -> None:
    """I31: the books of the others wait for their own commits."""
    pieces = {name: [tables.write(name, 1)] for name in TABLES}
    tables.pg.db.execute("DELETE FROM b.seatunnel_piece WHERE data_id = 'b1'")
    before = left(tables.pg)

    with pytest.raises(FatalError, match=r"t_b: 1 of 1 units .* lost"):
        together([tables.commit_of(name, pieces[name]) for name in TABLES])

    assert left(tables.pg) == before


def test_a_newer_driver_fences_all_of_them_off(tables: Tables) -> None:
    """I34."""
    pieces = {name: [tables.write(name, 1)] for name in TABLES}
    tables.sinks["c"].committer().recover(tables.context("c", incarnation=2))
    before = left(tables.pg)

    with pytest.raises(FatalError, match=r"t_c: a newer run .* fenced off"):
        together([tables.commit_of(name, pieces[name]) for name in TABLES])

    assert left(tables.pg) == before


def test_who_holds_one_row_of_the_ledger_does_not_keep_the_others(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said as what each may meet alone: no RetriableError, for which all of them would wait."""
    monkeypatch.setattr(ledger_commit, "LOCK_SECONDS", 0.2)
    together([tables.commit_of(name, [tables.write(name, 1)]) for name in TABLES])
    pieces = {name: [tables.write(name, 2)] for name in TABLES}
    with psycopg.connect(tables.pg.db.info.dsn, autocommit=False) as other:
        other.execute("SELECT 1 FROM b.seatunnel_ledger WHERE step = 'b' FOR UPDATE")
        with pytest.raises(FatalError, match="holds the ledger's row"):
            together([tables.commit_of(name, pieces[name], 2) for name in TABLES])


# ---------------------------------------------------------------- start effects


class Made:
    """Sinks of tables that are not there yet."""

    def __init__(self, pg: PostgresPlace, *names: str, **options: Any) -> None:
        self.setups: list[SinkSetup] = []
        for name in names:
            sink = make_sink(pg.sink(table=f"b.{name}", primary_keys=["id"], **options), SCHEMA, mode=JobMode.BATCH)[0]
            self.setups.append(SinkSetup(sink, sink.plan_setup()))

    @property
    def with_whom(self) -> set[object]:
        return {one.sink.sets_up_with(one.setup) for one in self.setups}

    def together(self) -> None:
        self.setups[0].sink.set_up_together(self.setups)

    def alone(self) -> None:
        for one in self.setups:
            one.sink.setup(one.setup)


STRUCTURE = """SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull
               FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
               WHERE c.relnamespace = 'b'::regnamespace ORDER BY 1, a.attnum"""


def test_tables_are_made_together_as_one_by_one(pg: PostgresPlace) -> None:
    """Books and keys included, in one transaction; done again it changes nothing."""
    seen = []
    for how in (Made.alone, Made.together):
        pg.db.execute("DROP SCHEMA b CASCADE; CREATE SCHEMA b")
        tables = Made(pg, "x", "y", "z")
        assert len(tables.with_whom) == 1 and None not in tables.with_whom
        how(tables)
        how(tables)
        seen.append(pg.rows(STRUCTURE))

    assert seen[0] == seen[1] and {"x_pkey", "seatunnel_ledger"} <= {name for name, *_ in seen[0]}
    moments = pg.rows(
        "SELECT DISTINCT xmin::text FROM pg_class WHERE relnamespace = 'b'::regnamespace AND relkind = 'r'"
    )
    assert len(moments) == 1, "several transactions"


def test_a_table_that_cannot_be_made_leaves_none_of_them(pg: PostgresPlace) -> None:
    """Then each is asked alone, and the others are made."""
    tables = Made(pg, "x", "y", "z")
    pg.db.execute("CREATE TYPE b.y AS ENUM ('in the way')")

    with pytest.raises(FatalError, match="preparing 3 sink tables of schema b"):
        tables.together()
    assert not pg.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'b'")
    for one in tables.setups:
        with contextlib.suppress(FatalError):
            one.sink.setup(one.setup)
    made = {name for (name,) in pg.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'b'")}
    assert {"x", "z"} <= made and "y" not in made


def test_what_waits_for_readers_or_is_a_persons_own_is_done_alone(pg: PostgresPlace) -> None:
    """To drop or empty a table is to wait for everybody who reads it."""
    pg.db.execute("CREATE TABLE b.full (id bigint PRIMARY KEY, s text); INSERT INTO b.full VALUES (1, 'a')")
    drops = Made(pg, "full", schema_save_mode="RECREATE_SCHEMA")
    empties = Made(pg, "full", data_save_mode="DROP_DATA")
    own = Made(pg, "new", data_save_mode="CUSTOM_PROCESSING", custom_sql="SELECT 1")

    assert drops.with_whom == empties.with_whom == own.with_whom == {None}


def test_a_driver_that_stands_still_in_its_commit_does_not_keep_the_one_that_takes_over(
    pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the ledger's row (I34, F8): the server ends its session, and what it had begun is as if it never was."""
    tables = Tables(pg, "direct")
    piece = tables.write("a", 0)
    going_on, still = threading.Event(), threading.Event()

    def hit() -> None:
        still.set()
        assert going_on.wait(60)

    monkeypatch.setattr(ledger_commit, "STILL_SECONDS", 1)
    monkeypatch.setattr(ledger_commit.failpoints, "POSTGRES_INSIDE", types.SimpleNamespace(hit=hit))
    with ThreadPoolExecutor(1) as thread:
        older = thread.submit(tables.sinks["a"].committer().commit, [piece], tables.context("a"))
        assert still.wait(60)

        newer = tables.sinks["a"].committer()
        assert newer.recover(tables.context("a", 0, incarnation=2)) is None
        going_on.set()
        with pytest.raises(RetriableError):
            older.result(60)

    going_on.set()
    newer.commit([piece], tables.context("a", incarnation=2))
    assert [(row[2], row[3]) for row in pg.db.execute(LEDGER)] == [(1, 2)]
