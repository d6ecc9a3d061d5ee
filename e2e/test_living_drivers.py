"""A driver that works keeps its job: `jobs restore` and `--fresh` are refused, and say who it is. One that hangs is
taken over; `run --restore latest` takes over any, and says so."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, Process, finish, kill9, seatunnel, start, wait_alive, wait_for, write_job

JOB = """
    env {{ job.mode = STREAMING, checkpoint.interval = 500 {more} }}
    source {{ FakeSource {{ row.num = 100000, split.num = 1000, split.read-interval = 100,
                            schema {{ table = "shop.events", fields {{ id = bigint }} }} }} }}
    sink {{ LocalFile {{ path = "{out}", file_format_type = csv }} }}
"""


class Machines:
    """Two homes. With a ``store`` that they share each can go on with what the other one began."""

    def __init__(self, place: Path, store: str = "") -> None:
        self.out = place / "out"
        self.homes = [place / "one", place / "two"]
        self.processes: list[Process] = []
        for home in self.homes:
            home.mkdir()
            more = f', checkpoint.location = "{store}"' if store else ""
            write_job(home, JOB.format(more=more, out=self.out))

    def begin(self, *more: str, home: int = 0) -> Process:
        found = start(self.homes[home], "run", "job.conf", "--job-id", "job", *more, program=IN_PROCESS)
        self.processes.append(found)
        return found

    def restore(self, home: int = 0) -> Process:
        words = ("jobs", "restore", "job", "--file", "job.conf")
        self.processes.append(start(self.homes[home], *words, program=IN_PROCESS))
        return self.processes[-1]

    def run(self, *more: str, home: int = 0) -> Process:
        return self.commits(self.begin(*more, home=home))

    def commits(self, process: Process) -> Process:
        """Wait until rows of it are committed."""
        before = len(self.files())
        wait_alive(process, "rows", lambda: len(self.files()) >= before + 2)
        return process

    def files(self) -> list[Path]:
        return list(self.out.glob("*.csv"))


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Machines]:
    yield from ended(Machines(tmp_path))


@pytest.fixture
def sharing(tmp_path: Path) -> Iterator[Machines]:
    yield from ended(Machines(tmp_path, f"file://{tmp_path}/store"))


def ended(machines: Machines) -> Iterator[Machines]:
    yield machines
    for process in machines.processes:
        if process.poll() is None:
            kill9(process.pid)
        process.communicate()


def test_a_job_whose_driver_works_is_not_taken_over(alone: Machines) -> None:
    """P1: `jobs restore` of a running job ended it. Whoever is refused leaves it as it was."""
    home, first = alone.homes[0], alone.run()
    host = re.escape(socket.gethostname())

    refused = seatunnel(home, "jobs", "restore", "job")
    assert refused.code == 4, refused.out
    who = rf"its driver \(process {first.pid} on {host}, since 20..-..-.. ..:..:..\) works"
    assert re.search(f"the job 'job' is running: {who}", refused.err), refused.err
    assert "`seatunnel jobs savepoint job --stop`" in refused.err and "`seatunnel jobs cancel job`" in refused.err
    anew = seatunnel(home, "run", "job.conf", "--job-id", "job", "--fresh")
    assert anew.code == 4 and f"is running (process {first.pid} on" in anew.err

    before = len(alone.files())
    wait_alive(first, "more rows", lambda: len(alone.files()) > before)
    assert list((home / ".seatunnel/jobs/job/control").iterdir()) == [], "the question is left behind"
    assert seatunnel(home, "jobs", "savepoint", "job", "--stop").code == 0
    assert finish(first).code == 143
    alone.run("--restore", "latest")


def test_run_with_restore_takes_a_driver_over_that_works(alone: Machines) -> None:
    """I34: the first one is fenced. A scheduler that starts it does not wait for a machine that is gone."""
    first = alone.run()

    second = alone.run("--restore", "latest")

    overtaken = finish(first)
    assert overtaken.code == 1 and "taken over" in overtaken.out + overtaken.err
    assert seatunnel(alone.homes[0], "jobs", "cancel", "job").code == 0
    told = finish(second)
    assert told.code == 143 and f"the job 'job' is running (process {first.pid} on" in told.err
    assert "it is taken over, and that driver ends" in told.err


def test_a_driver_that_hangs_is_taken_over(alone: Machines) -> None:
    first = alone.run()
    wait_for("counters", lambda: list(alone.homes[0].glob(".seatunnel/jobs/job/counters*")))  # else it still starts
    first.send_signal(signal.SIGSTOP)

    second = alone.commits(alone.restore())

    first.send_signal(signal.SIGCONT)
    overtaken = finish(first)
    assert overtaken.code == 1 and "taken over" in overtaken.out + overtaken.err
    assert seatunnel(alone.homes[0], "jobs", "cancel", "job").code == 0
    told = finish(second)
    assert told.code == 143 and f"process {first.pid} on" in told.err and "does not answer" in told.err


def test_of_two_that_go_on_with_a_dead_job_at_once_one_does(alone: Machines) -> None:
    """The second one finds the first one, which is still starting."""
    first = alone.run()
    kill9(first.pid)

    both = [alone.restore() for _ in range(2)]
    wait_for("the end of one", lambda: any(one.poll() is not None for one in both))
    (refused,) = [one for one in both if one.poll() is not None]
    (lives,) = [one for one in both if one is not refused]

    told = finish(refused)
    assert told.code == 4 and "'job' is running" in told.err and f"process {lives.pid} on" in told.err
    before = len(alone.files())
    wait_alive(lives, "more rows", lambda: len(alone.files()) > before)


@pytest.mark.parametrize("anew", [False, True])
def test_a_job_whose_driver_works_on_another_machine_is_not_taken_over(sharing: Machines, anew: bool) -> None:
    """P1: --fresh emptied the store that they share. Once it is dead its job can be gone on with anywhere."""
    first = sharing.run()

    refused = finish(sharing.begin("--fresh", home=1) if anew else sharing.restore(home=1))
    assert refused.code == 4 and f"its driver (process {first.pid} on" in refused.err
    assert "`seatunnel jobs cancel job --file JOB_FILE`" in refused.err
    here = finish(sharing.begin("--fresh"))
    assert here.code == 4 and "is running" in here.err
    before = len(sharing.files())
    wait_alive(first, "more rows", lambda: len(sharing.files()) > before)

    kill9(first.pid)
    outside = seatunnel(sharing.homes[1], "jobs", "cancel", "../store/job", "--file", "job.conf")
    assert outside.code == 1 and "'../store/job' is not a job id" in outside.err
    late = seatunnel(sharing.homes[1], "jobs", "cancel", "job", "--file", "job.conf", "--timeout", "1")
    assert late.code == 1 and "`seatunnel jobs show job --file JOB_FILE`" in late.err
    sharing.commits(sharing.begin("--fresh", home=1) if anew else sharing.restore(home=1))
