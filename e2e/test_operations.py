"""Running jobs, looked at and led from outside: two drivers of one, one that hangs, one that another machine leads."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from e2e.conftest import Databases
from e2e.stream import ROWS, Stream
from e2e.support import IN_PROCESS, Finished, Process, finish, kill9, seatunnel, start, wait_alive, wait_for, write_job


def test_a_driver_that_was_taken_over_from_changes_nothing(stream: Stream) -> None:
    """I34: stopped, overtaken, and continued: it is told so, and every row is there once."""
    stream.program = IN_PROCESS  # on Spark the crash sweep overtakes a driver
    stream.write(1)
    first = stream.run("--job-id", "job")
    stream.until_more(first)
    refused = seatunnel(stream.home, "run", "job.conf", "--job-id", "job")
    assert refused.code == 4 and "the job 'job' is running" in refused.err

    first.send_signal(signal.SIGSTOP)
    second = stream.run("--job-id", "job", "--restore", "latest")
    stream.until_more(second)
    first.send_signal(signal.SIGCONT)
    overtaken = finish(first)
    assert overtaken.code == 1 and "taken over" in overtaken.out + overtaken.err
    stream.until_all(second)

    assert "RUNNING" in stream.ask("list").out, "the first one's end is not the job's"
    assert stream.ask("cancel", "job").code == 0, "the second one shows that it lives, and is heard"
    assert finish(second).code == 143
    with stream.databases.connect(stream.databases.target) as connection:
        rows = [row[0] for row in connection.execute("SELECT id FROM events ORDER BY id")]
    assert rows == list(range(rows[0], rows[0] + ROWS))

    late = stream.ask("savepoint", "job")
    assert late.code == 1 and "no driver of the job 'job' is running: it has ended" in late.err


def shown(home: Path, job_id: str, *more: str) -> dict[str, Any]:
    """What ``jobs show --json`` says."""
    said = seatunnel(home, "jobs", "show", job_id, "--json", *more)
    assert said.code == 0, said.err
    loaded: dict[str, Any] = json.loads(said.out)
    return loaded


def test_a_job_that_hangs_in_a_lock_says_who_holds_it(tmp_path: Path, databases: Databases) -> None:
    """The session that holds it is named; killed and gone on with, the job tells that as well."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE a AS SELECT i AS id FROM generate_series(1, 1000) i")
    write_job(
        tmp_path,
        f"""
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.a" }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.a" }} }}
        """,
    )
    with databases.connect(databases.target) as locker:
        locker.execute("CREATE TABLE a (id int)")
        with locker.transaction():
            locker.execute("LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
            run = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS)
            try:
                wait_for("its driver", lambda: (tmp_path / ".seatunnel/jobs/job/events.jsonl").exists())

                def told() -> Any:
                    assert run.poll() is None, run.communicate()
                    standing = shown(tmp_path, "job")["standing"] or [{"blocked": []}]
                    return standing[0]["blocked"] and standing[0]

                table = wait_for("who holds the lock", told)
            finally:
                kill9(run.pid)
                run.communicate()
            holder = locker.info.backend_pid
    assert f"for a lock that session {holder} holds" in table["blocked"][0]

    again = finish(start(tmp_path, "run", "job.conf", "--job-id", "job", "--restore", "latest", program=IN_PROCESS))
    assert again.code == 0, again.err
    (dead,) = shown(tmp_path, "job")["timeline"]["failures"]
    assert (dead["what"], dead["driver"], dead["follows"]) == ("driver", 1, "driver 2 took over")


ROWS_LED = 5000


class Led:
    """A stream whose checkpoints are in a database, and another machine that knows its job file alone."""

    def __init__(self, tmp_path: Path, databases: Databases) -> None:
        self.databases = databases
        self.here, self.there = tmp_path / "here", tmp_path / "there"
        store = databases.server.jdbc_url(databases.source).removeprefix("jdbc:")
        store = store.replace("://", "://postgres:not-asked-for@")
        for home in (self.here, self.there):
            home.mkdir()
            write_job(
                home,
                f"""
                env {{ job.mode = STREAMING, checkpoint.interval = 200, checkpoint.location = "{store}" }}
                source {{ FakeSource {{ row.num = {ROWS_LED}, split.num = 40, split.read-interval = 400,
                            schema {{ table = "shop.events", fields {{ id = bigint }} }},
                            bigint.fake.mode = range, auto.increment.enabled = true }} }}
                sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                                database = {databases.target}, table = "public.events" }} }}
                """,
            )

    def run(self, home: Path, *more: str) -> Process:
        return start(home, "run", "job.conf", "--job-id", "job", *more, program=IN_PROCESS)

    def far(self, *words: str) -> Finished:
        said = seatunnel(self.there, *words, "--file", "job.conf")
        assert "not-asked-for" not in said.out + said.err
        return said

    def rows(self) -> int:
        with self.databases.connect(self.databases.target) as connection:
            found = connection.execute("SELECT count(DISTINCT id) FROM events").fetchone()
            return int(found[0]) if found else 0

    def records(self) -> int:
        """How many checkpoints the far machine sees."""
        said = self.far("state", "show", "job", "--json")
        return len(json.loads(said.out).get("shop.events", ())) if said.code == 0 else 0


def test_a_job_is_looked_at_ended_and_gone_on_with_from_another_machine(tmp_path: Path, databases: Databases) -> None:
    """Through its checkpoint.location alone: nothing of the first machine is needed."""
    led = Led(tmp_path, databases)
    first = led.run(led.here)
    wait_alive(first, "checkpoints", lambda: led.records() >= 4)
    assert "job " in led.far("jobs", "list").out
    assert shown(led.there, "job", "--file", "job.conf")["state"] == "RUNNING"
    running = led.far("state", "rewind", "job@-1", "--yes")
    assert running.code == 1 and "is running" in running.err
    cancelled = led.far("jobs", "cancel", "job")
    assert cancelled.code == 0, cancelled.err
    assert finish(first).code == 143

    # On a busy machine the last checkpoint may have no other position than the one before.
    moved = [led.far("state", "diff", f"job@-{number}", "job", "--json") for number in (1, 2)]
    assert any(json.loads(one.out)["tables"]["shop.events"]["vertices"] for one in moved), moved[-1].err
    refused = led.far("state", "rewind", "job@-1", "--yes")
    assert refused.code == 1 and "nothing was done" in refused.err
    assert f"{databases.target}.public.events holds rows up to checkpoint" in refused.out

    second = led.run(led.there, "--restore", "latest")
    events = led.there / ".seatunnel/jobs/job/events.jsonl"
    wait_alive(second, "its driver", events.exists)
    wait_alive(second, "all rows", lambda: led.rows() == ROWS_LED)
    assert seatunnel(led.there, "jobs", "cancel", "job").code == 0
    assert finish(second).code == 143
