"""Real runs that report their lineage: what they send, at which end, and that no server stops them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.openlineage.run_events import RunEventType
from tests.run_lineage.lineage_server import lineage_server
from tests.run_lineage.published import require_valid

COPY = """
env {{ job.name = copy, job.mode = {mode}{env} }}
source {{ FakeSource {{ plugin_output = s, row.num = {rows}, {more}
  schema {{ table = "db.t", fields {{ id = bigint, name = string, secret = string }} }} }} }}
transform {{
  FieldMapper {{ plugin_input = s, plugin_output = m, field_mapper {{ id = id, name = label }} }}
  Replace {{ plugin_input = m, plugin_output = n, replace_field = label, pattern = "a", replacement = "b" }}
}}
sink {{ LocalFile {{ plugin_input = n, path = "{target}", file_format_type = csv }} }}
"""


def job(place: Path, *, env: str = "", mode: str = "BATCH", rows: int = 5, more: str = "") -> Path:
    file = place / "job.conf"
    options = {"env": env and f", {env}", "mode": mode, "rows": rows, "more": more, "target": place / "target"}
    file.write_text(COPY.format(**options))
    return file


def command(file: Path, place: Path, *more: str, **environment: str) -> subprocess.Popen[str]:
    """A run in a process of its own, with these variables."""
    clean = {name: value for name, value in os.environ.items() if "OPENLINEAGE" not in name}
    env = {**clean, "SEATUNNEL_HOME": str(place / "home"), **environment}
    arguments = [sys.executable, "-m", "seatunnel_py", "run", str(file), "--here", *more]
    return subprocess.Popen(arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


def log_of(place: Path) -> str:
    return "".join(one.read_text() for one in (place / "home" / "jobs").glob("*/events.jsonl"))


def column_uses(event: dict[str, Any], column: str) -> list[tuple[str, str]]:
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return [(one["field"], way["subtype"]) for one in fields[column]["inputFields"] for way in one["transformations"]]


def test_a_run_reports_its_start_and_its_end(tmp_path: Path) -> None:
    """By the variables of the environment alone, with the run of the scheduler as its parent."""
    parent = "airflow/etl.load/01a227c0-3b3d-789c-9584-d0bbfa9cf39f"
    with lineage_server() as server:
        variables = {"OPENLINEAGE_URL": server.url, "OPENLINEAGE_API_KEY": "abc", "OPENLINEAGE_PARENT_ID": parent}
        code, output = ended(command(job(tmp_path), tmp_path, **variables))
        assert code == 0, output
        assert server.kinds == ["START", "COMPLETE"]
        for one in server.taken:
            require_valid(one)
        start, end = server.taken
        assert start["run"]["runId"] == end["run"]["runId"]
        assert start["run"]["facets"]["parent"]["job"]["name"] == "etl.load"
        assert column_uses(start, "id") == [("id", "IDENTITY")]
        assert column_uses(start, "label") == [("name", "TRANSFORMATION")]
        assert end["outputs"][0]["name"] == str(tmp_path / "target")
        assert end["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 5
        assert end["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 5
        assert server.requests[0].headers["authorization"] == "Bearer abc"
    assert "openlineage" not in log_of(tmp_path)


def test_a_server_that_is_down_changes_nothing_and_gets_the_events_later(tmp_path: Path) -> None:
    with lineage_server() as server:
        server.answers = [503]
        env = f'openlineage {{ url = "{server.url}", wait-seconds = 0.2 }}'
        code, output = ended(command(job(tmp_path, env=env), tmp_path))
        assert code == 0, output
        assert "a later run sends them" in log_of(tmp_path)
        server.answers = [201]
        (tmp_path / "target").rename(tmp_path / "target-before")
        code, output = ended(command(job(tmp_path, env=env.replace("0.2", "20")), tmp_path))
        assert code == 0, output
        runs: dict[str, list[str]] = {}
        for one in server.taken:
            runs.setdefault(one["run"]["runId"], []).append(one["eventType"])
        assert sorted(runs.values()) == [["START", "COMPLETE"]] * 2
        assert list((tmp_path / "home" / "openlineage").iterdir()) == []


def test_a_wrong_variable_changes_nothing_and_is_in_the_log(tmp_path: Path) -> None:
    code, output = ended(command(job(tmp_path), tmp_path, OPENLINEAGE_URL="nowhere"))
    assert code == 0, output
    assert "no lineage is sent" in log_of(tmp_path)


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    """The target is a file, so that no row can be written below it."""
    out = tmp_path / "lineage.jsonl"
    file = job(tmp_path, env=f'openlineage.file = "{out}", job.retry.times = 0')
    (tmp_path / "target").write_text("")
    code, output = ended(command(file, tmp_path))
    assert code == 1, output
    start, end = map(json.loads, out.read_text().splitlines())
    require_valid(end)
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert "db.t" in end["run"]["facets"]["errorMessage"]["message"]
    assert end["run"]["facets"]["seatunnel_run"]["exitCode"] == 1


def wait_until(file: Path, events: int, process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    until = time.monotonic() + 120
    while not file.exists() or len(file.read_text().splitlines()) < events:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.05)
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("ends_by", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_is_aborted(tmp_path: Path, ends_by: signal.Signals) -> None:
    out = tmp_path / "lineage.jsonl"
    file = job(tmp_path, env=f'openlineage.file = "{out}", read_limit.rows_per_second = 5', rows=100_000)
    process = command(file, tmp_path)
    wait_until(out, 1, process)
    process.send_signal(ends_by)
    ended(process)
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["eventType"] for one in events] == ["START", "ABORT"]
    require_valid(events[-1])


def test_a_killed_driver_is_continued_under_the_same_id(tmp_path: Path) -> None:
    """And a run that goes on after an end has an id of its own, which names the one before."""
    out = tmp_path / "lineage.jsonl"
    slow = f'openlineage.file = "{out}", read_limit.rows_per_second = 5'
    file = job(tmp_path, env=slow, rows=100_000)
    process = command(file, tmp_path, "--job-id", "j")
    wait_until(out, 1, process)
    process.kill()
    ended(process)
    again = command(file, tmp_path, "--job-id", "j", "--restore", "latest")
    wait_until(out, 2, again)
    again.send_signal(signal.SIGTERM)
    ended(again)
    third = command(file, tmp_path, "--job-id", "j", "--restore", "latest")
    wait_until(out, 4, third)
    third.kill()
    ended(third)
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["eventType"] for one in events] == ["START", "RUNNING", "ABORT", "START"]
    for one in events:
        require_valid(one)
    first, *others, last = (one["run"]["runId"] for one in events)
    assert {first} == set(others) and last != first
    assert events[-1]["run"]["facets"]["seatunnel_run"]["previousRunId"] == first
    assert "columnLineage" in events[1]["outputs"][0]["facets"], "a driver begins with all columns"


CANARY = "canary-9d2f71c0b5"


def test_no_secret_and_no_row_is_in_an_event(tmp_path: Path) -> None:
    """The canary is a password in an address, an option that is secret by name, a reference, a header, a value of rows
    and a part of the message of a failure."""
    database = tmp_path / "shop.db"
    subprocess.run(
        [sys.executable, "-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
         f"db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)'); db.execute(\"INSERT INTO t VALUES (1, '{CANARY}')\");"
         "db.commit()", str(database)], check=True,
    )  # fmt: skip
    file = tmp_path / "job.conf"
    with lineage_server() as server:
        file.write_text(
            f"""
env {{ job.name = secrets, job.mode = BATCH, job.retry.times = 0, openlineage {{
  url = "{server.url}", api-key = "${{env:OL_KEY}}", headers {{ X-Extra = "{CANARY}-3" }}, sql = true }} }}
source {{
  Jdbc {{ plugin_output = a, url = "jdbc:sqlite:{database}", table_path = t }}
  FakeSource {{ plugin_output = b, row.num = 2, schema {{ table = u, fields {{ id = bigint, name = string }} }} }}
}}
transform {{
  FieldEncrypt {{ plugin_input = b, plugin_output = c, fields = [name], key = "${{env:KEY}}" }}
}}
sink {{
  LocalFile {{ plugin_input = a, path = "{tmp_path}/out", file_format_type = csv }}
  Jdbc {{ plugin_input = c, url = "jdbc:postgresql://me:{CANARY}-1@127.0.0.1:1/x?password={CANARY}-1", table = "public.c",
    username = me, password = "{CANARY}-2", connection_check_timeout_sec = 1 }}
}}
"""
        )
        variables = {"OL_KEY": f"{CANARY}-4", "KEY": "base64:MDEyMzQ1Njc4OWFiY2RlZg=="}
        code, output = ended(command(file, tmp_path, **variables))
        assert code == 3, output
        assert server.kinds == [RunEventType.START, RunEventType.COMPLETE]
        for one in server.taken:
            require_valid(one)
        sent = b"\n".join(one.body for one in server.requests)
        assert CANARY.encode() not in sent and b"MDEyMzQ1Njc4OWFiY2RlZg" not in sent
        assert b"postgres://127.0.0.1:1" in sent, "the dataset is named all the same"
        assert "public.c" in server.taken[-1]["run"]["facets"]["errorMessage"]["message"] or (
            server.taken[-1]["run"]["facets"]["seatunnel_run"]["failedTables"] == ["u"]
        )
        assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}-4"
    kept = "".join(one.read_text() for one in (tmp_path / "home").rglob("*") if one.is_file() and one.suffix == ".json")
    assert f"{CANARY}-4" not in kept and f"{CANARY}-3" not in kept
