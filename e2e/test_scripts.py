"""SeaTunnel's scripts as schedulers call them: output, exit code, signals, jobs that go on."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.support import seatunnel, wait_for

SECONDS = 120.0
JOB = """env {{ job.mode = {mode}, checkpoint.interval = 1000 }}
source {{ FakeSource {{ row.num = {rows}, split.num = 100, schema {{ table = "t", fields {{ id = bigint }} }} }} }}
sink {{ Console {{ log.print.data = false }} }}
"""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    (tmp_path / "batch.conf").write_text(JOB.format(mode="BATCH", rows=100))
    (tmp_path / "stream.conf").write_text(JOB.format(mode="STREAMING", rows=1_000_000))
    assert seatunnel(tmp_path, "install-scripts", str(tmp_path / "installed")).code == 0
    return tmp_path / "installed" / "bin"


def call(script: Path, *arguments: str) -> subprocess.Popen[str]:
    """As a scheduler calls it: SEATUNNEL_HOME is the directory of the installation, both outputs are one."""
    home = script.parents[1]
    environment = {**os.environ, "SEATUNNEL_HOME": str(home), "NO_COLOR": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [str(script), *arguments], cwd=home.parent, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def output(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=SECONDS)[0]


def test_a_scheduler_runs_a_job_and_reads_its_outcome(scripts: Path) -> None:
    """As Airflow's provider does with the engine Spark."""
    process = call(scripts / "start-seatunnel-spark-connector-v2.sh", "--config", "batch.conf", "--deploy", "local")
    text = output(process)
    assert process.returncode == 0, text
    job = next(line for line in text.splitlines() if line.startswith("job id: ")).removeprefix("job id: ")
    home = scripts.parents[1]
    assert (home / ".seatunnel" / "jobs" / job / "receipt.json").exists(), "not in the directory of the installation"
    shown = call(scripts / "seatunnel.sh", "-j", job)
    assert "success" in output(shown).lower() and shown.returncode == 0
    wrong = call(scripts / "seatunnel.sh", "--config", "none.conf")
    assert "none.conf" in output(wrong) and wrong.returncode != 0


def test_signals_reach_a_job_and_a_detached_one_goes_on(scripts: Path) -> None:
    """U23."""
    home = scripts.parents[1]
    running = call(scripts / "seatunnel.sh", "--config", "stream.conf", "--set-job-id", "mine")
    wait_for("the job", lambda: "mine" in seatunnel(home, "jobs", "list", "--state", "running").out, SECONDS)
    running.send_signal(signal.SIGTERM)
    output(running)
    assert running.returncode == 143
    detached = call(scripts / "seatunnel.sh", "--config", "stream.conf", "--set-job-id", "other", "--async")
    assert "job id: other" in output(detached) and detached.returncode == 0
    listed = seatunnel(home, "jobs", "list", "--state", "running")
    assert "other" in listed.out
    cancelled = call(scripts / "seatunnel.sh", "-can", "other")
    text = output(cancelled)
    assert cancelled.returncode == 0, text
    wait_for("its end", lambda: "other" not in seatunnel(home, "jobs", "list", "--state", "running").out, SECONDS)
