"""Databases behind a connection that swallows everything for a while: the job goes on by itself, exactly (P4-F5)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from e2e.black_holes import RETRIES, SHORT, begin, ended, only_long, through, time_limit
from e2e.conftest import Databases
from e2e.support import python_workers, wait_alive, write_job
from tests.servers.black_hole import BlackHole
from tests.servers.mariadb import MariadbServer

ROWS = 1500 if SHORT else 3000
LOST = "its connection to Jdbc-source-1"
pytestmark = time_limit


def env(stall_seconds: int | None = None) -> str:
    """``stall_seconds``: where the default would come just when a long hole ends."""
    seconds = 3 if SHORT else stall_seconds
    stall = "" if seconds is None else f"unit.stall-seconds = {seconds}"
    return f"""env {{ parallelism = 1, checkpoint.interval = 300, unit.rows = 100, {RETRIES}, {stall}
               source.consistency = per-split, read_limit.rows_per_second = {300 if SHORT else 600} }}"""


def behind(url: str, port: int, hole: BlackHole) -> str:
    parameter = "connectTimeout=2" if "postgresql" in url else "connectTimeout=2000"
    more = ("&" if "?" in url else "?") + parameter if SHORT else ""
    return url.replace(f":{port}/", f":{hole.port}/") + more


# ---------------------------------------------------------------- PostgreSQL


def postgres_job(home: Path, databases: Databases, hole: BlackHole, end: str) -> None:
    with databases.connect(databases.source) as db:
        db.execute("CREATE TABLE orders (id bigint PRIMARY KEY, v text)")
        db.execute(f"INSERT INTO orders SELECT i, 'v' || i FROM generate_series(1, {ROWS}) i")
    with databases.connect(databases.target) as db:
        db.execute("CREATE TABLE orders (id bigint PRIMARY KEY, v text)")
    port = int(databases.server.jdbc_url("x").rpartition(":")[2].partition("/")[0])
    source, sink = databases.server.jdbc_url(databases.source), databases.server.jdbc_url(databases.target)
    source = behind(source, port, hole) if end == "source" else source
    sink = behind(sink, port, hole) if end == "sink" else sink
    write_job(
        home,
        f"""{env()}
        source {{ Jdbc {{ url = "{source}", user = postgres, table_path = "{databases.source}.public.orders",
                          partition_column = id, partition_num = 20 }} }}
        sink {{ Jdbc {{ url = "{sink}", user = postgres, generate_sink_sql = true, is_exactly_once = true,
                        database = {databases.target}, table = "public.orders", primary_keys = [id] }} }}""",
    )


@pytest.mark.parametrize(
    ("end", "here"),
    [("sink", False), pytest.param("source", False, marks=only_long), pytest.param("sink", True, marks=only_long)],
    ids=["sink", "source", "here"],
)
def test_postgresql_falls_silent(tmp_path: Path, databases: Databases, end: str, here: bool) -> None:
    with BlackHole(databases.server.port) as hole:
        postgres_job(tmp_path, databases, hole, end)
        process = begin(tmp_path, here=here)
        healed = through(process, hole, lambda: databases.count("orders"), ROWS)
        run = ended(tmp_path, process, healed, [LOST, "table public.orders", ".public.orders, split"], here=here)
        assert run.code == 0 or not SHORT, run.err

    assert databases.rows(databases.target, "orders") == databases.rows(databases.source, "orders")


@only_long
def test_a_unit_that_hangs_in_native_code_is_lost_with_its_worker(tmp_path: Path, databases: Databases) -> None:
    """P4-F5: a connection of ADBC cannot be cut from another thread. Spark ends the process, and gives another one. A
    hole of 60 s would end just when a unit is given up by default."""
    out = tmp_path / "out"
    with databases.connect(databases.source) as db:
        db.execute("CREATE TABLE orders (id bigint PRIMARY KEY, v text)")
        db.execute(f"INSERT INTO orders SELECT i, 'v' || i FROM generate_series(1, {ROWS}) i")
    with BlackHole(databases.server.port) as hole:
        url = behind(databases.server.jdbc_url(databases.source), databases.server.port, hole)
        write_job(
            tmp_path,
            f"""{env(stall_seconds=30)}
            source {{ Jdbc {{ url = "{url}", user = postgres, partition_column = id, partition_num = 20,
                              table_path = "{databases.source}.public.orders" }} }}
            sink {{ LocalFile {{ path = "{out}", file_format_type = json }} }}""",
        )
        process = begin(tmp_path)
        wait_alive(process, "the first rows", lambda: documents(out))
        before = set(python_workers(process.pid))
        with looking(lambda: frozenset(python_workers(process.pid))) as seen:
            healed = through(process, hole, lambda: len(documents(out)), ROWS)
            run = ended(tmp_path, process, healed, [LOST])

    assert any(workers and before - workers for workers in seen), "the worker that hung is still there"
    assert any(workers - before for workers in seen), "there is no other worker"
    assert run.code == 0 or not SHORT, run.err
    assert "its connection to Jdbc-source-1" in run.err
    assert sorted(documents(out)) == [(number, f"v{number}") for number in range(1, ROWS + 1)]


@contextmanager
def looking(look: Callable[[], frozenset[int]]) -> Iterator[set[frozenset[int]]]:
    """What was seen at any time inside of the block."""
    seen: set[frozenset[int]] = set()
    ends = threading.Event()

    def watch() -> None:
        while not ends.wait(0.2):
            seen.add(look())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ends.set()
        thread.join()


def documents(out: Path) -> list[tuple[int, str]]:
    lines = [line for file in out.glob("*.json") for line in file.read_text().splitlines()]
    return [(row["id"], row["v"]) for row in map(json.loads, lines)]


# ---------------------------------------------------------------- MariaDB


@contextmanager
def mariadb() -> Iterator[tuple[MariadbServer, Any]]:
    with MariadbServer.running(settings={"local_infile": "ON"}) as server:
        db = pymysql.connect(**server.connection(), autocommit=True)
        with db.cursor() as cursor:
            for name in "ab":
                cursor.execute(f"CREATE DATABASE {name}")
                cursor.execute(f"CREATE TABLE {name}.orders (id bigint PRIMARY KEY, v varchar(20))")
            cursor.executemany("INSERT INTO a.orders VALUES (%s, %s)", [(i, f"v{i}") for i in range(ROWS)])
        yield server, db
        db.close()


def rows(db: Any, table: str) -> list[Any]:
    with db.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY id")
        return list(cursor.fetchall())


@pytest.mark.mariadb
@pytest.mark.parametrize("end", [pytest.param("sink", marks=only_long), "source"])
def test_mariadb_falls_silent(tmp_path: Path, end: str) -> None:
    with mariadb() as (server, db), BlackHole(server.port) as hole:
        source, sink = f"jdbc:mysql://127.0.0.1:{server.port}/a", f"jdbc:mysql://127.0.0.1:{server.port}/b"
        source = behind(source, server.port, hole) if end == "source" else source
        sink = behind(sink, server.port, hole) if end == "sink" else sink
        write_job(
            tmp_path,
            f"""{env()}
            source {{ Jdbc {{ url = "{source}", user = root, table_path = "a.orders",
                              partition_column = id, partition_num = 20 }} }}
            sink {{ Jdbc {{ url = "{sink}", user = root, generate_sink_sql = true, is_exactly_once = true,
                            database = b, table = orders, primary_keys = [id] }} }}""",
        )
        process = begin(tmp_path)
        healed = through(process, hole, lambda: len(rows(db, "b.orders")), ROWS)
        run = ended(tmp_path, process, healed, [LOST, "table orders", "table a.orders"])
        assert run.code == 0 or not SHORT, run.err

        assert rows(db, "b.orders") == rows(db, "a.orders")
