"""Checkpoints that a run keeps, a rewind to one of them, and a new run from a savepoint: each as announced (A20)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from seatunnel_py.control.store.tokens import Role
from tests.web.running import Served, run_job, serving
from tests.web.test_writes import STREAM, answered, define, noted, started, until, until_checkpoint


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A server with a stream that was stopped after some checkpoints and a savepoint."""
    with serving(tmp_path_factory.mktemp("rewind")) as served:
        define(served, "stream", STREAM)
        run = started(served, "stream")
        until(served, run, {"RUNNING"})
        until_checkpoint(served, run)
        running = rewind(served, run, {"checkpoint": -1}, dry=True)
        assert (running.status_code, running.json()["type"]) == (409, "urn:seatunnel:problem:state")
        stop = served.send("POST", f"runs/{run}/stop", {"name": "kept"}, Role.OPERATE)
        assert answered(served, stop.headers["location"])["done"]
        noted(served, run, "run.ended")
        yield served, run


def rewind(served: Served, run: str, body: Any, *, dry: bool = False) -> Any:
    return served.send("POST", f"runs/{run}/rewind{'?dry=true' if dry else ''}", body, Role.OPERATE)


def printed(served: Served, *words: str) -> Any:
    """What the command line prints about this home."""
    environment = {**os.environ, "SEATUNNEL_HOME": str(served.home.path)}
    command = [sys.executable, "-m", "seatunnel_py", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def kept(served: Served, run: str) -> list[int]:
    (table,) = served.get(f"runs/{run}/state").json()["tables"]
    return [one["checkpoint"] for one in table["checkpoints"]]


def test_kept_checkpoints_are_those_of_the_command_line(own: tuple[Served, str]) -> None:
    """Without their positions; the last one is the savepoint."""
    served, run = own
    (table,) = served.get(f"runs/{run}/state").json()["tables"]
    (shown,) = json.loads(printed(served, "state", "show", run, "--json")).values()

    assert [(one["checkpoint"], one["kind"]) for one in table["checkpoints"]] == [
        (one["checkpoint"], one["kind"]) for one in shown
    ]
    assert table["checkpoints"][-1]["name"] == "kept" and table["checkpoints"][-1]["rows_read"] > 0
    assert served.get(f"runs/{run}/state", q="no-such-table").json()["tables"] == []


def test_a_run_that_keeps_nothing_has_an_empty_list(own: tuple[Served, str]) -> None:
    """It has finished; a rewind of it is refused with the reason."""
    served, _ = own
    run_job(served.home, "ended")
    served.context.index.scan()
    assert served.get("runs/ended/state").json()["tables"] == []
    refused = rewind(served, "ended", {"checkpoint": -1}, dry=True)
    assert refused.status_code == 409 and "has finished" in refused.text


def test_a_rewind_does_what_was_announced(own: tuple[Served, str]) -> None:
    """A20: In the words of the command line; another announcement is refused, and both are in the audit."""
    served, run = own
    before = kept(served, run)
    found = rewind(served, run, {"checkpoint": -1}, dry=True).json()
    assert "\n".join(found["changes"]) == printed(served, "state", "rewind", f"{run}@-1").strip()
    assert f"checkpoint {before[-1]} -> {before[-2]}" in found["changes"][0] and not found["refused"]
    for body in ({"checkpoint": -1}, {"checkpoint": before[-1], "digest": found["digest"]}):
        refused = rewind(served, run, body)
        assert (refused.status_code, refused.json()["type"][-8:]) == (409, "announce")
    assert kept(served, run) == before

    done = rewind(served, run, {"checkpoint": -1, "digest": found["digest"]})
    assert (done.status_code, done.json()["changes"]) == (200, found["changes"]), done.text
    assert kept(served, run) == before[:-1]
    again = rewind(served, run, {"checkpoint": -1, "digest": found["digest"]})
    assert again.status_code == 409 and kept(served, run) == before[:-1]
    rows = served.get("audit", Role.ADMIN, act="run.rewind", object=run).json()["audit"]
    assert [row["result"][:8] for row in reversed(rows)] == ["refused:"] * 2 + ["begun", "done", "refused:"]
    assert {row["announced"] for row in rows if row["result"] == "done"} == {found["digest"]}


@pytest.mark.parametrize(
    ("body", "status"),
    [({"checkpoint": 1_000_000}, 200), ({"checkpoint": -1, "tables": ["--yes"]}, 422), ({"checkpoint": -1, "tables": ["x"]}, 409), ({}, 422)],
)  # fmt: skip
def test_a_rewind_that_is_none_changes_nothing(own: tuple[Served, str], body: Any, status: int) -> None:
    """A checkpoint that is not kept is announced as refused, and is refused."""
    served, run = own
    before = kept(served, run)
    answer = rewind(served, run, body, dry=True)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["fatal"] and "1 of 1 tables cannot be rewound" in answer.json()["refused"]["message"]
        assert rewind(served, run, {**body, "digest": answer.json()["digest"]}).status_code == 409
    assert kept(served, run) == before


def test_a_start_from_a_savepoint_is_announced(own: tuple[Served, str]) -> None:
    """A20: The changes since it are those of `plan --restore`; the new run goes on with them."""
    served, _ = own
    changed = STREAM.replace("split.read-interval = 200", "split.read-interval = 300")
    assert served.send("PUT", "definitions/stream", {"text": changed}, If_Match='"1"').status_code == 200
    found = served.send("POST", "definitions/stream/runs?dry=true", {"restore": "kept"}, Role.OPERATE).json()
    file = served.home.path.parent / "changed.conf"
    file.write_text(changed)
    planned = json.loads(printed(served, "plan", str(file), "--restore", "kept", "--json"))
    assert found["changes"] == planned["changes"] and found["refused"] == planned["refused"]
    unknown = served.send("POST", "definitions/stream/runs?dry=true", {"restore": "no-such"}, Role.OPERATE)
    assert unknown.status_code in (409, 422) and "no-such" in unknown.text
    assert served.send("POST", "definitions/stream/runs?dry=true", {}, Role.OPERATE).json()["changes"] == []
    other = started_with(served, {"restore": "kept", "digest": "0" * 64})
    assert (other.status_code, other.json()["type"][-8:]) == (409, "announce")

    begun = started_with(served, {"restore": "kept", "digest": found["digest"]})
    assert (begun.status_code, begun.json()["revision"]) == (202, 2), begun.text
    new = begun.json()["job_id"]
    until(served, new, {"RUNNING"})
    until_checkpoint(served, new)
    assert served.get(f"runs/{new}").json()["job"]["savepoint"] == "kept"
    served.send("POST", f"runs/{new}/cancel", {}, Role.OPERATE)
    noted(served, new, "run.ended")


def started_with(served: Served, body: Any) -> Any:
    return served.send("POST", "definitions/stream/runs", body, Role.OPERATE)
