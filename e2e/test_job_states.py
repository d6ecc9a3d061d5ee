"""P1: what `jobs list` and `jobs show` say of a job is true of the driver that has it now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.support import IN_PROCESS, finish, kill9, seatunnel, start, wait_alive, write_job

JOB = """
    env { job.mode = STREAMING, job.name = "shop events", checkpoint.interval = 500 }
    source { FakeSource { row.num = 20000, split.num = 200, split.read-interval = 100,
                          schema { table = "shop.events", fields { id = bigint } } } }
    sink { LocalFile { path = "out", file_format_type = csv } }
"""


class Stream:
    """A job that goes on for longer than the test, in one process."""

    def __init__(self, home: Path) -> None:
        self.home = home
        write_job(home, JOB)
        self.processes: list[Any] = []

    def run(self, *more: str) -> Any:
        """Starts a driver and waits until rows of it are committed."""
        before = len(self.files())
        run = start(self.home, "run", "job.conf", "--job-id", "job", *more, program=IN_PROCESS)
        self.processes.append(run)
        wait_alive(run, "rows", lambda: len(self.files()) >= before + 2)
        return run

    def files(self) -> list[Path]:
        return list((self.home / "out").glob("*.csv"))

    def ask(self, *words: str) -> Any:
        said = seatunnel(self.home, "jobs", *words, "--json")
        assert said.code == 0, said.err
        return json.loads(said.out)


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    found = Stream(tmp_path)
    yield found
    for process in found.processes:
        if process.poll() is None:
            kill9(process.pid)
        process.communicate()


def test_a_killed_driver_is_killed_also_where_one_before_it_was_stopped(stream: Stream) -> None:
    """P1: `jobs list` and `jobs show` said STOPPED, with the receipt of the driver before. Then the third driver is
    refused, which changes nothing; the fourth is stopped, and its receipt counts."""
    first = stream.run()
    seatunnel(stream.home, "jobs", "cancel", "job")
    assert finish(first).code == 143
    late = seatunnel(stream.home, "jobs", "cancel", "job")
    assert late.code == 1 and "no driver of the job 'job' is running: it has ended: STOPPED" in late.err
    assert "--restore latest` goes on with it" in late.err
    stopped = stream.ask("show", "job")
    assert (stopped["state"], stopped["receipt"]["state"], stopped["receipt"]["driver"]) == ("STOPPED", "STOPPED", 1)

    second = stream.run("--restore", "latest")
    assert stream.ask("list")[0]["state"] == "RUNNING"
    wait_alive(second, "its rows to be counted", lambda: stream.ask("list")[0]["rows_read_this_run"])
    kill9(second.pid)
    second.communicate()
    job = stream.ask("list")[0]
    assert job["state"] == "KILLED" and job["rows_read"] > job["rows_read_this_run"] > 0
    killed = stream.ask("show", "job")
    assert (killed["state"], killed["receipt"]) == ("KILLED", None)
    assert [table["state"] for table in killed["counters"]["tables"]] == ["KILLED"], "nothing of it runs"
    assert "it was cancelled" in killed["timeline"]["failures"][0]["cause"]
    assert killed["timeline"]["failures"][0]["checkpoint"] > 0, "of the driver that was stopped"
    text = seatunnel(stream.home, "jobs", "show", "job").out
    assert "RUNNING" not in text
    assert text.startswith("job  KILLED") and "--restore latest` goes on with it" in text
    taken = seatunnel(stream.home, "run", "job.conf", "--job-id", "job")
    assert "was started, and its driver was killed" in taken.err

    write_job(stream.home, JOB.replace("split.num = 200", "split.num = 100"))
    refused = seatunnel(stream.home, "run", "job.conf", "--job-id", "job", "--restore", "latest")
    assert refused.code == 1 and "job file has changed" in refused.err
    assert stream.ask("list")[0]["state"] == "KILLED"

    write_job(stream.home, JOB)
    last = stream.run("--restore", "latest")
    seatunnel(stream.home, "jobs", "cancel", "job")
    assert finish(last).code == 143
    ended = stream.ask("show", "job")
    assert (ended["state"], ended["receipt"]["driver"]) == ("STOPPED", 3)


def test_row_counts_of_a_running_job_are_those_of_now(stream: Stream) -> None:
    """P1: 0 rows with 34,550 in the table, and after a restore the rows of the run before."""

    def arrived() -> int:
        return sum(len(path.read_text().splitlines()) for path in stream.files())

    def caught_up() -> dict[str, Any] | None:
        there = arrived()  # before it is asked: more arrive while a command starts on a busy machine
        (job,) = stream.ask("list")
        return job if job["rows_read"] is not None and job["rows_read"] >= there else None

    first = stream.run()
    rows = arrived()
    running = wait_alive(first, "the rows that have arrived", caught_up)
    assert running["rows_read"] == running["rows_read_this_run"] >= rows
    assert running["rows_read"] % 100 == 0, "splits have a hundred rows"
    assert 0 < running["seconds"] < 60 and running["job_name"] == "shop events"
    kill9(first.pid)
    first.communicate()

    (records,) = json.loads(seatunnel(stream.home, "state", "show", "job", "--json").out).values()
    before = sum(vertex["rows_read"] for vertex in records[-1]["vertices"] if "rows_read" in vertex)
    second = stream.run("--restore", "latest")
    restored = wait_alive(second, "the rows that have arrived", caught_up)
    assert restored["rows_read"] - restored["rows_read_this_run"] == before, "what earlier drivers had read, exactly"
    header, line = seatunnel(stream.home, "jobs", "list").out.splitlines()
    assert header.split() == ["JOB", "STATE", "STARTED", "DURATION", "ROWS", "READ", "THIS", "RUN", "NAME", "FILE"]
    assert line.startswith("job  RUNNING") and "shop events" in line
    text = seatunnel(stream.home, "jobs", "show", "job").out
    assert "rows read, " in text and "of them in this run" in text
    shown = stream.ask("show", "job")["counters"]["tables"][0]
    assert shown["rows_read_before"] == before and shown["rows_read"] >= restored["rows_read"]


def test_watching_a_job_tells_its_numbers_and_its_end(stream: Stream) -> None:
    """G1, G2: the documents grow with the rows, name the checkpoints, and end with the driver; two viewers see the
    same. A job that has ended is shown at once."""
    run = stream.run()
    watching = [start(stream.home, "jobs", "watch", "job", "--json", program=IN_PROCESS) for _ in range(2)]
    stream.processes += watching
    arrived = stream.ask("show", "job")["counters"]["totals"]["rows_read"]
    wait_alive(run, "more rows", lambda: stream.ask("show", "job")["counters"]["totals"]["rows_read"] > arrived + 300)
    shown = stream.ask("show", "job")
    rows = shown["counters"]["totals"]["rows_read"]
    assert shown["checkpoints"]["failed"] == 0 and shown["checkpoints"]["completed"] >= 2
    newest = shown["checkpoints"]["attempts"][-1]
    assert newest["kind"] == "periodic" and newest["bytes"] > 0 and set(newest["phases"]) >= {"align", "store"}
    wait_alive(run, "the viewers to catch up", lambda: stream.ask("list")[0]["rows_read"] > rows + 100)
    kill9(run.pid)
    run.communicate()

    for one in watching:
        ended = finish(one)
        documents = [json.loads(line) for line in ended.out.splitlines()]
        assert ended.code == 1, "it was killed, and left no receipt"
        read = [document["totals"]["rows_read"] for document in documents if document["totals"]]
        assert read == sorted(read) and read[-1] >= rows
        assert documents[-1]["checkpoint"] >= 2 and documents[-1]["states"] == {"RUNNING": 1}
        assert any(document["rows_per_second"] for document in documents)

    killed = seatunnel(stream.home, "jobs", "watch", "job")
    assert killed.code == 1 and killed.out.startswith("job  KILLED")
    assert "periodic checkpoint" in killed.out and "checkpoints: " in killed.out
