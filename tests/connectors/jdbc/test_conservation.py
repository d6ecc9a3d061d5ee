"""P4-F1b, P4-F6: a commit moves what was staged, into the table that has the rows of the run, or it is LOST."""

from __future__ import annotations

import time

import psycopg
import pyarrow as pa
import pytest

from seatunnel_connectors.jdbc.postgres.ledger import staged
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    CannotResumeError,
    CommitContext,
    FatalError,
    JobMode,
    Piece,
    Position,
    Reached,
    WriteContext,
)
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink
from tests.connectors.jdbc.exactly_once import BEFORE, Target, sqlite_target, target
from tests.connectors.jdbc.test_mysql_shadow import ARROW, Run
from tests.connectors.jdbc.test_mysql_shadow import SCHEMA as KEYED

__all__ = ["target"]

ROWS = (("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "c"), ("+I", 4, "d"))
HARM = {
    "emptied": ("DELETE FROM {}", 0),
    "half deleted": ("DELETE FROM {} WHERE id IN (1, 3)", 2),
    "one deleted": ("DELETE FROM {} WHERE id = 4", 3),
    "one added": ("", 5),
    "dropped": ("DROP TABLE {}", 0),
}


def harm(target: Target, name: str) -> int:
    """Do it to the staging table; how many rows a commit finds there."""
    statement, left = HARM[name]
    [table] = target.staging()
    relation = f"b.{table}" if "postgresql" in target.options["url"] else table
    if name == "one added":
        extra = "st_unit, st_kind, " if "postgresql" not in target.options["url"] else ""
        statement = f"INSERT INTO {{}} ({extra}id, s) SELECT {extra}9, 'x' FROM {{}} WHERE id = 1"
    target.run(statement.replace("{}", relation))
    return left


def refused(target: Target, checkpoint: int, *pieces: Piece, final: bool = False) -> str:
    """The sentence of a commit that is LOST, and has left nothing behind: neither rows nor a word in the ledger."""
    before = target.rows
    with pytest.raises(CannotResumeError) as lost:
        target.commit(checkpoint, *pieces, final=final)
    assert target.rows == before
    close_all()
    with pytest.raises(CannotResumeError):
        target.commit(checkpoint, *pieces, final=final)
    assert target.rows == before
    return f"{lost.value.message} | {lost.value.remedy}"


# ---------------------------------------------------------------- rows that are gone


@pytest.mark.parametrize("name", HARM)
@pytest.mark.parametrize("mode", [JobMode.BATCH, JobMode.STREAMING], ids=["batch", "streaming"])
def test_staged_rows_that_are_gone_are_lost(target: Target, mode: JobMode, name: str) -> None:
    """P4-F1b: it said SUCCESS, in each database, unless the whole table was dropped."""
    target.plan(mode)
    piece = target.stage("u1", *ROWS)
    left = harm(target, name)

    said = refused(target, 1, piece, final=mode is JobMode.BATCH)

    assert "LOST: table" in said and f"4 rows were staged in {said.split(' in ')[1].split(',')[0]}, and {left} " in said
    assert "--fresh" in said and ("no row of this run is visible" in said) == (mode is JobMode.BATCH)
    assert target.rows == [BEFORE]


@pytest.mark.parametrize("upsert", [True, False], ids=["upsert", "insert"])
@pytest.mark.parametrize("kinds", [True, False], ids=["kinds", "inserts"])
@pytest.mark.parametrize("name", ["half deleted", "one added"])
def test_rows_that_are_merged_by_key_are_counted_too(target: Target, name: str, kinds: bool, upsert: bool) -> None:
    """P4-F1b: where the number of rows that the target took says little."""
    if not upsert and (kinds or "postgresql" not in target.options["url"]):
        kinds = False
    target.run("CREATE UNIQUE INDEX by_id ON " + ("b.t" if "postgresql" in target.options["url"] else "t") + " (id)")
    target.plan(primary_keys=["id"], enable_upsert=upsert)
    twice = [("+U", 1, "new"), ("-D", 2, "b")] if kinds else [("+I", 5, "e")]
    piece = target.stage("u1", *ROWS, *twice)
    harm(target, name)

    said = refused(target, 1, piece)

    assert "LOST" in said
    assert target.rows == [BEFORE]


def test_rows_of_one_key_in_one_unit_are_counted_before_they_are_merged(target: Target) -> None:
    """P4-F1b: where one statement cannot take two rows of a key, and the last of each is looked for."""
    target.run("CREATE UNIQUE INDEX by_id ON " + ("b.t" if "postgresql" in target.options["url"] else "t") + " (id)")
    target.plan(primary_keys=["id"])
    piece = target.stage("u1", *ROWS, ("+I", 1, "again"), ("+I", 2, "again"))
    harm(target, "one deleted")
    refused(target, 1, piece)

    target.plan(primary_keys=["id"])
    target.lineage += "b"
    target.commit(1, target.stage("u1", *ROWS, ("+I", 1, "again")))
    assert target.rows == [BEFORE, (1, "again"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_a_record_of_other_rows_than_a_unit_told_is_lost(target: Target, recipe: str) -> None:
    """P4-F1b: what is known of rows that are visible already is what the target's records say."""
    target.plan(recipe=recipe)
    piece = target.stage("u1", *ROWS)
    column = "rows" if "postgresql" in target.options["url"] else "row_count"
    target.run(f"UPDATE seatunnel_piece SET {column} = 3")

    said = refused(target, 1, piece)

    assert "4 rows were staged in 1 units, according to" in said and "and 3 of them were found there" in said


class Shadow:
    """A run that makes `b.new` by the recipe shadow."""

    def __init__(self, pg: PostgresPlace) -> None:
        options = pg.sink(table="b.new", is_exactly_once=True, exactly_once_recipe="shadow")
        self.sink, _ = make_sink(options, KEYED)
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)
        self.into = str(self.setup.data["into"])

    def stage(self, data_id: str, *ids: int) -> Piece:
        writer = self.sink.open(WriteContext("job", "own", "sink", data_id, setup=self.setup.data, vertex="v"))
        data = pa.record_batch([list(ids), [str(one) for one in ids]], schema=ARROW)
        writer.write(Batch(KEYED.path, data))
        writer.ends_at(Reached(len(ids), Position({"after": ids[-1]})))
        return writer.stage()

    def commit(self, *pieces: Piece) -> None:
        self.sink.committer().commit(pieces, CommitContext("job", "own", "sink", 1, setup=self.setup.data))


@pytest.mark.postgres
@pytest.mark.parametrize("name", HARM)
def test_a_shadow_of_postgresql_that_has_lost_rows_does_not_take_the_targets_place(
    pg: PostgresPlace, name: str
) -> None:
    """P4-F1b: in the recipe shadow the rows of all units lie in one table."""
    shadow = Shadow(pg)
    pieces = [shadow.stage("u1", 1, 2), shadow.stage("u2", 3, 4)]
    statement, left = HARM[name]
    pg.db.execute((statement or "INSERT INTO {} VALUES (9, 'x')").format(f'b."{shadow.into}"').encode())

    with pytest.raises(CannotResumeError) as lost:
        shadow.commit(*pieces)

    assert f"4 rows were staged in b.{shadow.into}, and {left} " in lost.value.message
    assert "no row of this run is visible in b.new" in lost.value.remedy
    assert pg.rows("SELECT to_regclass('b.new')") == [(None,)]
    assert pg.rows("SELECT count(*) FROM b.seatunnel_ledger") == [(0,)]


@pytest.mark.postgres
def test_a_row_that_was_added_to_a_shadow_is_named_even_where_it_breaks_the_key(pg: PostgresPlace) -> None:
    shadow = Shadow(pg)
    pieces = [shadow.stage("u1", 1, 2), shadow.stage("u2", 3, 4)]
    pg.db.execute(f"INSERT INTO b.\"{shadow.into}\" VALUES (1, 'x')".encode())

    with pytest.raises(CannotResumeError, match="4 rows were staged in .*, and 5 rows were found there"):
        shadow.commit(*pieces)


@pytest.mark.postgres
def test_a_key_that_is_there_twice_in_a_shadow_is_refused_by_the_key(pg: PostgresPlace) -> None:
    shadow = Shadow(pg)
    pieces = [shadow.stage("u1", 1, 2), shadow.stage("u2", 3, 2)]

    with pytest.raises(BadRowsError, match=r"Key \(id\)=\(2\) is duplicated"):
        shadow.commit(*pieces)


@pytest.mark.postgres
def test_a_deleted_row_that_an_older_snapshot_still_sees_is_lost(pg: PostgresPlace) -> None:
    """Building the key indexes such a row, so that the index alone counts it."""
    shadow = Shadow(pg)
    pieces = [shadow.stage("u1", 1, 2), shadow.stage("u2", 3, 4)]
    with psycopg.connect(pg.url.removeprefix("jdbc:"), user="postgres") as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")
        pg.db.execute(f'DELETE FROM b."{shadow.into}" WHERE id = 3'.encode())

        with pytest.raises(CannotResumeError, match="4 rows were staged in .*, and 3 of them were found there"):
            shadow.commit(*pieces)


@pytest.mark.postgres
@pytest.mark.parametrize("rows", [1, 5000])
def test_building_the_key_of_a_shadow_counts_its_rows(
    pg: PostgresPlace, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read once: the commit of a new table waits for no count of its own."""

    def never(*_: object) -> int:
        raise AssertionError("the rows were counted once more")

    monkeypatch.setattr(staged, "count", never)
    shadow = Shadow(pg)

    shadow.commit(shadow.stage("u1", *range(rows)))

    assert pg.rows("SELECT count(*) FROM b.new") == [(rows,)]


@pytest.mark.mariadb
@pytest.mark.parametrize("name", HARM)
def test_a_shadow_of_mariadb_that_has_lost_rows_does_not_take_the_targets_place(maria: MariadbPlace, name: str) -> None:
    """P4-F1b: the rows that were there before stay."""
    maria.run(
        "CREATE TABLE b.t (id bigint PRIMARY KEY, s varchar(50)) ENGINE=InnoDB", "INSERT INTO b.t VALUES (0, 'x')"
    )
    run = Run(maria)
    pieces = [run.stage("u1", (1, "a"), (2, "b")), run.stage("u2", (3, "c"), (4, "d"))]
    maria.run((HARM[name][0] or "INSERT INTO {} VALUES (9, 'x')").format(f"b.`{run.shadow}`"))

    with pytest.raises(CannotResumeError, match="LOST|they are lost|rows are lost") as lost:
        run.commit(1, *pieces)

    assert "no row of this run is visible in b.t" in lost.value.remedy
    assert maria.rows("SELECT * FROM b.t") == [(0, "x")]
    assert maria.rows("SELECT last_checkpoint FROM b.seatunnel_ledger WHERE last_checkpoint IS NOT NULL") == []


@pytest.mark.postgres
def test_a_trigger_that_leaves_staged_rows_out_is_named(pg: PostgresPlace) -> None:
    """P4-F1b: the rows are staged, so that they are not lost; but the target does not take all of them."""
    pg.db.execute(
        "SET search_path = b; CREATE TABLE b.t (id bigint, s text);"
        "CREATE FUNCTION b.skip() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW; END';"
        "CREATE TRIGGER skip BEFORE INSERT ON b.t FOR EACH ROW EXECUTE FUNCTION b.skip()"
    )
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))
    target.plan()
    piece = target.stage("u1", *ROWS)

    with pytest.raises(FatalError, match="the target took 3 of 4 staged rows: a trigger or a rule") as refused:
        target.commit(1, piece)

    assert not isinstance(refused.value, CannotResumeError)
    target.run("DROP TRIGGER skip ON b.t")
    target.commit(1, piece)
    assert target.rows == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


# ---------------------------------------------------------------- a target that is another table

WHENS = ("before its first commit", "between two commits", "before the last commit")


def relation(target: Target) -> str:
    return "b.t" if "postgresql" in target.options["url"] else "t"


def remake(target: Target) -> None:
    made = target.ask("SELECT sql FROM sqlite_master WHERE name = 't'") if "sqlite" in target.options["url"] else ()
    if "mysql" in target.options["url"]:
        target.run("DROP TABLE t", "CREATE TABLE t (id bigint, s varchar(100)) ENGINE=InnoDB")
        return
    target.run(f"DROP TABLE {relation(target)}")
    target.run(str(made[0][0]) if made else "CREATE TABLE b.t (id bigint, s text)")


def rename(target: Target, old: str, new: str) -> None:
    schema = "b." if "postgresql" in target.options["url"] else ""
    target.run(f"ALTER TABLE {schema}{old} RENAME TO {new}")


@pytest.mark.parametrize("recipe", ["direct", "staged"])
@pytest.mark.parametrize("when", WHENS)
def test_a_target_that_is_made_anew_in_the_run_is_lost(target: Target, recipe: str, when: str) -> None:
    """P4-F6: it said SUCCESS with those rows only that came later."""
    target.plan(recipe=recipe)
    first = when == WHENS[0]
    if not first:
        target.commit(1, target.stage("u1", *ROWS[:2]))
    piece = target.stage("u2", *ROWS[2:])
    remake(target)
    if recipe == "staged" and first:
        target.commit(2, piece)
        assert target.rows == [(3, "c"), (4, "d")], "rows that nobody has seen go into the table that is there"
        return

    said = refused(target, 2, piece, final=when == WHENS[2])

    assert "t was dropped and made anew during the run" in said
    assert "delete them first (" in said and "--fresh" in said


@pytest.mark.postgres
@pytest.mark.parametrize("final", [False, True])
def test_a_target_of_prepared_transactions_that_is_made_anew_is_lost(pg: PostgresPlace, final: bool) -> None:
    """P4-F6: between two commits no transaction keeps it from being dropped."""
    pg.db.execute("SET search_path = b; CREATE TABLE b.t (id bigint, s text)")
    target = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))
    target.plan(recipe="prepared")
    target.commit(1, target.stage("u1", *ROWS[:2]))
    remake(target)

    with pytest.raises(CannotResumeError, match=r"b\.t was dropped and made anew during the run"):
        target.commit(2, target.stage("u2", *ROWS[2:]), final=final)


def test_a_target_that_is_gone_at_the_commit_is_lost(target: Target) -> None:
    """P4-F6: dropped, and nothing in its place."""
    target.plan(recipe="direct")
    piece = target.stage("u1", *ROWS)
    target.run(f"DROP TABLE {relation(target)}")

    with pytest.raises(CannotResumeError, match="t was dropped during the run"):
        target.commit(1, piece, final=True)


@pytest.mark.parametrize("recipe_here", ["direct", "staged"])
def test_a_target_that_is_renamed_and_put_back_goes_on(target: Target, recipe_here: str) -> None:
    """P4-F6: it is the same table. While it has another name its commit says which."""
    target.plan(recipe=recipe_here)
    target.commit(1, target.stage("u1", *ROWS[:2]))
    piece = target.stage("u2", *ROWS[2:])
    rename(target, "t", "aside")
    if recipe_here == "direct":
        with pytest.raises(FatalError, match=r"was renamed during the run: its rows are in (b\.)?aside") as refused:
            target.commit(2, piece)
        assert not isinstance(refused.value, CannotResumeError)
    rename(target, "aside", "t")

    target.commit(2, piece)
    target.commit(3, target.stage("u3", ("+I", 5, "e")), final=True)

    assert target.rows == [BEFORE, *((number, text) for _, number, text in ROWS), (5, "e")]


def test_a_target_that_is_made_anew_before_its_first_row_goes_on(target: Target) -> None:
    """P4-F6: nothing is lost by it."""
    target.plan(recipe="direct")
    remake(target)

    target.commit(1, target.stage("u1", *ROWS[:2]))
    target.commit(2, target.stage("u2", *ROWS[2:]), final=True)

    assert target.rows == [(number, text) for _, number, text in ROWS]


def test_what_older_versions_have_set_up_goes_on(target: Target) -> None:
    """Their records say nothing of the table, and their set-up does not tell by what to know it."""
    target.plan(recipe="direct")
    old = {key: value for key, value in target.setup.data.items() if key != "told_by"}
    object.__setattr__(target.setup, "data", old)
    piece = target.stage("u1", *ROWS)
    target.run("UPDATE seatunnel_piece SET staged = NULL")

    target.commit(1, piece)
    target.commit(2, target.stage("u2", ("+I", 5, "e")), final=True)

    assert (5, "e") in target.rows and (4, "d") in target.rows


def test_a_new_lineage_knows_its_own_table_only(target: Target) -> None:
    """P4-F6: one run after another, the target made anew between them."""
    target.plan(recipe="direct")
    target.commit(1, target.stage("u1", *ROWS), final=True)
    remake(target)
    target.lineage += "b"
    target.plan(recipe="direct")

    target.commit(1, target.stage("u1", *ROWS), final=True)

    assert target.rows == [(number, text) for _, number, text in ROWS]


def test_sqlite_knows_its_table_after_vacuum_and_leaves_no_mark(request: pytest.FixtureRequest) -> None:
    """P4-F6: VACUUM moves all tables, and an index without rows is all that knows the one."""
    target = sqlite_target(request)
    target.plan(recipe="direct")
    marks = "SELECT name FROM sqlite_master WHERE name LIKE 'st_mark%'"
    target.commit(1, target.stage("u1", *ROWS[:2]))
    assert len(target.ask(marks)) == 1
    close_all()
    target.run("VACUUM")

    target.commit(2, target.stage("u2", *ROWS[2:]), final=True)

    assert target.rows == [BEFORE, *((number, text) for _, number, text in ROWS)]
    assert target.ask(marks) == []
    close_all()


@pytest.mark.mariadb
def test_mariadb_tells_a_user_without_the_right_process_by_the_time(maria: MariadbPlace) -> None:
    """P4-F6: the number of a table is not for everybody."""
    maria.run(
        "USE b",
        "CREATE TABLE t (id bigint, s varchar(100)) ENGINE=InnoDB",
        "CREATE OR REPLACE USER plain@'127.0.0.1' IDENTIFIED BY 'secret'",
        "GRANT ALL ON b.* TO plain@'127.0.0.1'",
    )
    made = Target(maria.rows, maria.run, {**maria.sink(table="t"), "user": "plain", "password": "secret"})
    made.plan(recipe="direct")
    assert made.setup.data["told_by"] == "created"
    made.commit(1, made.stage("u1", *ROWS[:2]))
    piece = made.stage("u2", *ROWS[2:])
    time.sleep(1.1)  # the server's clock has seconds
    remake(made)

    said = refused(made, 2, piece, final=True)

    assert "or emptied by TRUNCATE, or rebuilt by ALTER TABLE or OPTIMIZE TABLE: the database does not tell" in said


@pytest.mark.mariadb
def test_mariadb_goes_on_with_a_table_that_was_only_rebuilt_once_people_say_so(maria: MariadbPlace) -> None:
    """P4-F6: InnoDB gives it a new number; the remedy is a statement that works as it stands."""
    maria.run("USE b", "CREATE TABLE t (id bigint, s varchar(100)) ENGINE=InnoDB")
    target = Target(maria.rows, maria.run, maria.sink(table="t"))
    target.plan(recipe="direct")
    target.commit(1, target.stage("u1", *ROWS[:2]))
    piece = target.stage("u2", *ROWS[2:])
    maria.run("OPTIMIZE TABLE t")
    said = refused(target, 2, piece)

    maria.run(said[said.index("UPDATE") : said.index(" and run with")])
    target.commit(2, piece)

    assert target.rows == [(number, text) for _, number, text in ROWS]


@pytest.mark.parametrize("more", [{"primary_keys": ["id"]}, {"enable_upsert": False}], ids=["upsert", "insert"])
@pytest.mark.parametrize("partitioned", [False, True])
def test_a_trigger_that_leaves_a_row_out_fails_the_unit(
    pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch, more: dict[str, object], partitioned: bool
) -> None:
    """Rows that went straight into it were not counted: the table had one less than the receipt."""
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY); INSERT INTO a.t VALUES (1), (2);"
        + (
            "CREATE TABLE b.t (id int PRIMARY KEY) PARTITION BY HASH (id);"
            "CREATE TABLE b.p PARTITION OF b.t FOR VALUES WITH (MODULUS 1, REMAINDER 0);"
            if partitioned
            else "CREATE TABLE b.t (id int PRIMARY KEY);"
        )
        + "CREATE FUNCTION b.f() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW; END';"
        "CREATE TRIGGER f BEFORE INSERT ON "
        + ("b.p" if partitioned else "b.t")
        + " FOR EACH ROW EXECUTE FUNCTION b.f()"
    )
    monkeypatch.setattr("seatunnel_py.work.run.passage_of", lambda unit, chain: None)  # not as PostgreSQL's own bytes

    with pytest.raises(FatalError, match="1 of 2 rows were confirmed by the server"):
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", **more))

    assert pg.rows("SELECT * FROM b.t") == []
