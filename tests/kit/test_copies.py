"""A copied command behaves as one that has begun with an interpreter of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, SEATUNNEL, below, finish, start, wait_for, write_job
from tests.kit.copies import CopiedProcess, can_be_copied

JOB = """
env { job.name = "${NAME}" }
source { FakeSource { row.num = 3, schema { fields { id = int } } } }
sink { LocalFile { path = out, file_format_type = csv } }
"""
ENDLESS = JOB.replace("env {", "env { job.mode = STREAMING,")


@pytest.mark.parametrize("own_interpreter", [False, True])
def test_what_a_command_says_and_leaves(tmp_path: Path, own_interpreter: bool) -> None:
    """Its output, its exit code, its directory and its environment."""
    write_job(tmp_path, JOB)
    words = ("run", "job.conf", "--job-id", "job", "--json")

    run, again = (
        finish(start(tmp_path, *words, env={"NAME": "told"}, program=IN_PROCESS, own_interpreter=own_interpreter))
        for _ in range(2)
    )

    assert (run.code, run.receipt["job_id"]) == (0, "job")
    assert '"told"' in (tmp_path / ".seatunnel/jobs/job/job.json").read_text()
    assert sum(len(path.read_text().splitlines()) for path in (tmp_path / "out").glob("*.csv")) == 3
    assert again.code == 1 and "has ended" in again.out


def test_output_goes_into_files(tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"

    ended = finish(start(tmp_path, "check", "nowhere.conf", program=SEATUNNEL, output=out, errors=err))

    assert (ended.code, ended.out, ended.err) == (2, "", "")
    assert "nowhere.conf" in err.read_text() and out.read_text() == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_signals_reach_it_alone(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """And it is seen among the processes of its home as long as it lives."""
    write_job(tmp_path, ENDLESS)
    (tmp_path / "other").mkdir()
    write_job(tmp_path / "other", ENDLESS)
    homes = (tmp_path, tmp_path / "other")
    processes = [start(home, "run", "job.conf", env={"NAME": "n"}, program=IN_PROCESS) for home in homes]
    for home in homes:
        wait_for("a driver", lambda home=home: list(home.glob(".seatunnel/jobs/*/events.jsonl")))

    os.kill(processes[0].pid, number)

    with pytest.raises(subprocess.TimeoutExpired):
        processes[1].wait(0.05)
    assert finish(processes[0]).code == code == processes[0].poll()
    assert isinstance(processes[1], CopiedProcess) and below(str(tmp_path / ".seatunnel")) == []
    assert [pid for pid, _ in below(str(tmp_path / "other/.seatunnel"))] == [processes[1].pid]
    processes[1].kill()
    assert finish(processes[1]).code == -signal.SIGKILL


def test_a_variable_that_an_interpreter_reads_asks_for_one() -> None:
    assert can_be_copied({**os.environ, "NAME": "n"})
    assert not can_be_copied({**os.environ, "PYTHONUTF8": "0"})
