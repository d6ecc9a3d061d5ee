"""Tables of MariaDB are copied, and followed to the same rows, whatever dies on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pymysql
import pytest

from e2e.cdc.following_job import SECONDS, FollowingJob
from e2e.cdc.mariadb_workload import OTHER_WAS_FIRST, MariadbWorkload
from e2e.support import finish, kill_driver, seatunnel, wait_alive, wait_for, write_job
from tests.servers.mariadb import ROW_LOG, MariadbServer
from tests.servers.postgres import PostgresServer

TABLES = ("orders", "customers", "items")
COLUMNS = "(id INT PRIMARY KEY, source VARCHAR(20), seq INT, note TEXT)"
SETTINGS = ROW_LOG
_numbers = count(1)


def _is_done(cursor: pymysql.cursors.Cursor, statement: str) -> bool:
    """Run a statement; False if the server has rolled it back, for a writer beside the test was first."""
    try:
        cursor.execute(statement)
    except pymysql.err.OperationalError as error:
        if error.args[0] not in OTHER_WAS_FIRST:
            raise
        return False
    return True


@pytest.fixture(scope="module")
def logged() -> Iterator[MariadbServer]:
    with MariadbServer.running(settings=SETTINGS) as server:
        yield server


class FollowedLog(FollowingJob):
    """Three tables of a database of MariaDB, which a job copies to PostgreSQL and follows."""

    def __init__(self, home: Path, server: MariadbServer, target: PostgresServer) -> None:
        super().__init__(home)
        self.server, self.target = server, target
        number = next(_numbers)
        self.source, self.into = f"from{number}", f"logs{number}"
        with psycopg.connect(target.dsn, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {self.into}".encode())
        self.run_there(f"CREATE DATABASE {self.source}", database="test")
        for table in TABLES:
            self.run_there(
                f"CREATE TABLE {table} {COLUMNS}",
                f"INSERT INTO {table} SELECT seq, 'first', seq, 'old' FROM seq_1_to_1000",
            )

    @property
    def url(self) -> str:
        """The source's address in the job file."""
        return self.server.jdbc_url(self.source)

    def connection(self) -> dict[str, Any]:
        return self.server.connection(self.source)

    def run_there(self, *statements: str, database: str = "") -> list[tuple[Any, ...]]:
        """Run statements at the source, each in a transaction of its own; return the rows of the last one."""
        with (
            pymysql.connect(**self.server.connection(database or self.source), autocommit=True) as db,
            db.cursor() as cursor,
        ):
            for statement in statements:
                while not _is_done(cursor, statement):
                    pass
            return list(cursor.fetchall())

    def rows_here(self, table: str) -> list[tuple[Any, ...]] | None:
        """The target's rows; None without the table."""
        with psycopg.connect(self.target.dsn_of(self.into), autocommit=True) as db:
            if db.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
                return None
            return db.execute(f"SELECT id, source, seq, note FROM {table} ORDER BY 1".encode()).fetchall()

    def write(
        self, source: str = "", sink: str = "", plugin: str = "MariaDB-CDC", tables: Sequence[str] = TABLES
    ) -> None:
        names = ", ".join(f'"{self.source}.{table}"' for table in tables)
        write_job(
            self.home,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
            source {{ {plugin} {{ base-url = "{self.url}", username = root,
                                  table-names = [{names}] {source} }} }}
            sink {{ Jdbc {{ url = "{self.target.jdbc_url(self.into)}", user = postgres, generate_sink_sql = true,
                            database = {self.into}, table = "public.${{table_name}}" {sink} }} }}""",
        )

    def equal(self, table: str) -> bool:
        """Whether the target has exactly the rows of the source."""
        return self.rows_here(table) == self.run_there(f"SELECT id, source, seq, note FROM {table} ORDER BY 1")

    def wait_equal(self, tables: Sequence[str] = TABLES) -> None:
        assert self.process is not None
        for table in tables:
            wait_alive(self.process, f"{table} to be equal", lambda table=table: self.equal(table), SECONDS)

    def reads_as(self, server_id: int) -> bool:
        """Whether a reader of the log has this id."""
        return server_id in {int(row[0]) for row in self.run_there("SHOW SLAVE HOSTS")}


@pytest.fixture
def followed(tmp_path: Path, logged: MariadbServer, postgres: PostgresServer) -> Iterator[FollowedLog]:
    found = FollowedLog(tmp_path, logged, postgres)
    yield found
    found.end()


def test_tables_are_copied_and_followed_while_they_change(followed: FollowedLog) -> None:
    """F-C30: the writers begin new files of the log all the time."""
    followed.write()
    with MariadbWorkload(followed.connection(), TABLES, 1), MariadbWorkload(followed.connection(), TABLES, 2):
        process = followed.run()
        wait_alive(process, "rows", lambda: followed.rows_here("items"), SECONDS)
        time.sleep(2)
    followed.wait_equal()
    assert seatunnel(followed.home, "jobs", "cancel", "job").code == 0
    finish(process)


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_driver_is_killed_again_and_again(followed: FollowedLog, sink: str, seed: int) -> None:
    """F-C18, F-C39: in the copy, between copy and log, and while the log is followed."""
    followed.write(", snapshot.split.size = 100", sink)
    random = Random(seed)
    with (
        MariadbWorkload(followed.connection(), TABLES, seed),
        MariadbWorkload(followed.connection(), TABLES, seed + 100),
    ):
        for number in range(6):
            process = followed.run(*(["--restore", "latest"] if number else []))
            time.sleep(random.choice((0.7, 1.0, 1.5, 2.5, 4.0)))
            assert process.poll() is None, (followed.home / "errors").read_text()
            kill_driver(process)
    followed.run("--restore", "latest")
    followed.wait_equal()


def test_the_target_may_be_on_the_same_server(followed: FollowedLog) -> None:
    """Its rows come through the same log, as those of other tables."""
    into = f"{followed.source}_copy"
    followed.run_there(f"CREATE DATABASE {into}")
    followed.write(", snapshot.split.size = 100")
    job = (followed.home / "job.conf").read_text()
    target = f'Jdbc {{ url = "{followed.server.jdbc_url(into)}", user = root, generate_sink_sql = true,'
    head, _ = job.split("sink {")
    write_job(followed.home, f'{head} sink {{ {target} database = {into}, table = "${{table_name}}" }} }}')

    def equal(table: str) -> bool:
        columns = "SELECT id, source, seq, note FROM"
        there = followed.run_there(f"SHOW TABLES FROM {into} LIKE '{table}'")
        return bool(there) and followed.run_there(f"{columns} {into}.{table} ORDER BY 1") == followed.run_there(
            f"{columns} {table} ORDER BY 1"
        )

    with MariadbWorkload(followed.connection(), TABLES, 1), MariadbWorkload(followed.connection(), TABLES, 2):
        for number in range(3):
            process = followed.run(*(["--restore", "latest"] if number else []))
            time.sleep(2)
            kill_driver(process)
    process = followed.run("--restore", "latest")
    for table in TABLES:
        wait_alive(process, f"{table} to be equal", lambda table=table: equal(table), SECONDS)


def test_the_log_is_followed_from_now_on(followed: FollowedLog) -> None:
    """Only rows that change after the start arrive; MySQL-CDC reads MariaDB as well."""
    followed.write(", startup.mode = latest, server-id = 5400-5408", plugin="MySQL-CDC")
    process = followed.run()
    wait_alive(process, "the log", lambda: followed.reads_as(5400), SECONDS)
    followed.run_there(
        "INSERT INTO items VALUES (5000, 'x', 1, 'new')", "UPDATE items SET seq = -1 WHERE id = 7",
        "UPDATE items SET id = 6000 WHERE id = 8",
    )  # fmt: skip

    rows = [(7, "first", -1, "old"), (5000, "x", 1, "new"), (6000, "first", 8, "old")]
    wait_alive(process, "three rows", lambda: followed.rows_here("items") == rows, SECONDS)


@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE items ADD COLUMN more INT", "TRUNCATE TABLE items", "DROP TABLE items"],
    ids=["alter", "truncate", "drop"],
)
def test_a_changed_table_is_isolated_with_the_statement(followed: FollowedLog, statement: str) -> None:
    """The others are followed, also by the next driver, if the job file still names tables that exist."""
    followed.write()
    process = followed.run()
    followed.wait_equal()
    followed.run_there("UPDATE items SET seq = -5 WHERE id = 5", statement)
    errors = followed.home / "errors"
    wait_for("the table to be isolated", lambda: "ISOLATED" in errors.read_text(), SECONDS)
    assert statement.split(" ", 2)[2].split()[0] in errors.read_text()
    for value in (-7, -8):
        followed.run_there(f"UPDATE orders SET seq = {value} WHERE id = 7")
        wait_alive(
            process, "orders", lambda value=value: (7, "first", value, "old") in followed.rows_here("orders"), SECONDS
        )
        if statement.startswith("DROP"):
            return
        followed.end()
        process = followed.run("--restore", "latest")


FOLLOWED = (
    "ALTER TABLE orders ADD COLUMN price DECIMAL(10, 2)",
    "ALTER TABLE orders ADD COLUMN state VARCHAR(10) NOT NULL DEFAULT 'it''s'",
    "ALTER TABLE orders CHANGE note remark TEXT",
    "ALTER TABLE orders MODIFY seq BIGINT",
    "ALTER TABLE orders ADD COLUMN amount INT NOT NULL, ADD COLUMN day DATE DEFAULT '2026-02-03'",
    "ALTER TABLE orders DROP COLUMN source",
    "ALTER TABLE orders ADD INDEX later (day)",
    "TRUNCATE TABLE orders",
    "ALTER TABLE orders ADD COLUMN source INT FIRST",
)


@pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])
def test_changes_of_columns_are_followed(followed: FollowedLog, sink: str) -> None:
    """While rows change, and the driver is killed in between."""

    def columns() -> list[str]:
        names = followed.run_there(
            "SELECT column_name FROM information_schema.columns "
            f"WHERE table_schema = '{followed.source}' AND table_name = 'orders' ORDER BY column_name"
        )
        return [str(name) for (name,) in names]

    def columns_here() -> list[str]:
        with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
            query = (
                "SELECT attname::text FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0 "
                "AND NOT attisdropped ORDER BY attname"
            )
            return [row[0] for row in db.execute(query)]

    def equal() -> bool:
        names = ", ".join(columns())
        with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
            here = db.execute(f"SELECT {names} FROM orders ORDER BY id".encode()).fetchall()
        return here == list(followed.run_there(f"SELECT {names} FROM orders ORDER BY id"))

    followed.write(", schema-changes.enabled = true", sink)
    process = followed.run()
    followed.wait_equal()
    for number, statement in enumerate(FOLLOWED):
        followed.run_there(
            f"INSERT IGNORE INTO orders (id, seq) VALUES ({9000 + number}, 1)", statement,
            f"UPDATE orders SET seq = {number} WHERE id = {number + 1}", "DELETE FROM orders WHERE id = 500",
            f"INSERT IGNORE INTO orders (id, seq) VALUES ({9100 + number}, 1)",
        )  # fmt: skip
        if number % 3 == 1:
            followed.end()
            process = followed.run("--restore", "latest")
        wait_alive(process, statement, lambda: columns_here() == columns(), SECONDS)
    wait_alive(process, "orders to be equal", equal, SECONDS)


def test_a_purged_log_stops_the_job_with_both_places(followed: FollowedLog) -> None:
    followed.write()
    followed.run()
    followed.wait_equal()
    followed.end()
    followed.run_there("FLUSH LOGS", "DELETE FROM items WHERE id = 1", "FLUSH LOGS")
    newest = followed.run_there("SHOW BINARY LOGS")[-1][0]

    def purged() -> bool:
        """The server keeps a file as long as it sends it to a reader, which it does not know to be dead."""
        followed.run_there(f"PURGE BINARY LOGS TO '{newest}'")
        return followed.run_there("SHOW BINARY LOGS")[0][0] == newest

    wait_for("the log to be purged", purged)

    followed.run("--restore", "latest")

    said = followed.wait_failed()
    assert "was purged" in said and f"{newest}:4" in said and "startup.mode = latest" in said


POLICIES = """, schema-changes.enabled = true, schema-changes.tables = [
    { table-pattern = ".*\\\\.orders", behavior = ignore },
    { table-pattern = ".*\\\\.items", behavior = exception }]"""


def test_each_table_has_its_policy(followed: FollowedLog) -> None:
    """One is isolated, one keeps its columns, one is altered."""
    followed.write(POLICIES)
    process = followed.run()
    followed.wait_equal()
    for table in TABLES:
        followed.run_there(
            f"ALTER TABLE {table} ADD COLUMN more INT DEFAULT 5", f"UPDATE {table} SET seq = -1, more = 6 WHERE id = 1"
        )

    def columns(table: str) -> list[str]:
        with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
            query = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"
            return [str(row[0]) for row in db.execute(query, [table])]

    def first(table: str) -> int:
        rows = followed.rows_here(table)
        assert rows is not None
        return int(rows[0][2])

    wait_alive(process, "orders", lambda: first("orders") == -1, SECONDS)
    wait_alive(process, "customers", lambda: first("customers") == -1, SECONDS)
    errors = followed.home / "errors"
    wait_for("the table to be isolated", lambda: "items: ISOLATED" in errors.read_text(), SECONDS)
    assert (columns("customers")[-1], "more" in columns("orders"), first("items")) == ("more", False, 1)
    assert "orders: ISOLATED" not in errors.read_text()


CREATE_ITEMS = f"CREATE TABLE items {COLUMNS}"
EVENTS = {
    "dropped": (["DROP TABLE items"], "was dropped at the source: DROP TABLE `items`"),
    "renamed": (["RENAME TABLE items TO items_old"], "items_old at the source: RENAME TABLE items TO items_old"),
    "created again": (
        ["DROP TABLE items", CREATE_ITEMS, "INSERT INTO items VALUES (1, 'other table', 1, 'x')"],
        "was dropped at the source: DROP TABLE `items`",
    ),
    "swapped": (
        ["RENAME TABLE items TO items_old", CREATE_ITEMS, "INSERT INTO items VALUES (1, 'other table', 1, 'x')"],
        "items_old at the source: RENAME TABLE items TO items_old",
    ),
}


@pytest.mark.parametrize("source", ["", ", schema-changes.enabled = true"], ids=["not followed", "followed"])
@pytest.mark.parametrize("event", EVENTS)
def test_only_a_table_that_is_gone_stops(followed: FollowedLog, event: str, source: str) -> None:
    """F-C50, F-C56: the others are followed on, also by the next driver. Rows of another table with the same name never
    reach the target."""
    statements, fact = EVENTS[event]
    followed.write(source)
    process = followed.run()
    followed.wait_equal()
    followed.run_there("UPDATE items SET seq = -5 WHERE id < 500", "INSERT INTO items VALUES (5000, 'last', 1, 'x')")
    wanted = followed.run_there("SELECT id, source, seq, note FROM items ORDER BY 1")
    followed.run_there(*statements)
    errors = followed.home / "errors"
    wait_alive(process, "the table to be isolated", lambda: "items: ISOLATED" in errors.read_text(), SECONDS)
    assert fact in errors.read_text()
    followed.wait_equal(("orders", "customers"))
    wait_alive(process, "the rows before it", lambda: followed.rows_here("items") == wanted, SECONDS)
    followed.end()
    followed.run_there("UPDATE orders SET seq = -7 WHERE id < 50")
    if "INSERT" in statements[-1]:
        followed.run("--restore", "latest")
    else:
        refused = finish(followed.run("--restore", "latest"), SECONDS)
        assert refused.code == 2
        assert f"table {followed.source}.items (table-names[" in errors.read_text()
        assert "--accept-changes" in errors.read_text()
        followed.write(source, tables=("orders", "customers"))
        followed.run("--restore", "latest", "--accept-changes")
    followed.wait_equal(("orders", "customers"))
    followed.run_there("UPDATE customers SET seq = -8 WHERE id < 50")
    followed.wait_equal(("orders", "customers"))
    assert followed.rows_here("items") == wanted
