"""A stream that goes on with another parallelism and from savepoints, killed in between: every row arrives once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import Finished, finish, kill_driver, seatunnel, start, wait_for, write_job

ROWS = 20_000


class Stream:
    """Rows that are made slowly, into a table that has no key: a row that came twice would be there twice."""

    def __init__(self, home: Path, databases: Databases) -> None:
        self.home, self.databases = home, databases
        self.processes: list[subprocess.Popen[str]] = []

    def write(self, parallelism: int, more: str = "") -> None:
        write_job(
            self.home,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = 200, parallelism = {parallelism} }}
            source {{ FakeSource {{ plugin_output = made, row.num = {ROWS}, split.num = 12, split.read-interval = 20,
                        schema {{ table = "shop.events", fields {{ id = bigint, name = string }} }},
                        bigint.fake.mode = range, auto.increment.enabled = true }} }}
            {more}
            sink {{ Jdbc {{ {self.databases.jdbc(self.databases.target)}, generate_sink_sql = true,
                            plugin_input = {"kept" if more else "made"},
                            database = {self.databases.target}, table = "public.events" }} }}
            """,
        )

    def count(self) -> int:
        return self.databases.count("events")

    def run(self, *more: str) -> subprocess.Popen[str]:
        self.processes.append(start(self.home, "run", "job.conf", *more))
        return self.processes[-1]

    def end(self) -> None:
        """A test that failed leaves nothing behind."""
        for process in self.processes:
            if process.poll() is None:
                kill_driver(process)

    def until_more(self, process: subprocess.Popen[str], least: int = 1) -> None:
        before = self.count()
        wait_for("more rows", lambda: process.poll() is not None or self.count() >= before + least)
        assert process.poll() is None, process.communicate()

    def ask(self, *words: str) -> Finished:
        return seatunnel(self.home, "jobs", *words)


@pytest.fixture
def stream(tmp_path: Path, databases: Databases) -> Iterator[Stream]:
    found = Stream(tmp_path, databases)
    yield found
    found.end()


def test_a_savepoint_is_begun_with_and_rescaled(stream: Stream) -> None:
    """Bar 9: parallelism 1, a savepoint behind which it ends; a new job of 4, killed; gone on with by 2, to the end."""
    stream.write(1)
    first = stream.run("--job-id", "one")
    stream.until_more(first)
    taken = stream.ask("savepoint", "one", "--name", "before", "--stop", "--json")
    assert taken.code == 0, taken.err
    assert json.loads(taken.out)["about"]["checkpoints"]
    assert finish(first).code == 143

    stream.write(4)
    planned = seatunnel(stream.home, "plan", "job.conf", "--restore", "before")
    assert "parallelism 1 -> 4, what it had read is dealt out again" in planned.out
    second = stream.run("--job-id", "two", "--restore", "before")
    stream.until_more(second)
    kill_driver(second)

    stream.write(2)
    third = stream.run("--job-id", "two", "--restore", "latest")
    wait_for("all rows", lambda: third.poll() is not None or stream.count() >= ROWS, seconds=120)
    assert third.poll() is None, third.communicate()
    ended = stream.ask("cancel", "two")
    assert ended.code == 0, ended.err
    run = finish(third)

    assert run.code == 143 and "parallelism 4 -> 2" in run.err
    with stream.databases.connect(stream.databases.target) as connection:
        rows = [row[0] for row in connection.execute("SELECT id FROM events ORDER BY id")]
    assert rows == list(range(rows[0], rows[0] + ROWS)), "each once"


def test_a_changed_job_file_is_announced_and_refused(stream: Stream) -> None:
    """Nothing happens before somebody has accepted what follows; then it happens."""
    stream.write(1, "transform { Replace { plugin_input = made, plugin_output = kept, replace_field = name, "
                 'pattern = ".+", replacement = "old", is_regex = true } }')  # fmt: skip
    first = stream.run("--job-id", "job")
    stream.until_more(first)
    kill_driver(first)
    before = stream.count()

    stream.write(1, "transform { Replace { plugin_input = made, plugin_output = kept, replace_field = name, "
                 'pattern = ".+", replacement = "new", is_regex = true } }')  # fmt: skip
    refused = finish(stream.run("--job-id", "job", "--restore", "latest"))
    assert refused.code == 1 and "replacement; rows from here on pass it as it is now" in refused.err
    assert "--accept-changes goes on like that" in refused.err
    assert stream.count() == before

    second = stream.run("--job-id", "job", "--restore", "latest", "--accept-changes")
    stream.until_more(second, least=1000)
    stream.ask("cancel", "job")
    assert finish(second).code == 143
    with stream.databases.connect(stream.databases.target) as connection:
        found = {row[0] for row in connection.execute("SELECT DISTINCT name FROM events")}
        (twice,) = connection.execute("SELECT count(*) - count(DISTINCT id) FROM events").fetchone() or (0,)
    assert {"old", "new"} <= found and twice == 0
