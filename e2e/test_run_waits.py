"""The contract with schedulers: exit code 4, `--wait`, the result file, and the probe."""

from __future__ import annotations

import json
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, Process, finish, kill9, seatunnel, start, wait_alive, wait_for, write_job
from seatunnel_py.cli.jobs import probe
from seatunnel_py.jobs import job_reading
from seatunnel_py.runtime.storage.home import HOME_VARIABLE

STREAM = """
env { job.mode = STREAMING, checkpoint.interval = 500 }
source { FakeSource { row.num = 100000, split.num = 1000, split.read-interval = 100
                      schema { table = "shop.events", fields { id = bigint } } } }
sink { LocalFile { path = "out", file_format_type = csv } }
"""
BATCH = """
env { job.mode = BATCH }
source { FakeSource { row.num = 5, schema { table = "shop.t", fields { id = bigint } } } }
sink { Console { log.print.data = false } }
"""
AGAIN = ("run", "job.conf", "--job-id", "job", "--restore", "latest")


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Process]:
    """A stream at work in this home."""
    write_job(tmp_path, STREAM)
    process = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS)
    wait_alive(process, "rows", lambda: len(list((tmp_path / "out").glob("*.csv"))) >= 2)
    yield process
    if process.poll() is None:
        kill9(process.pid)
    process.communicate()


def works(home: Path, process: Process) -> None:
    """Its driver goes on."""
    before = len(list((home / "out").glob("*.csv")))
    wait_alive(process, "more rows", lambda: len(list((home / "out").glob("*.csv"))) > before)


def test_a_run_that_waits_takes_no_driver_over(tmp_path: Path, driver: Process) -> None:
    """It ends with 4 when its time is over, with 143 by a signal; and goes on with the job once that is free."""
    result = tmp_path / "result.json"
    late = seatunnel(tmp_path, *AGAIN, "--wait", "--timeout", "1", "--json", env={"SEATUNNEL_RESULT_FILE": str(result)})
    assert late.code == 4 and late.receipt["state"] == "RUNS_ALREADY", late.err
    assert json.loads(result.read_text()) == late.receipt

    began = time.monotonic()
    at_once = seatunnel(tmp_path, *AGAIN, "--wait", "--timeout", "0")
    assert at_once.code == 4 and "jobs savepoint job --stop" in at_once.err and time.monotonic() - began < 60
    without = seatunnel(tmp_path, "run", "job.conf", "--job-id", "job")
    assert without.code == 4, without.err

    errors = tmp_path / "errors"
    stopped = start(tmp_path, *AGAIN, "--wait", program=IN_PROCESS, errors=errors)
    wait_alive(stopped, "its words", lambda: "waiting: the job 'job' is running" in errors.read_text())
    stopped.send_signal(signal.SIGTERM)
    assert finish(stopped).code == 143
    works(tmp_path, driver)

    waits = start(tmp_path, *AGAIN, "--wait", program=IN_PROCESS, errors=errors)
    wait_alive(waits, "its words", lambda: "waiting" in errors.read_text())
    assert seatunnel(tmp_path, "jobs", "savepoint", "job", "--stop").code == 0
    assert finish(driver).code == 143
    works(tmp_path, waits)
    assert seatunnel(tmp_path, "jobs", "cancel", "job").code == 0
    assert finish(waits).code == 143


def test_waiting_needs_a_job_to_go_on_with(tmp_path: Path) -> None:
    write_job(tmp_path, BATCH)
    for words, message in (
        (("--wait",), "--wait waits for the driver of a job that runs"),
        (("--wait", "--job-id", "job"), "--wait waits for the driver of a job that runs"),
        (("--timeout", "5", "--job-id", "job", "--restore", "latest"), "--timeout limits the time to wait"),
    ):
        found = seatunnel(tmp_path, "run", "job.conf", *words)
        assert found.code == 2 and message in found.err, found.err


def test_the_result_file_has_what_json_prints(tmp_path: Path) -> None:
    """Whatever the end, whole and private; that of the run before is gone first."""
    write_job(tmp_path, BATCH)
    result = tmp_path / "result.json"
    env = {"SEATUNNEL_RESULT_FILE": str(result)}

    def ran(*words: str) -> tuple[int, dict[str, object]]:
        found = finish(start(tmp_path, "run", *words, "--json", env=env, program=IN_PROCESS))
        kept = json.loads(result.read_text())
        assert kept == found.receipt, found.err
        assert stat.S_IMODE(result.stat().st_mode) == 0o600
        return found.code, kept

    code, kept = ran("job.conf", "--job-id", "job")
    assert (code, kept["state"], kept["exit_code"]) == (0, "SUCCESS", 0)
    code, kept = ran("job.conf", "--job-id", "job", "--restore", "latest")
    assert code == 0 and "has finished" in str(kept["message"])
    code, kept = ran("job.conf", "--job-id", "job")
    assert code == 1 and kept["state"] == "FAILED"
    write_job(tmp_path, "source {", "wrong.conf")
    code, kept = ran("wrong.conf")
    assert code == 2 and kept["state"] == "JOB_FILE_WRONG"
    assert [one.name for one in tmp_path.glob("*result*")] == ["result.json"]

    nowhere = {"SEATUNNEL_RESULT_FILE": str(tmp_path / "missing" / "r.json")}
    refused = finish(start(tmp_path, "run", "job.conf", "--job-id", "other", env=nowhere, program=IN_PROCESS))
    assert refused.code == 1 and "SEATUNNEL_RESULT_FILE names" in refused.err and "remedy" in refused.err
    assert not (tmp_path / ".seatunnel/jobs/other").exists()


def test_a_killed_run_leaves_no_result(tmp_path: Path) -> None:
    write_job(tmp_path, STREAM)
    result = tmp_path / "result.json"
    result.write_text("{}")
    process = start(tmp_path, "run", "job.conf", program=IN_PROCESS, env={"SEATUNNEL_RESULT_FILE": str(result)})
    wait_alive(process, "the old result to go", lambda: not result.exists())
    kill9(process.pid)
    process.communicate()
    assert not result.exists()


def test_a_probe_tells_a_driver_that_works_from_one_that_hangs(
    tmp_path: Path, driver: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0, 1 and 2; in a child as a scheduler calls it, and here with less patience for the driver that hangs."""
    words = ("jobs", "show", "job", "--probe")
    wait_for("counters", lambda: (tmp_path / ".seatunnel/jobs/job/counters.json").exists())
    alive = seatunnel(tmp_path, *words)
    assert alive.code == 0 and "job  ALIVE: its driver works" in alive.out, alive.err

    driver.send_signal(signal.SIGSTOP)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / ".seatunnel"))
    monkeypatch.setattr(job_reading, "SILENT_SECONDS", 1.0)
    time.sleep(1.5)
    assert probe.probe("job", as_json=False) == 1
    driver.send_signal(signal.SIGCONT)
    kill9(driver.pid)
    driver.wait()

    gone = seatunnel(tmp_path, *words, "--json")
    assert gone.code == 2 and gone.receipt["state"] == "GONE" and "it is KILLED" in gone.receipt["message"]
    unknown = seatunnel(tmp_path, "jobs", "show", "other", "--probe")
    assert unknown.code == 2 and "it is unknown here" in unknown.out
