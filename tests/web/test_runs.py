"""What the server shows of runs: the same as the command line, page by page, also beside places that cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json
from tests.unit.runtime.test_metric_series import values_of
from tests.web.running import Served, serving


def command(home: Home, *words: str) -> Any:
    """What the command line prints as JSON."""
    environment = {"SEATUNNEL_HOME": str(home.path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "seatunnel_py", *words, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_list_is_that_of_the_command_line(served: Served) -> None:
    """The same rows with the same keys; the server has more of them."""
    found = {row["job_id"]: row for row in served.get("runs").json()["runs"]}
    for row in served_rows(served):
        assert {key: found[row["job_id"]][key] for key in row} == row


def served_rows(served: Served) -> list[dict[str, Any]]:
    """Those of runs that both can read."""
    environment = {"SEATUNNEL_HOME": str(served.home.path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "seatunnel_py", "jobs", "list", "--json", "--state", "success"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    rows = json.loads(done.stdout) if done.returncode == 0 else []
    return [row for row in rows if row["state"] == "SUCCESS"]


def test_a_run_is_that_of_the_command_line(served: Served) -> None:
    """Its receipt in parts, and each part equal."""
    shown = command(served.home, "jobs", "show", "one")
    head = served.get("runs/one").json()
    tables = served.get("runs/one/tables").json()

    assert head["state"] == shown["state"] == "SUCCESS"
    assert {key: shown["receipt"][key] for key in head["receipt"]} == head["receipt"]
    assert [{key: table[key] for key in table if key != "key"} for table in tables["tables"]] == shown["receipt"][
        "tables"
    ]
    assert served.get("runs/one/checkpoints").json() == shown["checkpoints"]
    assert served.get("runs/one/failures").json()["failures"] == shown["timeline"]["failures"]
    assert served.get("runs/one/plan").json() == command(served.home, "jobs", "show", "one", "--plan")
    assert head["tables"] == {"DONE": 1} and "config" not in head["job"]


def test_u6_an_ended_run_is_the_same_at_each_look(served: Served) -> None:
    """Its duration too, however long after its end."""
    first, listed = served.get("runs/one").json(), served.get("runs", q="one").json()["runs"]
    time.sleep(1.2)

    assert served.get("runs/one").json() == first
    assert served.get("runs", q="one").json()["runs"] == listed


def test_plugins_are_those_of_the_command_line(served: Served) -> None:
    """U38: With options, those of the job itself, and the schema that an editor uses."""
    listed = served.get("plugins").json()
    assert listed["plugins"] == command(served.home, "plugins", "list")
    assert {"job.name", "parallelism"} <= {one["key"] for one in listed["env"]}
    found = served.get("plugins/Source/fakesource").json()
    (shown,) = command(served.home, "plugins", "show", "FakeSource")

    assert {key: found[key] for key in shown} == shown
    assert found["schema"]["type"] == "object"


def test_o11_a_broken_place_has_a_row_that_tells_why(served: Served) -> None:
    """U7: And the others are there."""
    found = served.get("runs", limit=200).json()
    faults = {row["job_id"]: row["fault"] for row in found["runs"] if row["state"] == "UNREADABLE"}

    assert {"half", "binary", "outside"} <= set(faults) and all(faults.values())
    assert {"one", "two"} <= {row["job_id"] for row in found["runs"]}
    assert sum(found["states"].values()) == found["total"] == len(found["runs"])


@pytest.mark.parametrize("run", ["half", "newer", "empty", "outside", "binary", "file"])
@pytest.mark.parametrize(
    "part", ["", "/tables", "/plan", "/checkpoints", "/failures", "/events", "/log", "/savepoints", "/explain"]
)
def test_o11_a_broken_place_is_no_error_of_the_server(served: Served, run: str, part: str) -> None:
    """Each of its routes answers, or names the fault."""
    answer = served.get(f"runs/{run}{part}")

    assert answer.status_code in (200, 404, 409), answer.text
    assert "root:" not in answer.text


def test_pages_of_runs_hold_every_run_once(served: Served) -> None:
    """U8: In each order."""
    whole = {row["job_id"] for row in served.get("runs", limit=200).json()["runs"]}
    for sort in ("started", "rows", "duration", "state", "name"):
        seen, after = list[str](), ""
        while True:
            found = served.get("runs", sort=sort, limit=2, after=after).json()
            seen += [row["job_id"] for row in found["runs"]]
            if (after := found["next"]) is None:
                break
        assert sorted(seen) == sorted(whole)


def test_runs_are_chosen(served: Served) -> None:
    """By state, by text, by time; a wrong name is answered with the nearest."""
    assert {row["job_id"] for row in served.get("runs", state="success").json()["runs"]} == {"one", "two"}
    assert [row["job_id"] for row in served.get("runs", q="HOSTILE").json()["runs"]] == ["two"]
    assert served.get("runs", since=4e9).json()["runs"] == []
    assert "SUCCESS" in served.get("runs", state="sucess").json()["remedy"]
    assert "'started'" in served.get("runs", sort="startd").json()["remedy"]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, runs_home: Home) -> Any:
    """A server over a run of a thousand tables."""
    home = Home(tmp_path_factory.mktemp("many") / ".seatunnel")
    place = home.claim("many", fresh=False, about={"job_name": "many", "job_file": "many.conf"})
    (place.path / "lock").unlink()
    receipt = runs_home.place("one").receipt
    assert receipt is not None
    (table,) = receipt["tables"]
    states = ("DONE", "FAILED", "ISOLATED")
    rows = [{**table, "table": f"shop.t{at:04}", "rows_read": at % 7, "state": states[at % 3]} for at in range(1_000)]
    plain = {**receipt, "job_id": "many", "tables": rows, "run": (place.last_claim or {})["driver"]}
    plain.pop("seal", None)
    write_json(place.path / "receipt.json", plain)
    with serving(home.path.parent, home=home) as served:
        yield served


def test_pages_of_tables_hold_every_table_once(many: Served) -> None:
    """U9: A thousand are five pages of 200 in each order, and no page is larger."""
    for sort in ("name", "state", "rows", "seconds", "attempts"):
        seen, after, pages = list[str](), "", 0
        while after is not None:
            found = many.get("runs/many/tables", sort=sort, limit=200, after=after).json()
            seen += [row["table"] for row in found["tables"]]
            after, pages = found["next"], pages + 1
        assert (len(seen), len(set(seen)), pages) == (1_000, 1_000, 5)
    assert many.get("runs/many/tables", limit=201).status_code == 422


def test_tables_are_chosen(many: Served) -> None:
    """By state and text."""
    found = many.get("runs/many/tables", state="isolated", q="T00", limit=200).json()

    assert found["total"] == len(found["tables"]) == 33
    assert {row["state"] for row in found["tables"]} == {"ISOLATED"}
    assert found["states"] == {"DONE": 334, "FAILED": 333, "ISOLATED": 333}
    assert "'ISOLATED'" in many.get("runs/many/tables", state="isolatd").json()["remedy"]
    for cursor in ("x", "!!", "bnVsbA", "eyJhIjoxfQ", "WzEsMiwzXQ"):
        assert many.get("runs/many/tables", after=cursor).status_code in (200, 422)


def test_a_head_does_not_grow_with_the_tables(many: Served, served: Served) -> None:
    """A thousand tables: a few hundred bytes more than one."""
    assert len(many.get("runs/many").content) < len(served.get("runs/one").content) + 500


def test_t7_hostile_names_reach_the_answer_as_text(served: Served) -> None:
    """As JSON in ASCII: neither a browser nor a terminal takes them for more."""
    answer = served.get("runs/two/tables")
    (row,) = answer.json()["tables"]

    assert "\u202e" in row["table"] and "\x1b" in row["table"] and "<b>" in row["table"]
    assert answer.content.isascii() and b"\x1b" not in answer.content
    assert answer.headers["content-type"] == "application/json"
    assert served.get(f"runs/two/tables/{quote(row['key'])}").json()["table"] == row["table"]


def test_metrics_are_those_of_the_command_line(served: Served) -> None:
    """U4: Every series of the runs with its value; and those of the server."""
    environment = {"SEATUNNEL_HOME": str(served.home.path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "seatunnel_py", "jobs", "metrics"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = served.get("/metrics")
    found, shown = values_of(answer.text), values_of(done.stdout)

    moves = "seatunnel_home_free_bytes"
    assert {key: value for key, value in shown.items() if key[0] != moves}.items() <= found.items()
    assert ("seatunnel_live_streams", frozenset()) in found
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_a_cut_of_the_network_in_the_middle_changes_nothing(served: Served) -> None:
    """The next request is answered."""
    import socket

    for _ in range(20):
        with socket.create_connection(served.address) as connection:
            connection.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthor")
    assert served.get("runs").status_code == 200


def test_a_removed_run_is_gone(tmp_path: Path, runs_home: Home) -> None:
    """While the server runs."""
    import shutil

    home = Home(tmp_path / ".seatunnel")
    shutil.copytree(runs_home.path / "jobs" / "one", home.path / "jobs" / "one")
    with serving(tmp_path, home=home) as served:
        assert served.get("runs/one").status_code == 200
        shutil.rmtree(home.path / "jobs" / "one")
        assert served.get("runs/one").status_code in (404, 409)
        served.context.index.scan()
        assert served.get("runs/one").status_code == 404
