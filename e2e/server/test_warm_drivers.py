"""A job that a server starts begins in a driver whose Spark is up, and ends as in a new one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from e2e.server.running import client, server
from tests.servers.process_tree import descendants, is_alive, words_of

JOB = """
env { job.name = shop, SETTINGS }
source { FakeSource { row.num = 300, schema { table = "shop.events", fields { id = bigint } } } }
sink { LocalFile { path = "rows", file_format_type = json } }
"""


def until(condition: Callable[[], Any], seconds: float = 90) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def warm_pid(pid: int) -> int:
    """The warm driver of a server."""
    (found,) = [one for one in descendants(pid) if "seatunnel_py.cli.warm_driver" in words_of(one)]
    return found


def is_ready(http: httpx.Client) -> bool:
    return re.search(r"^seatunnel_warm_drivers 1", http.get("/metrics").text, re.MULTILINE) is not None


@pytest.mark.parametrize("settings", ["", "spark.sql.shuffle.partitions = 3"], ids=["no settings", "own settings"])
def test_a_job_begins_in_it(tmp_path: Path, settings: str) -> None:
    """With settings of its own the job starts another Spark, in the same process."""
    home = tmp_path / ".seatunnel"
    with server(tmp_path, warm=1) as (process, url), client(url, tmp_path) as http:
        text = JOB.replace(", SETTINGS", f", {settings}" if settings else "")
        http.post("/api/v1/definitions", json={"id": "shop", "text": text}).raise_for_status()
        until(lambda: is_ready(http))
        pid = warm_pid(process.pid)
        run = http.post("/api/v1/definitions/shop/runs", json={}).raise_for_status().json()["job_id"]
        shown = until(lambda: _ended(http, run))
    assert shown["state"] == "SUCCESS", shown
    about = json.loads((home / "jobs" / run / "job.json").read_text())
    assert about["pid"] == pid
    files = (home / "server/definitions/shop/rows").glob("**/*.json")
    assert sum(len(file.read_text().splitlines()) for file in files) == 300, "workers run where the job does"
    log = (home / "jobs" / run / "job.log").read_text()
    assert " WARN spark " in log, "Spark goes on writing to the log that is now the job's"
    assert "Reconfiguration failed" not in log
    assert f"job {run}: 1 table" in (home / "server/output" / f"{run}.log").read_text()


def _ended(http: httpx.Client, run: str) -> Any:
    answer = http.get(f"/api/v1/runs/{run}")
    return answer.json() if answer.is_success and answer.json()["state"] not in ("STARTING", "RUNNING") else None


def test_none_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    with server(tmp_path, warm=1) as (process, url), client(url, tmp_path) as http:
        until(lambda: is_ready(http))
        below = descendants(process.pid)
        assert len(below) >= 3, "the driver, its JVM and its workers"
        process.kill()
        until(lambda: not any(map(is_alive, below)), 20)
