"""Somebody changes a table while a job reads it or writes to it (F51): rows are those of one table, or an error says
which table and column it was; other tables arrive all the same, and the job goes on when the cause is gone."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pymysql
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start, wait_alive, write_job
from tests.servers.mariadb import MariadbServer

ROWS = 2_000
MANY = 110_000  # enough for splits by place
SPLITS = 4
UNITS_PER_SPLIT = 2
BEGAN = "worker.unit.began"
LOCK_SECONDS = 10
MADE = "CREATE TABLE big (id bigint PRIMARY KEY, amount bigint NOT NULL, note text)"
FILLED = "INSERT INTO big SELECT n, n * 10, 'old' FROM generate_series(1, {rows}) n ORDER BY {order}"
ANEW = f"DROP TABLE big; {MADE}; " + FILLED.format(rows=MANY, order="n").replace("'old'", "'new'")


class Changed:
    """A job of two tables that stands still between two units of the large one, and what a person does meanwhile."""

    def __init__(self, home: Path, databases: Databases) -> None:
        self.home, self.databases, self.rows = home, databases, ROWS

    def make(self, rows: int = ROWS, order: str = "n") -> None:
        """``order``: how rows lie on the disk. In the order of their key a table is divided by it, else by place."""
        self.rows = rows
        with self.databases.connect(self.databases.source) as connection:
            connection.execute(MADE)
            connection.execute(FILLED.format(rows=rows, order=order).encode())
            connection.execute("CREATE TABLE other (id bigint PRIMARY KEY)")
            connection.execute("INSERT INTO other SELECT generate_series(1, 10)")
            connection.execute("ANALYZE")

    def write(self, source: str = "", sink: str = "", *, whole: bool = False) -> None:
        """``whole``: one unit reads the table, in its native form where that is possible."""
        part = self.rows // SPLITS
        unit, split = ("", "") if whole else (f"unit.rows = {part // UNITS_PER_SPLIT},", f"split.size = {part}")
        there = self.databases.source
        source = (
            source
            or f"""{self.databases.jdbc(there)}, table_list = [
            {{ table_path = "{there}.public.big" }}, {{ table_path = "{there}.public.other" }} ]"""
        )
        write_job(
            self.home,
            f"""
            env {{ parallelism = 1, {unit} job.retry.times = 1, job.retry.interval.seconds = 0.2 }}
            source {{ Jdbc {{ {source}, {split} }} }}
            sink {{ Jdbc {{ {self.databases.jdbc(self.databases.target)}, generate_sink_sql = true,
                database = {self.databases.target}, table = "public.${{table_name}}", {sink} }} }}""",
        )

    def run(self, change: Callable[[], object], *, at: str = BEGAN, hit: int = 3) -> Finished:
        """Of the large table's units one at least is done (the other table has one), and others have not begun."""
        points = self.home / "points"
        points.mkdir()
        env = {"SEATUNNEL_FAILPOINT": f"{at}:pause@{hit}", "SEATUNNEL_FAILPOINT_DIR": str(points)}
        process = start(self.home, "run", "job.conf", "--job-id", "j", "--json", program=IN_PROCESS, env=env)
        wait_alive(process, at, (points / f"{at}.acted").exists)
        try:
            change()
        finally:
            (points / f"{at}.go").touch()
        return finish(process)

    def again(self, *more: str) -> Finished:
        return finish(start(self.home, "run", "job.conf", "--job-id", "j", "--json", *more, program=IN_PROCESS))

    def ddl(self, database: str, *statements: str) -> None:
        with psycopg.connect(self.databases.server.dsn_of(database), autocommit=True) as connection:
            connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'".encode())
            for statement in "; ".join(statements).split("; "):
                connection.execute(statement.encode())

    def check(self, wanted: list[tuple[object, ...]]) -> None:
        assert self.databases.rows(self.databases.target, "big") == wanted

    def refused(self, run: Finished, *words: str) -> None:
        """Only the large table failed; its cause says all of this, and what helps."""
        assert run.code == 3, run.out + run.err
        [cause] = [table["cause"] for table in run.receipt["tables"] if table["cause"]]
        assert all(word in cause["message"] for word in words), cause
        assert "again" in cause["remedy"] and "Failed to" not in cause["message"], cause
        assert self.databases.count("other") == 10


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Changed:
    return Changed(tmp_path, databases)


@pytest.mark.parametrize(
    ("order", "change"),
    [
        ("n", "ALTER TABLE big ALTER amount TYPE double precision"),
        ("md5(n::text)", ANEW),
    ],
    ids=["retyped", "made anew"],
)
def test_a_snapshot_is_not_believed_of_a_table_that_was_rewritten(job: Changed, order: str, change: str) -> None:
    """PostgreSQL shows such a table empty to whoever reads under an older snapshot: half of it would be missing. And
    the change does not wait for the job, nor the job for the change."""
    job.make(MANY, order)
    job.write()

    run = job.run(lambda: job.ddl(job.databases.source, change))

    assert run.code == 0, run.out + run.err
    assert "begin anew" in (job.home / ".seatunnel/jobs/j/events.jsonl").read_text()
    with job.databases.connect(job.databases.source) as connection:
        rows = connection.execute("SELECT id, amount::bigint, note FROM big ORDER BY 1").fetchall()
    assert len(rows) == MANY
    job.check(rows)


def test_what_is_not_there_any_more_is_named_and_gone_on_with(job: Changed) -> None:
    job.make()
    job.write()

    run = job.run(lambda: job.ddl(job.databases.source, "ALTER TABLE big RENAME amount TO price"))

    job.refused(run, f"{job.databases.source}.public.big", 'column "amount" does not exist')
    job.ddl(job.databases.source, "ALTER TABLE big RENAME price TO amount")
    ended = job.again("--restore", "latest")
    assert ended.code == 0, ended.out + ended.err
    job.check([(n, n * 10, "old") for n in range(1, ROWS + 1)])


def test_bytes_of_another_type_are_not_passed_on(job: Changed) -> None:
    """Rows go from COPY to COPY without a look; a bigint and a double have as many bytes."""
    job.make()
    job.write(whole=True)
    change = "ALTER TABLE big ALTER amount TYPE double precision"

    run = job.run(lambda: job.ddl(job.databases.source, change), at="driver.takeover.claimed", hit=1)

    assert run.code == 0, run.out + run.err
    job.check([(n, n * 10, "old") for n in range(1, ROWS + 1)])


def test_a_target_that_is_changed_is_named_before_rows_become_rubbish(job: Changed) -> None:
    job.make()
    target = job.databases.target
    job.ddl(target, MADE)
    job.write(sink="is_exactly_once = true, exactly_once_recipe = direct")

    run = job.run(lambda: job.ddl(target, "ALTER TABLE big ALTER amount TYPE double precision"))

    job.refused(run, "public.big", "column amount is double precision by now and was bigint")


@pytest.mark.parametrize(
    ("where", "change", "words"),
    [
        ("source", "ALTER TABLE big DROP COLUMN note", ["public.big was set up for a column 'note'"]),
        ("target", "DROP TABLE seatunnel_ledger", ["public.seatunnel_ledger is gone", "public.big"]),
        ("target", "ALTER TABLE big DROP CONSTRAINT big_pkey", ["public.big", "ON CONFLICT"]),
    ],
    ids=["column", "ledger", "key"],
)
def test_what_is_missing_between_two_runs_is_named_with_the_way_on(
    job: Changed, where: str, change: str, words: list[str]
) -> None:
    """What a run set up is not set up again by the one that goes on with it."""
    job.make()
    job.ddl(job.databases.target, MADE)
    job.write(sink="is_exactly_once = true, exactly_once_recipe = staged")
    text = (job.home / "job.conf").read_text()
    (job.home / "job.conf").write_text(text.replace("env {", "env { source.consistency = per-split,"))
    process = start(
        job.home, "run", "job.conf", "--job-id", "j", program=IN_PROCESS,
        env={"SEATUNNEL_FAILPOINT": f"{BEGAN}:kill@3", "SEATUNNEL_FAILPOINT_DIR": str(job.home)},
    )  # fmt: skip
    assert finish(process).code < 0
    job.ddl(getattr(job.databases, where), change)

    run = job.again("--restore", "latest", "--accept-changes")

    assert run.code in (1, 3), run.out + run.err
    [cause] = [table["cause"] for table in run.receipt["tables"] if table["table"].endswith(".big")]
    assert all(word in cause["message"] for word in words), cause
    assert re.search("give|restore", cause["remedy"]), "what is missing can be given back, and the job goes on"
    assert job.databases.count("big") == 0


@pytest.mark.parametrize(
    ("recipe", "more", "words"),
    [("staged", "", "in another order"), ("direct", "ADD extra bigint DEFAULT 7, ", "extra bigint")],
    ids=["order", "more"],
)
@pytest.mark.parametrize("target", ["sqlite", "mariadb"])
def test_columns_in_another_order_go_where_they_went(
    job: Changed, request: pytest.FixtureRequest, target: str, recipe: str, more: str, words: str
) -> None:
    """The target is not set up again: its columns get the values of the same names, and those that are new nothing."""
    job.make()
    there, url = job.databases.source, f"jdbc:sqlite:{job.home / 't.db'}"
    if target == "mariadb":
        url = request.getfixturevalue("mariadb").jdbc_url("test")
    write_job(
        job.home,
        f"""
        env {{ source.consistency = per-split, unit.rows = 250 }}
        source {{ Jdbc {{ {job.databases.jdbc(there)}, table_path = "{there}.public.big", split.size = 500 }} }}
        sink {{ Jdbc {{ url = "{url}", username = root, generate_sink_sql = true, database = test, table = "{there}",
                        is_exactly_once = true, exactly_once_recipe = {recipe} }} }}""",
    )
    points = {"SEATUNNEL_FAILPOINT": f"{BEGAN}:kill@3", "SEATUNNEL_FAILPOINT_DIR": str(job.home)}
    killed = start(job.home, "run", "job.conf", "--job-id", "j", program=IN_PROCESS, env=points)
    assert finish(killed).code < 0
    job.ddl(there, f"ALTER TABLE big DROP amount, {more}ADD amount bigint")
    job.ddl(there, "UPDATE big SET amount = id * 10")

    told = job.again("--restore", "latest")
    assert told.code == 1 and words in told.out
    ended = job.again("--restore", "latest", "--accept-changes")

    assert ended.code == 0, ended.out + ended.err
    wanted = [(n, n * 10, "old") for n in range(1, ROWS + 1)]
    if target == "sqlite":
        with contextlib.closing(sqlite3.connect(job.home / "t.db")) as connection:
            assert connection.execute(f"SELECT id, amount, note FROM {there} ORDER BY id").fetchall() == wanted
        return
    with contextlib.closing(pymysql.connect(**request.getfixturevalue("mariadb").connection())) as connection:
        cursor = connection.cursor()
        cursor.execute(f"SELECT id, amount, note FROM {there} ORDER BY id")
        assert list(cursor.fetchall()) == wanted


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ALTER TABLE big MODIFY amount bigint; UPDATE big SET amount = 5000000000", ["'amount'", "not in range"]),
        ("ALTER TABLE big CHANGE amount price int", ["Unknown column 'amount'"]),
    ],
    ids=["widened", "renamed"],
)
def test_mariadb(job: Changed, mariadb: MariadbServer, change: str, words: list[str]) -> None:
    """Each query is a view of its own; what it finds is brought to what was planned, or refused."""
    with pymysql.connect(**mariadb.connection(), autocommit=True) as connection, connection.cursor() as cursor:

        def ask(statements: str) -> None:
            for statement in statements.split("; "):
                cursor.execute(statement)

        ask("DROP TABLE IF EXISTS big; DROP TABLE IF EXISTS other; CREATE TABLE other (id bigint PRIMARY KEY)")
        ask("CREATE TABLE big (id bigint PRIMARY KEY, amount int NOT NULL, note varchar(9))")
        ask(f"INSERT INTO big SELECT seq, seq * 10, 'old' FROM seq_1_to_{ROWS}")
        ask("INSERT INTO other SELECT seq FROM seq_1_to_10; ANALYZE TABLE big")
        job.write(f"""url = "{mariadb.jdbc_url()}", user = root,
            table_list = [ {{ table_path = "test.big" }}, {{ table_path = "test.other" }} ]""")

        run = job.run(lambda: ask(change))

    job.refused(run, "test.big", *words)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariadbServer]:
    with MariadbServer.running() as server:
        yield server
