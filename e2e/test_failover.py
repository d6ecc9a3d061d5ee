"""One source, three sinks of three promises: only what failed begins again, and the event log shows it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.conftest import Databases
from e2e.outage import refusing
from e2e.support import Process, events, finish, kill9, python_workers, start, wait_for, write_job
from tests.servers.postgres import PostgresServer

ROWS, SPLITS = 6_000, 60
DOWN_SECONDS, SECONDS_MAX = 10.0, 150.0
DIED = "the worker process died"


class Job:
    """FakeSource into a query (at-least-once), a keyed table (idempotent) and a table made anew (two-phase)."""

    def __init__(self, home: Path, databases: Databases, own: PostgresServer, retain: str) -> None:
        self.home, self.databases, self.own = home, databases, own
        with databases.connect(databases.target) as connection:
            connection.execute("CREATE TABLE least (id bigint NOT NULL, name text)")
            connection.execute("CREATE TABLE keyed (id bigint PRIMARY KEY, name text)")
        there = databases.jdbc(databases.target)
        once = f'url = "{own.jdbc_url("once")}", driver = "org.postgresql.Driver", user = "postgres"'
        write_job(
            home,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = 500, channel.retain = {retain}, channel.capacity = 1000 }}
            source {{ FakeSource {{ plugin_output = rows, row.num = {ROWS}, split.num = {SPLITS}, split.read-interval = 150,
                        schema {{ table = "shop.events", fields {{ id = bigint, name = string }},
                                  primaryKey {{ name = pk, columnNames = [id] }} }},
                        bigint.fake.mode = range, auto.increment.enabled = true }} }}
            sink {{
              Jdbc {{ id = least, plugin_input = rows, {there}, query = "INSERT INTO least (id, name) VALUES (?, ?)" }}
              Jdbc {{ id = keyed, plugin_input = rows, {there}, generate_sink_sql = true, table = "public.keyed",
                      database = {databases.target}, primary_keys = [id] }}
              Jdbc {{ id = once, plugin_input = rows, {once}, generate_sink_sql = true, table = "public.once",
                      database = once, is_exactly_once = true }}
            }}
            """,
        )
        self.process: Process | None = None

    def __enter__(self) -> Process:
        """Start it, and wait until all sinks have got rows."""
        self.process = process = start(self.home, "run", "job.conf", "--job-id", "job", "--json")
        wait_for("rows", lambda: process.poll() is not None or self.rows("once"), SECONDS_MAX)
        assert process.poll() is None, process.communicate()
        return process

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def events(self, name: str) -> list[dict[str, Any]]:
        return events(self.home, name)

    @contextmanager
    def outage(self) -> Iterator[None]:
        """The sink's sessions are killed, then its database refuses for a while."""
        with refusing(self.own):
            ends = time.monotonic() + DOWN_SECONDS
            yield
            time.sleep(max(0.0, ends - time.monotonic()))  # what is tested is an outage of so long

    def check(self) -> None:
        """Every row is where it was promised: once, by key, or at least once; none of other content."""
        process = self.process
        assert process is not None
        wait_for("all rows", lambda: process.poll() is not None or self.rows("once") >= ROWS, SECONDS_MAX)
        process.send_signal(signal.SIGTERM)
        run = finish(process)
        assert run.code == 143, run.err + run.out
        with self.databases.connect(self.databases.target) as connection:
            keyed = connection.execute("SELECT id, name FROM keyed ORDER BY id").fetchall()
            least = connection.execute("SELECT id, name FROM least ORDER BY id").fetchall()
        with psycopg.connect(self.own.dsn_of("once")) as connection:
            once = connection.execute("SELECT id, name FROM once ORDER BY id").fetchall()
        assert [row[0] for row in keyed] == list(range(1, ROWS + 1))
        assert once == keyed and set(least) == set(keyed)

    def rows(self, table: str) -> int:
        dsn = self.own.dsn_of("once") if table == "once" else self.databases.server.dsn_of(self.databases.target)
        with psycopg.connect(dsn) as connection:
            if connection.execute("SELECT to_regclass(%s)", [table]).fetchone() == (None,):
                return 0
            found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            return int(found[0]) if found else 0

    def restarted(self) -> set[str]:
        """The steps that began a life after a failure."""
        vertices = {vertex for event in self.events("region_restarted") for vertex in event["epochs"]}
        return {step for step in ("rows", "least", "keyed", "once") for vertex in vertices if vertex.startswith(step)}

    def lost(self) -> list[str]:
        """Units that were tried again because their worker died (not: because the region restarted that shared its pack)."""
        retried = [(event["unit"], event["cause"]) for event in self.events("unit_retried")]
        return [unit for unit, cause in retried if cause["kind"] == "lost" and DIED in cause["message"]]

    def kill_workers(self) -> None:
        """Kill workers until one of them had a unit."""
        process = self.process
        assert process is not None

        def hit() -> bool:
            for worker in python_workers(process.pid):
                kill9(worker)
            time.sleep(0.5)  # a dead worker is missed, and told, within that; if not, the next one is
            return process.poll() is not None or bool(self.lost())

        wait_for("a unit whose worker is lost", hit, SECONDS_MAX)


@pytest.mark.parametrize(("retain", "region"), [("never", {"rows", "once"}), ("always", {"once"})])
def test_an_outage_restarts_the_region_of_the_sink_that_it_hits(
    tmp_path: Path, databases: Databases, own: PostgresServer, retain: str, region: set[str]
) -> None:
    """F1: the sink's sessions are killed and its server refuses for longer than one life tries: that sink restarts, and its
    source where nothing was retained; the others keep their epoch and go on meanwhile. With retained channels workers
    die beside it."""
    job = Job(tmp_path, databases, own, retain)
    with job as process:
        before = job.rows("keyed")
        with job.outage():
            if retain == "always":
                job.kill_workers()
            wait_for("its restart", lambda: process.poll() is not None or job.events("region_restarted"), SECONDS_MAX)
            wait_for("rows of a sibling", lambda: process.poll() is not None or job.rows("keyed") > before, SECONDS_MAX)
        job.check()

    assert job.restarted() == region
    assert bool(job.lost()) == (retain == "always")
    (cause,) = {text for event in job.events("region_restarted") for text in event["causes"]}
    assert cause.startswith("once")


def test_a_killed_worker_is_another_attempt_and_no_restart(
    tmp_path: Path, databases: Databases, own: PostgresServer
) -> None:
    """F10: nobody begins a new life."""
    job = Job(tmp_path, databases, own, "auto")
    with job:
        job.kill_workers()
        job.check()

    assert job.lost() and not job.events("region_restarted")
