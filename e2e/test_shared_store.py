"""Checkpoints in a database: a driver that is killed on one machine is gone on with on another, and a database that is
away for a while is waited for."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

from e2e.black_holes import BEHIND_SECONDS_MAX, HOLE_SECONDS, SHORT, only_long, say, through, time_limit
from e2e.conftest import Databases
from e2e.support import IN_PROCESS, SEATUNNEL, Process, finish, kill_driver, seatunnel, start, wait_alive, write_job
from seatunnel_plugins.storages.database import ANSWER_SECONDS
from tests.servers.black_hole import BlackHole
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

ROWS = 600_000
LIMIT = "read_limit.rows_per_second = 20000,"
EVENTS, AWAY_SECONDS = 4_000, 5.0


class Machines:
    """Two homes that share a server and a directory, and nothing else."""

    def __init__(self, tmp_path: Path, databases: Databases) -> None:
        self.databases = databases
        self.shared = tmp_path / "shared"
        self.homes = [tmp_path / "one", tmp_path / "two"]
        url = databases.server.jdbc_url(databases.target).removeprefix("jdbc:")
        self.store = url.replace("://", "://postgres:not-asked-for@")
        with databases.connect(databases.source) as connection:
            connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, seq int NOT NULL)")
            connection.execute(f"INSERT INTO big SELECT i, i FROM generate_series(1, {ROWS}) i")
        for home in self.homes:
            home.mkdir()
            write_job(home, self.job)

    @property
    def job(self) -> str:
        """One source and two sinks: records, journal and exchanged rows are all needed to go on."""
        return f"""
        env {{ checkpoint.interval = 200, unit.rows = 1000, guarantee = exactly-once,
               checkpoint.location = "{self.store}", exchange.location = "file://{self.shared}/exchange" }}
        source {{ Jdbc {{ {self.databases.jdbc(self.databases.source)}, partition_num = 1, plugin_output = read,
                          table_path = "{self.databases.source}.public.big" }} }}
        sink {{
          Jdbc {{ plugin_input = read, {self.databases.jdbc(self.databases.target)}, generate_sink_sql = true,
                  database = {self.databases.target}, table = "public.big" }}
          LocalFile {{ plugin_input = read, path = "{self.shared}/out", file_format_type = csv }} }}"""

    @property
    def slow_job(self) -> str:
        """Rows that pass in their native form are through before anybody could ask for anything."""
        mapped = "transform { FieldMapper { plugin_input = raw, plugin_output = read, field_mapper = FIELDS } }\nsink {"
        slowly = self.job.replace("plugin_output = read", "plugin_output = raw").replace("sink {", mapped)
        slowly = slowly.replace("partition_num = 1", "split.size = 10000")  # a unit stops at a split's end
        return slowly.replace("FIELDS", "{ id = id, seq = seq }").replace(
            "env {", f"env {{ source.consistency = per-split, {LIMIT}"
        )

    def run(self, machine: int, *more: str, program: Sequence[str] = SEATUNNEL) -> Process:
        return start(self.homes[machine], "run", "job.conf", "--job-id", "job", "--json", *more, program=program)

    def records(self) -> int:
        """How many writes of records have been made."""
        with self.databases.connect(self.databases.target) as connection:
            if connection.execute("SELECT to_regclass('seatunnel_checkpoint')").fetchone() == (None,):
                return 0
            query = "SELECT max(name) FROM seatunnel_checkpoint WHERE name LIKE 'records/%'"
            found = connection.execute(query).fetchone()
            return int(found[0].rpartition("-")[2]) if found and found[0] else 0

    def expect_copied(self) -> None:
        """Each row once, in the table and in the files."""
        databases = self.databases
        assert databases.rows(databases.target, "big") == databases.rows(databases.source, "big")
        lines = [line for file in (self.shared / "out").rglob("*.csv") for line in file.read_text().splitlines()]
        assert sorted(int(line.split(",")[0]) for line in lines) == list(range(1, ROWS + 1))


@pytest.fixture
def machines(tmp_path: Path, databases: Databases) -> Machines:
    return Machines(tmp_path, databases)


def test_a_job_that_was_killed_on_one_machine_goes_on_on_another(machines: Machines) -> None:
    """Nothing lost, nothing twice; and what the store knows keeps the job from being begun there by mistake."""
    first = machines.run(0, program=IN_PROCESS)
    wait_alive(first, "its second checkpoint", lambda: machines.records() >= 2)
    kill_driver(first)

    by_mistake = finish(machines.run(1, program=IN_PROCESS))
    assert by_mistake.code == 1 and "was run before" in by_mistake.out
    assert "not-asked-for" not in by_mistake.err + by_mistake.out
    run = finish(machines.run(1, "--restore", "latest"))

    assert run.code == 0, run.err + run.out
    machines.expect_copied()
    assert not (machines.shared / "exchange" / "job").exists(), "what was exchanged is left behind"
    assert "not-asked-for" not in "".join(
        file.read_text(errors="replace") for home in machines.homes for file in home.rglob("*.json*")
    )


def test_a_savepoint_is_begun_with_on_another_machine(machines: Machines) -> None:
    """I18, I44: asked for from there as well; rows that were under way come along, and nothing is lost or twice."""
    here, there = machines.homes
    for home in machines.homes:
        write_job(home, machines.slow_job)
    first = machines.run(0, program=IN_PROCESS)
    wait_alive(first, "its second checkpoint", lambda: machines.records() >= 2)
    taken = seatunnel(there, "jobs", "savepoint", "job", "--file", "job.conf", "--name", "before", "--stop")
    assert taken.code == 0, taken.err
    assert finish(first).code == 143
    for file in here.rglob("*"):
        assert "before" not in file.name, "it was kept on the machine of the driver"

    [listed] = json.loads(seatunnel(there, "state", "savepoints", "--file", "job.conf", "--json").out)
    assert (listed["name"], listed["job_id"], listed["damaged"]) == ("before", "job", "")
    again = seatunnel(there, "jobs", "savepoint", "job", "--file", "job.conf", "--name", "before")
    assert again.code == 1 and "no driver of the job 'job' is running" in again.err
    write_job(there, machines.slow_job.replace(LIMIT, ""))
    moved = ("run", "job.conf", "--job-id", "moved", "--restore", "before", "--json")
    run = finish(start(there, *moved, program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    machines.expect_copied()
    jobs = json.loads(seatunnel(there, "jobs", "list", "--file", "job.conf", "--json").out)
    assert [job["job_id"] for job in jobs] == ["moved", "job"]
    assert seatunnel(there, "state", "drop", "before", "--file", "job.conf").code == 0
    assert json.loads(seatunnel(there, "state", "savepoints", "--file", "job.conf", "--json").out) == []
    assert not [file for file in (machines.shared / "exchange").rglob("*") if file.is_file()], "rows are left behind"


def stored(server: PostgresServer) -> int:
    """How many records have been written."""
    query = "SELECT count(*) FROM seatunnel_checkpoint WHERE name LIKE 'records/%'"
    with psycopg.connect(server.dsn) as connection:
        try:
            found = connection.execute(query).fetchone()
        except psycopg.errors.UndefinedTable:
            return 0
    return int(found[0]) if found else 0


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_a_store_that_is_away_for_a_while_ends_nothing(mode: str, tmp_path: Path) -> None:
    """F22: its server is killed in the middle of a job, and comes back; the job says so, and arrives whole."""
    out = tmp_path / "out"
    with PostgresServer.running(durable=True) as server:
        write_job(
            tmp_path,
            f"""
            env {{ job.mode = {mode}, checkpoint.interval = 200, checkpoint.tolerable-failures = 0,
                   read_limit.rows_per_second = 400,
                   checkpoint.location = "postgresql://postgres@127.0.0.1:{server.port}/postgres" }}
            source {{ FakeSource {{ row.num = {EVENTS}, split.num = 40,
                        schema {{ fields {{ id = bigint }} }},
                        bigint.fake.mode = range, auto.increment.enabled = true }} }}
            sink {{ LocalFile {{ path = "{out}", file_format_type = json }} }}""",
        )
        job = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS)
        wait_alive(job, "its second checkpoint", lambda: stored(server) >= 3)
        server.kill9()
        time.sleep(AWAY_SECONDS)
        assert job.poll() is None, job.communicate()
        server.start()
        wait_alive(job, "all rows", lambda: mode == "BATCH" or len(numbers(out)) >= EVENTS, seconds=60)
        if mode == "STREAMING":
            job.terminate()
        run = finish(job)

    assert run.code == (0 if mode == "BATCH" else 143), run.err + run.out
    assert sorted(numbers(out)) == list(range(1, EVENTS + 1))
    assert "waiting for the checkpoint store" in run.err and "the checkpoint store is back after" in run.err
    # Its server is gone for good now: what this machine knows is shown, and why no more.
    shown = json.loads(seatunnel(tmp_path, "jobs", "show", "job", "--json").out)
    [outage] = [one for one in shown["timeline"]["failures"] if one["what"] == "checkpoint store"]
    assert "the job went on" in outage["follows"]
    assert shown["receipt"]["totals"]["rows_read"] == EVENTS and "cannot be used" in shown["store_away"]


@time_limit
@pytest.mark.parametrize("kind", ["postgresql", pytest.param("mariadb", marks=[pytest.mark.mariadb, only_long])])
def test_a_store_that_falls_silent_is_gone_on_with(kind: str, tmp_path: Path) -> None:
    """P4-F5. Its connection swallows everything; the driver waits on it no longer than it should."""
    out = tmp_path / "out"
    with (
        (PostgresServer if kind == "postgresql" else MariadbServer).running() as server,
        BlackHole(server.port) as hole,
    ):
        limits = "?connect_timeout=2&read_timeout=2" if SHORT else ""
        user = "postgres" if kind == "postgresql" else "root"
        base = "postgres" if kind == "postgresql" else "test"
        write_job(
            tmp_path,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = 200, read_limit.rows_per_second = 800,
                   checkpoint.location = "{kind}://{user}@127.0.0.1:{hole.port}/{base}{limits}" }}
            source {{ FakeSource {{ row.num = {EVENTS}, split.num = 40,
                        schema {{ fields {{ id = bigint }} }},
                        bigint.fake.mode = range, auto.increment.enabled = true }} }}
            sink {{ LocalFile {{ path = "{out}", file_format_type = json }} }}""",
        )
        job = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS)
        healed = through(job, hole, lambda: len(numbers(out)), EVENTS)
        wait_alive(job, "all rows", lambda: len(numbers(out)) >= EVENTS, BEHIND_SECONDS_MAX)
        say("all rows were there", healed)
        job.terminate()
        run = finish(job)

    assert run.code == 143, run.err + run.out
    assert sorted(numbers(out)) == list(range(1, EVENTS + 1))
    if SHORT or HOLE_SECONDS > ANSWER_SECONDS:
        assert "waiting for the checkpoint store" in run.err and "the checkpoint store is back after" in run.err


def numbers(out: Path) -> list[int]:
    return [json.loads(line)["id"] for file in out.glob("*.json") for line in file.read_text().splitlines()]
