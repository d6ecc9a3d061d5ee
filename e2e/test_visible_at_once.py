"""Rows that count once and are visible at once, in a job that ends before its first checkpoint: nobody can take them
back, so the job goes on from them, or says why it cannot. It never begins anew beside them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.orders import Row, every, in_files, in_table, named
from e2e.support import IN_PROCESS, Finished, Process, failing, finish, seatunnel, start, wait_alive, write_job

ROWS, SPLITS = 6_000, 6
EVERY = Counter(every(ROWS, SPLITS))
RANGES = f", partition_column = seq, partition_num = {SPLITS}"
QUERY = 'query = "INSERT INTO arrived (seq, source, split) VALUES (?, ?, ?)"'
INTO = {
    "direct": 'generate_sink_sql = true, table = "public.arrived", exactly_once_recipe = direct, enable_upsert = false',
    "query": QUERY,
}


class Job:
    """Into a table without a key: a row that came twice is there twice. Only the last checkpoint is ever taken."""

    def __init__(self, databases: Databases, home: Path) -> None:
        self.databases, self.home = databases, home
        with databases.connect(databases.target) as connection:
            connection.execute("CREATE TABLE arrived (seq bigint NOT NULL, source text NOT NULL, split int NOT NULL)")

    @property
    def files(self) -> str:
        return in_files(self.home, ROWS, SPLITS)

    @property
    def table(self) -> str:
        """Of several ranges: they are read as of one moment."""
        step = in_table(self.databases, ROWS, SPLITS, RANGES)
        with self.databases.connect(self.databases.source) as connection:
            connection.execute("ANALYZE")
        return step

    def write(self, source: str, into: str = "direct", env: str = "", more: str = "") -> None:
        target = self.databases.target
        write_job(
            self.home,
            f"""
            env {{ parallelism = 2, unit.rows = 200, checkpoint.interval = 600000, job.retry.times = 1,
                   job.retry.interval.seconds = 1, {env} }}
            source {{ {named(source, "read")} }}
            sink {{
              Jdbc {{ plugin_input = read, {self.databases.jdbc(target)}, database = {target}, is_exactly_once = true,
                      {INTO[into]} }}
              {more}
            }}""",
        )

    def run(self, armed: str = "", *more: str) -> Finished:
        return finish(self.start(*more, env=failing(armed, self.home / "points") if armed else {}))

    def start(self, *more: str, env: Mapping[str, str] | None = None) -> Process:
        return start(self.home, "run", "job.conf", "--job-id", "job", "--json", *more, env=env, program=IN_PROCESS)

    def at_work(self, source: str) -> Process:
        """It reads slowly, and the first rows are there."""
        self.write(source, env="read_limit.rows_per_second = 800")
        process = self.start()
        wait_alive(process, "rows", lambda: self.arrived().total() >= 400)
        return process

    def arrived(self) -> Counter[Row]:
        with self.databases.connect(self.databases.target) as connection:
            found: list[Row] = connection.execute("SELECT source, split, seq FROM arrived").fetchall()  # type: ignore[assignment]
        return Counter(found)


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Job:
    return Job(databases, tmp_path)


@pytest.mark.parametrize("into", list(INTO))
@pytest.mark.parametrize("moment", ["worker.unit.began", "worker.stage.after"])
def test_what_failed_goes_on(job: Job, into: str, moment: str) -> None:
    """Every unit fails from the fifth on, before it has written anything or behind its commit."""
    job.write(job.files, into)

    failed = job.run(f"{moment}:error@5-")

    assert failed.code == 1, failed.err
    assert 0 < job.arrived().total() < ROWS
    again = job.run("", "--restore", "latest")
    assert again.code == 0, again.out + again.err
    assert job.arrived() == EVERY


def test_what_was_stopped_goes_on(job: Job) -> None:
    process = job.at_work(job.files)
    process.terminate()

    assert finish(process).code == 143
    assert job.arrived().total() < ROWS
    again = job.run("", "--restore", "latest")
    assert again.code == 0, again.out + again.err
    assert job.arrived() == EVERY


@pytest.mark.parametrize("how", ["kill", "error"])
def test_what_was_read_as_of_a_moment_that_is_gone_is_refused(job: Job, how: str) -> None:
    """The next driver would read rows of another moment beside those that are visible: it says so, and what helps."""
    job.write(job.table)
    assert job.run(f"worker.stage.after:{how}@3-").code != 0
    before = job.arrived()
    assert 0 < before.total() < ROWS

    again = job.run("", "--restore", "latest")

    assert again.code == 1
    (table,) = again.receipt["tables"]
    assert "read from one snapshot" in table["cause"]["message"] and "--fresh" in table["cause"]["remedy"]
    assert job.arrived() == before
    with job.databases.connect(job.databases.target) as connection:
        connection.execute("TRUNCATE arrived")
    fresh = job.run("", "--fresh")
    assert fresh.code == 0, fresh.out + fresh.err
    assert job.arrived() == EVERY


def test_a_snapshot_that_dies_while_it_is_read_ends_the_table(job: Job) -> None:
    """The same in the driver that loses it: it does not begin anew beside what is visible."""
    process = job.at_work(job.table)
    with job.databases.connect(job.databases.source) as connection:
        keeper = "datname = current_database() AND state = 'idle in transaction'"
        ended = connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {keeper}").fetchall()
    assert ended

    run = finish(process)

    assert run.code == 1, run.out + run.err
    (table,) = run.receipt["tables"]
    assert "read from one snapshot" in table["cause"]["message"]
    assert not job.arrived() - EVERY, "rows are there twice"


def test_a_sink_that_was_left_out_is_not_loaded_beside_its_rows(job: Job) -> None:
    """The other sink arrives; of this one nobody knows which rows it lacks, and people hear what to do."""
    out = job.home / "out"
    job.write(job.files, more=f'LocalFile {{ plugin_input = read, path = "{out}", file_format_type = json }}')
    with job.databases.connect(job.databases.target) as connection:
        connection.execute("ALTER TABLE arrived ADD CONSTRAINT early CHECK (split < 5)")

    first = job.run()

    assert first.code == 3, first.out + first.err
    filed = [json.loads(line) for file in out.glob("*.json") for line in file.read_text().splitlines()]
    assert Counter((row["source"], row["split"], row["seq"]) for row in filed) == EVERY
    with job.databases.connect(job.databases.target) as connection:
        connection.execute("ALTER TABLE arrived DROP CONSTRAINT early")
    before = job.arrived()
    again = job.run("", "--restore", "latest")
    assert again.code == 3, again.out + again.err
    assert job.arrived() == before and 0 < before.total() < ROWS
    assert "rows may be visible already" in seatunnel(job.home, "jobs", "show", "job").out
