"""Airflow as it is installed, and our provider in it, against a server and the scripts of `install-scripts`."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.airflow.environment import AirflowHome
from e2e.server.running import server
from e2e.support import seatunnel

GOOD = """env { job.mode = BATCH, job.name = good }
source { FakeSource { row.num = ${rows:5}, schema { table = "shop.t", fields { id = bigint } } } }
sink { Console { log.print.data = false } }
"""
BAD = """env { job.mode = BATCH, job.name = bad, job.retry.times = 0 }
source { LocalFile { path = "FOLDER/NAME.json", file_format_type = json
                     schema { table = "shop.bad", fields { id = bigint } } } }
sink { Console { log.print.data = false } }
"""
PARTIAL = """env { job.mode = BATCH, job.name = partial, job.retry.times = 0 }
source {
  FakeSource { plugin_output = good, row.num = 3, schema { table = "shop.good", fields { id = bigint } } }
  LocalFile { plugin_output = bad, path = "FOLDER/NAME.json", file_format_type = json
              schema { table = "shop.bad", fields { id = bigint } } }
}
sink { Console { plugin_input = [good, bad], log.print.data = false } }
"""
STREAM = """env { job.mode = STREAMING, checkpoint.interval = 1000 }
source { FakeSource { row.num = 100000, split.num = 100000, split.read-interval = 20
                      schema { table = "shop.s", fields { id = bigint } } } }
sink { Console { log.print.data = false } }
"""
WAIT_SECONDS = 120.0


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """Airflow with the provider; the job files of its DAGs."""
    home = AirflowHome.build(tmp_path_factory.mktemp("airflow"))
    for name in ("bad", "later"):
        (home.path / f"{name}.json").write_text('{"id": "x"}\n')
    bad = BAD.replace("FOLDER", str(home.path))
    files = {"good": GOOD, "bad": bad.replace("NAME", "bad"), "later": bad.replace("NAME", "later")}
    files["partial"] = PARTIAL.replace("FOLDER", str(home.path)).replace("NAME", "bad")
    for name, text in files.items():
        (home.path / f"{name}.conf").write_text(text)
    return home


class Api:
    """The server over HTTP, as an administrator."""

    def __init__(self, url: str, home: Path) -> None:
        token = (home / ".seatunnel/server/admin.token").read_text().strip()
        self.url, self.token = url, token
        self.client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()

    def define(self, id: str, text: str) -> None:
        self.client.post("/api/v1/definitions", json={"id": id, "text": text}).raise_for_status()

    def ran(self, text: str, job: str) -> str:
        """Submit a job as SeaTunnel's clients do, and wait for its end; return its status."""
        answer = self.client.post(f"/submit-job?format=hocon&jobId={job}", content=text)
        assert answer.status_code == 200, answer.text
        return self.until(job, "FINISHED", "FAILED")

    def until(self, job: str, *statuses: str) -> str:
        end = time.monotonic() + WAIT_SECONDS
        while (status := self.client.get(f"/job-info/{job}").json().get("jobStatus")) not in statuses:
            assert time.monotonic() < end, status
            time.sleep(0.2)
        return str(status)


@pytest.fixture(scope="module")
def api(airflow: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server whose status is open to this machine, with one job of each end."""
    home = tmp_path_factory.mktemp("served")
    with server(home, "--seatunnel-api", "--seatunnel-status-open", "127.0.0.1") as (_, url), Api(url, home) as found:
        airflow.connect(url, found.token)
        ends = {"good": "FINISHED", "bad": "FAILED", "partial": "FAILED"}
        for number, (name, status) in enumerate(ends.items(), 1):
            assert found.ran((airflow.path / f"{name}.conf").read_text(), str(number)) == status
            airflow.variables[f"JOB_{name.upper()}"] = str(number)
        yield found


def test_the_calls_of_seatunnels_provider_work_unchanged(airflow: AirflowHome, api: Api, tmp_path: Path) -> None:
    """Scripts below ``seatunnel_home`` with their exit codes, and the status over HTTP without a token."""
    assert seatunnel(tmp_path, "install-scripts", str(tmp_path / "installed")).code == 0
    ended = airflow.run("compatible", SCRIPTS=str(tmp_path / "installed"))

    good, bad = ("zeta_good", "spark_good", "sensor_good"), ("zeta_bad", "sensor_bad", "sensor_partial")
    assert ended.states == dict.fromkeys(good, "success") | dict.fromkeys(bad, "failed"), ended.text
    assert re.search(r"job id: \S+", ended.text)


def test_our_provider_runs_jobs(airflow: AirflowHome, api: Api) -> None:
    """Each way to name a job, each end, and a retry that goes on with the run of the first try."""
    api.define("stored", GOOD)
    ended = airflow.run("provided")

    good = ("text", "file", "stored", "warn", "retried", "sensor", "sensor_deferred")
    bad = ("partial", "deferred_failure", "wrong", "sensor_bad")
    assert ended.states == dict.fromkeys(good, "success") | dict.fromkeys(bad, "failed"), ended.text
    values = ended.values
    assert (values["text"]["rows_read"], values["file"]["rows_read"], values["stored"]["rows_read"]) == (7, 5, 5)
    assert (values["warn"]["exit_code"], values["warn"]["tables"]) == (3, {"DONE": 1, "ISOLATED": 1})
    assert (values["retried"]["rows_read"], values["retried"]["try"]) == (2, 2)
    runs = [one["job_id"] for one in api.client.get("/api/v1/runs?limit=200").json()["runs"]]
    assert sum("retried" in run for run in runs) == 1, runs
    assert sum("wrong" in run for run in runs) <= 1, "a wrong job file is not tried again"
    assert "is not a bigint" in ended.text, "the failure is in the log of the task"
    assert api.token not in ended.text


def test_a_killed_task_ends_its_run(airflow: AirflowHome, api: Api) -> None:
    """U22: by a signal in the worker; by the trigger where the task was deferred."""
    api.define("stream", STREAM)
    with airflow.running("killed") as process:
        run = await_run(api)
        api.until(run, "RUNNING")
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT_SECONDS)
    assert api.until(run, "SAVEPOINT_DONE", "CANCELED", "FAILED") == "SAVEPOINT_DONE"

    started = api.client.post("/api/v1/definitions/stream/runs", json={}).json()["job_id"]
    api.until(started, "RUNNING")
    with airflow.running("killed", KILL_DEFERRED=started) as process:
        assert process.wait(WAIT_SECONDS) == 0
    assert api.until(started, "SAVEPOINT_DONE", "CANCELED", "FAILED") == "CANCELED"


def await_run(api: Api) -> str:
    """The id of the run that the task has started."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        runs = [one["job_id"] for one in api.client.get("/api/v1/runs?q=stream").json()["runs"]]
        if runs:
            return str(runs[0])
        time.sleep(0.2)
    raise AssertionError("the task has started no run")
