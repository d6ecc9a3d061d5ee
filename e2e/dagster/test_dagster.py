"""Dagster as it is installed, and our package in it, with real jobs on the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.support import IN_PROCESS, seatunnel

DAGSTER = "dagster==1.13.28"
PACKAGE = Path(__file__).parents[2] / "schedulers" / "dagster"
INSTALL_SECONDS, RUN_SECONDS, WAIT_SECONDS = 900, 300, 120.0
TWO = """
env { job.mode = BATCH, job.name = shop, job.retry.times = 0 }
source {
  FakeSource { plugin_output = good, row.num = ${rows:3}, schema { table = "shop.good", fields { id = bigint } } }
  LocalFile { plugin_output = other, path = "other.json", file_format_type = json
              schema { table = "shop.other", fields { id = bigint } } }
}
sink { LocalFile { plugin_input = [good, other], path = "out/${table_name}", file_format_type = csv } }
"""
STREAM = """
env { job.mode = STREAMING, job.name = shop, checkpoint.interval = 500 }
source { FakeSource { row.num = 100000, split.num = 1000, split.read-interval = 100
                      schema { table = "shop.s", fields { id = bigint } } } }
sink { LocalFile { path = "out", file_format_type = csv } }
"""
pytestmark = pytest.mark.timeout(1_200)


@dataclass
class Materialised:
    """What the script has printed."""

    code: int
    text: str

    def part(self, name: str) -> dict[str, Any]:
        found = re.search(rf"^{name} (.*)$", self.text, flags=re.MULTILINE)
        assert found is not None, self.text
        loaded: dict[str, Any] = json.loads(found[1])
        return loaded


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with Dagster and our package."""
    folder = tmp_path_factory.mktemp("dagster")
    uv, python = str(Path(sys.executable).with_name("uv")), folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    words = [uv, "pip", "install", "--quiet", "--python", str(python), DAGSTER, str(PACKAGE)]
    subprocess.run(words, check=True, timeout=INSTALL_SECONDS)
    return python


def begun(dagster: Path, home: Path, **more: str) -> subprocess.Popen[str]:
    words = [str(dagster), str(Path(__file__).with_name("definitions.py"))]
    given = {"PROGRAM": json.dumps(IN_PROCESS), "JOB_FILE": "job.conf", "JOB_ID": "job", "ROWS": "5"}
    environment = {**os.environ, "SEATUNNEL_HOME": str(home / ".seatunnel"), **given, **more}
    return subprocess.Popen(
        words, cwd=home, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def materialised(dagster: Path, home: Path, **more: str) -> Materialised:
    process = begun(dagster, home, **more)
    text, _ = process.communicate(timeout=RUN_SECONDS)
    return Materialised(process.returncode, text)


def test_each_target_table_is_an_asset_with_its_own_end(dagster: Path, tmp_path: Path) -> None:
    """One table fails: the others are materialised, with the numbers of the receipt, and the step fails with the cause.
    The next try goes on with the same run."""
    (tmp_path / "job.conf").write_text(TWO)
    (tmp_path / "other.json").write_text('{"id": "x"}\n')

    first = materialised(dagster, tmp_path)

    assert first.code == 1 and "is not a bigint" in first.text and "exit code 3" in first.text, first.text
    assert len(first.part("SPECS")) == 2
    (good,) = first.part("MADE")
    receipt = json.loads((tmp_path / ".seatunnel/jobs/job/receipt.json").read_text())
    (arrived,) = [one for one in receipt["tables"] if one["state"] == "DONE"]
    facts = first.part("MADE")[good]
    assert good.startswith("shop/") and good.endswith("/out/good")
    assert (facts["rows_written"], facts["rows_read"], facts["job_id"]) == (5, 5, "job")
    assert facts["rows_written"] == arrived["rows_written"] and facts["source_tables"] == ["shop.good"]

    (tmp_path / "other.json").write_text('{"id": 1}\n{"id": 2}\n')
    second = materialised(dagster, tmp_path)
    assert second.code == 0, second.text
    made = second.part("MADE")
    assert set(made) == set(first.part("SPECS"))
    assert [made[one]["rows_written"] for one in sorted(made)] == [5, 2]

    third = materialised(dagster, tmp_path)
    assert third.code == 0 and third.part("MADE") == {} and "there is nothing to do" in third.text


def test_a_stored_plan_asks_no_source(dagster: Path, tmp_path: Path) -> None:
    (tmp_path / "job.conf").write_text(TWO)
    (tmp_path / "other.json").write_text('{"id": 1}\n')
    plan = seatunnel(tmp_path, "plan", "job.conf", "--json")
    assert plan.code == 0, plan.err
    (tmp_path / "plan.json").write_text(plan.out)
    done = materialised(dagster, tmp_path, PLAN="plan.json")
    assert done.code == 0 and len(done.part("MADE")) == 2, done.text
    (tmp_path / "wrong.conf").write_text("source {")
    wrong = materialised(dagster, tmp_path, JOB_FILE="wrong.conf")
    assert wrong.code == 1 and "the plan names no target" in wrong.text, wrong.text


def test_a_cancelled_step_ends_its_job(dagster: Path, tmp_path: Path) -> None:
    """By a signal to Dagster, which the job gets as SIGTERM: it ends in order, and no driver is left."""
    (tmp_path / "job.conf").write_text(STREAM)
    process = begun(dagster, tmp_path)
    end = time.monotonic() + WAIT_SECONDS
    while len(list((tmp_path / "out").glob("*.csv"))) < 2:
        assert time.monotonic() < end and process.poll() is None, "the job has not begun"
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode != 0, text
    assert seatunnel(tmp_path, "jobs", "show", "job", "--probe").code == 2
    receipt = json.loads((tmp_path / ".seatunnel/jobs/job/receipt.json").read_text())
    assert receipt["exit_code"] == 143, text
