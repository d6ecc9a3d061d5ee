"""Acts whose changes are announced first (T12, O27), and keys of idempotency that a restart of the server keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.control.store import kept_keys
from seatunnel_py.control.store.intents import KEY_SECONDS, IdempotencyKeyError
from seatunnel_py.control.store.kept_keys import KeptKey
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.control.requests import FOLDER
from tests.web.running import CALM, Served, serving
from tests.web.test_sessions import serving_again
from tests.web.test_writes import STREAM, define, noted, started, until, until_checkpoint


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("announced")) as served:
        yield served


def restore(served: Served, run: str, body: Any, **query: str) -> Any:
    path = f"runs/{run}/restore" + ("?dry=true" if query.get("dry") else "")
    return served.send("POST", path, body, Role.OPERATE)


def test_t12_another_revision_needs_the_digest_of_its_changes(own: Served) -> None:
    """O27: What was announced happens, or nothing; each refusal is in the audit."""
    define(own, "stream", STREAM)
    run = started(own, "stream")
    until(own, run, {"RUNNING"})
    until_checkpoint(own, run)
    dry = own.send("POST", f"runs/{run}/stop?dry=true", {}, Role.OPERATE).json()
    assert dry["wish"] == "stop" and any("savepoint" in one for one in dry["changes"])
    assert own.send("POST", f"runs/{run}/stop", {"digest": "0" * 64}, Role.OPERATE).status_code == 409
    assert own.get(f"runs/{run}").json()["state"] == "RUNNING"
    assert restore(own, run, {}, dry="true").status_code == 409  # it has a driver
    asked = own.send("POST", f"runs/{run}/stop", {"digest": dry["digest"]}, Role.OPERATE)
    assert asked.status_code == 202, asked.text
    noted(own, run, "run.ended")
    changed = STREAM.replace("split.read-interval = 200", "split.read-interval = 300")
    own.send("PUT", "definitions/stream", {"text": changed}, If_Match='"1"')

    same = restore(own, run, {}, dry="true").json()
    assert (same["revision"], same["from_revision"], same["refused"]) == (1, 1, None)
    assert [one for one in same["changes"] if one["needs"]] == []
    found = restore(own, run, {"revision": 2}, dry="true").json()
    assert found["refused"] and [one["needs"] for one in found["changes"] if one["needs"]] == ["--accept-changes"]
    for body in ({}, {"digest": same["digest"]}, {"accept_changes": True}):
        refused = restore(own, run, {"revision": 2, **body})
        assert (refused.status_code, refused.json()["type"][-8:]) == (409, "announce")
        assert refused.json()["changes"] == found["changes"]
    rows = own.get("audit", Role.ADMIN, act="run.restore", object=run).json()["audit"]
    assert [row["result"][:8] for row in rows] == ["refused:"] * 3
    assert restore(own, run, {"revision": 9}, dry="true").status_code == 404

    begun = restore(own, run, {"revision": 2, "digest": found["digest"]})
    assert (begun.status_code, begun.json()["revision"]) == (202, 2), begun.text
    until(own, run, {"RUNNING"})
    (row,) = (one for one in own.get("audit", Role.ADMIN, act="run.restore").json()["audit"] if one["result"] == "done")
    assert (row["announced"], row["revision"]) == (found["digest"], 2)
    own.send("POST", f"runs/{run}/cancel", {}, Role.OPERATE)
    noted(own, run, "run.ended", times=2)


def test_a_change_that_no_acceptance_helps_is_refused(own: Served) -> None:
    """With its remedy: a step has another plugin."""
    define(own, "fatal", STREAM.replace("job.name = stream", "job.name = fatal"))
    run = started(own, "fatal")
    until(own, run, {"RUNNING"})
    own.send("POST", f"runs/{run}/cancel", {}, Role.OPERATE)
    noted(own, run, "run.ended")
    text = STREAM.replace('table = "shop.s"', 'table = "shop.other"').replace(
        "sink { Console {} }", "sink { Console { id = x } }"
    )
    own.send("PUT", "definitions/fatal", {"text": text}, If_Match='"1"')
    found = restore(own, run, {"revision": 2}, dry="true").json()
    assert any(one["needs"] == "--fresh" for one in found["changes"]), found
    refused = restore(own, run, {"revision": 2, "digest": found["digest"]})

    assert (refused.status_code, refused.json()["type"][-7:]) == (409, "refused") and refused.json()["remedy"]


def test_a_key_outlives_a_restart_of_the_server(tmp_path: Path) -> None:
    """And a request that a crash has lost after its key is sent again, with the same id."""
    with serving(tmp_path) as first:
        define(first, "stream", STREAM)
        run = started(first, "stream")
        until(first, run, {"RUNNING"})
        asked = first.send("POST", f"runs/{run}/savepoint", {"name": "kept"}, Role.ADMIN, Idempotency_Key="k")
        assert asked.status_code == 202
        place = first.home.place(run)
        admin = first.context.database
        with admin.reading() as connection:
            ((key, digest),) = connection.exec_driver_sql("SELECT key, digest FROM kept_key").all()
        text, port = first.tokens[Role.ADMIN], first.context.settings.port
    with serving_again(tmp_path, replace(CALM, port=port)) as second:
        second.tokens[Role.ADMIN] = text
        again = second.send("POST", f"runs/{run}/savepoint", {"name": "kept"}, Role.ADMIN, Idempotency_Key="k")
        assert (again.status_code, again.json()) == (202, asked.json())
        other = second.send("POST", f"runs/{run}/savepoint", {"name": "x"}, Role.ADMIN, Idempotency_Key="k")
        assert (other.status_code, other.json()["type"][-3:]) == (422, "key")
        lost = "0123456789ab"
        driver = str((place.read("job") or {})["driver"])
        with second.context.database.writing() as connection:
            kept_keys.keep(connection, KeptKey(f"{key}2", digest, lost, driver, time.time()))
        resent = second.send("POST", f"runs/{run}/savepoint", {"name": "kept"}, Role.ADMIN, Idempotency_Key="k2")
        assert resent.json()["request"] == lost and (place.path / FOLDER / f"{lost}.request").exists()
        second.send("POST", f"runs/{run}/cancel", {}, Role.ADMIN, Idempotency_Key="end")
        noted(second, run, "run.ended")
        ended = second.send("POST", f"runs/{run}/cancel", {}, Role.ADMIN, Idempotency_Key="end")
        assert ended.status_code == 202  # the same answer, though no driver is alive any more
        assert second.send("POST", f"runs/{run}/cancel", {}, Role.ADMIN).status_code == 409
    first.context.control.supervisor.launcher.ends()  # the driver is a child of this process


def test_keys_are_forgotten_after_a_day(own: Served) -> None:
    """And are of one body."""
    kept = KeptKey("old", "d", "made", "driver", 1_000.0)
    with own.context.database.writing() as connection:
        kept_keys.keep(connection, kept)
        assert kept_keys.found(connection, "old", "d", 1_000.0 + KEY_SECONDS - 1) == kept
        assert kept_keys.found(connection, "old", "d", 1_000.0 + KEY_SECONDS) is None
        with pytest.raises(IdempotencyKeyError):
            kept_keys.found(connection, "old", "other", 1_001.0)
        kept_keys.keep(connection, replace(kept, key="new", at=1_000.0 + KEY_SECONDS))
        assert kept_keys.found(connection, "old", "d", 1_001.0) is None
