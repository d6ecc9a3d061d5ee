"""A stream that goes on with another parallelism and from savepoints, killed in between: every row arrives once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.stream import ROWS, Stream
from e2e.support import IN_PROCESS, SEATUNNEL, Process, finish, kill_driver, seatunnel, start, wait_alive
from e2e.test_killed_driver import Job


def test_a_savepoint_is_begun_with_and_rescaled(stream: Stream) -> None:
    """Bar 9: parallelism 1, a savepoint behind which it ends; a new job of 4, killed; gone on with by 2, to the end."""
    stream.program = IN_PROCESS
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
    third = start(stream.home, "jobs", "restore", "two", program=IN_PROCESS)
    stream.processes.append(third)
    stream.until_all(third)
    ended = stream.ask("cancel", "two")
    assert ended.code == 0, ended.err
    run = finish(third)

    assert run.code == 143 and "parallelism 4 -> 2" in run.err
    with stream.databases.connect(stream.databases.target) as connection:
        rows = [row[0] for row in connection.execute("SELECT id FROM events ORDER BY id")]
    assert rows == list(range(rows[0], rows[0] + ROWS)), "each once"


@pytest.mark.parametrize("shown", ["at the end", "at once"])
def test_a_table_of_postgresql_is_rescaled(tmp_path: Path, databases: Databases, shown: str) -> None:
    """Bar 9 in batch: a table of twelve splits is read by 1, ends behind a savepoint, is gone on with by 4 in a new
    job, which is killed, and by 2 to its end; loaded beside a new table, or appended to one that is there."""
    job = Job(tmp_path, databases)
    program = SEATUNNEL if shown == "at the end" else IN_PROCESS  # who reads which splits is the driver's to decide
    if shown == "at once":
        with databases.connect(databases.target) as connection:
            connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, source text NOT NULL, seq int NOT NULL)")

    def begin(parallelism: int, job_id: str, *more: str) -> Process:
        env = f"parallelism = {parallelism}, source.consistency = per-split, read_limit.rows_per_second = 60000"
        job.write(job.into_table, parts=12, env=env, mapped=True)
        return start(job.home, "run", "job.conf", "--job-id", job_id, "--json", *more, program=program)

    def checkpoints(job_id: str) -> int:
        return len(list((job.home / f".seatunnel/jobs/{job_id}/checkpoints/records").glob("*")))

    first = begin(1, "one")
    wait_alive(first, "checkpoints", lambda: checkpoints("one") > 1)
    taken = seatunnel(job.home, "jobs", "savepoint", "one", "--name", "before", "--stop", "--json")
    assert taken.code == 0, taken.err
    ended = finish(first)
    assert ended.code == 143, ended.err + ended.out
    read = ended.receipt["tables"][0]["rows_read"]

    second = begin(4, "two", "--restore", "before")
    wait_alive(second, "checkpoints", lambda: checkpoints("two") > 2)
    kill_driver(second)
    third = finish(begin(2, "two", "--restore", "latest"))

    assert third.code == 0, third.err + third.out
    assert "parallelism 4 -> 2" in (job.home / ".seatunnel/jobs/two/events.jsonl").read_text()
    assert 0 < read < third.receipt["tables"][0]["rows_read"] == third.receipt["tables"][0]["rows_written"]
    job.check_table()


def test_a_changed_job_file_is_announced_and_refused(stream: Stream) -> None:
    """Nothing happens before somebody has accepted what follows; then it happens."""
    stream.program = IN_PROCESS
    stream.write(1, "transform { Replace { plugin_input = made, plugin_output = kept, replace_field = name, "
                 'pattern = ".+", replacement = "old", is_regex = true } }')  # fmt: skip
    first = stream.run("--job-id", "job")
    stream.until_more(first)
    kill_driver(first)
    before = stream.count()

    stream.write(1, "transform { Replace { plugin_input = made, plugin_output = kept, replace_field = name, "
                 'pattern = ".+", replacement = "new", is_regex = true } }')  # fmt: skip
    planned = seatunnel(stream.home, "plan", "job.conf", "--job-id", "job", "--restore", "latest")
    assert planned.code == 1 and "a run would be refused: --accept-changes goes on like that" in planned.err
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


@pytest.mark.parametrize("recipe", ["direct", "staged", "prepared"])
def test_a_savepoint_that_the_target_has_gone_on_from_is_refused(stream: Stream, recipe: str) -> None:
    """However the rows got there: what came since would be there twice, in a table without a key."""
    stream.write(1)
    job = stream.home / "job.conf"
    once = f"is_exactly_once = true, exactly_once_recipe = {recipe}, database ="
    slowly = "job.mode = STREAMING, unit.rows = 200, read_limit.rows_per_second = 1000"
    job.write_text(job.read_text().replace("database =", once).replace("job.mode = STREAMING", slowly))
    first = start(stream.home, "run", "job.conf", "--job-id", "one", program=IN_PROCESS)
    stream.processes.append(first)
    stream.until_more(first)
    assert stream.ask("savepoint", "one", "--name", "before").code == 0
    stream.until_more(first)
    first.terminate()
    assert finish(first).code == 143
    arrived = stream.count()

    again = finish(start(stream.home, "run", "job.conf", "--restore", "before", "--json", program=IN_PROCESS))

    assert again.code == 1, again.out + again.err
    [cause] = [table["cause"] for table in again.receipt["tables"]]
    assert "the job has continued since the savepoint" in cause["message"]
    assert stream.count() == arrived
