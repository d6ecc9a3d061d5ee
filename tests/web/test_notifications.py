"""Notifications by a real server: an event of a real run arrives, and the interface shows how each target does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app
from seatunnel_py.control.store.tokens import Role
from tests.control.notify.receivers import WebReceiver, web_receiver
from tests.control.notify.settings_files import SECRET, hook, written
from tests.web.conftest import CANARY
from tests.web.running import CALM, JOB, Served, run_job, serving

FAILS = """
env { job.name = fails, job.retry.times = 0 }
source { LocalFile { path = "nowhere.json", file_format_type = json, schema { table = "shop.files", fields { id = bigint } } } }
sink { Console {} }
"""


@dataclass
class Notified:
    """A server with two targets: one that works, and one that answers 500."""

    served: Served
    good: WebReceiver
    bad: WebReceiver
    file: Path

    def until(self, what: str, holds: Callable[[], Any], seconds: float = 60) -> Any:
        until = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < until, what
            time.sleep(0.05)
        return found

    def targets(self) -> dict[str, Any]:
        return {one["name"]: one for one in self.served.get("notifications", Role.ADMIN).json()["targets"]}

    def bodies(self, kind: str) -> list[Any]:
        found = [json.loads(one.body) for one in self.good.received]
        return [one for one in found if one["type"] == kind]


@contextmanager
def notifying(folder: Path) -> Iterator[Notified]:
    patch = pytest.MonkeyPatch()
    patch.setenv("HOOK_SECRET", SECRET)
    patch.setenv("CANARY", CANARY)
    with web_receiver() as good, web_receiver() as bad:
        bad.answer, bad.body = 500, CANARY.encode()
        kinds = 'events = ["run.*", "table.*"]'
        text = hook("good", good.port, kinds) + hook("bad", bad.port, kinds).replace("/hook", "/${env:CANARY}")
        file = written(folder, text)
        with serving(folder, replace(CALM, settings_file=file)) as served:
            yield Notified(served, good, bad, file)
    patch.undo()


@pytest.fixture(scope="module")
def notified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notified]:
    with notifying(tmp_path_factory.mktemp("notified")) as made:
        yield made


def test_a_failure_of_a_real_run_arrives_with_its_cause(notified: Notified) -> None:
    """U16: With the ids of run, definition and revision, and a link. A later success is a recovery."""
    served = notified.served
    made = served.send("POST", "definitions", {"id": "fails", "text": FAILS})
    assert made.status_code == 201
    run = served.send("POST", "definitions/fails/runs", {}).json()["job_id"]
    notified.until("the failure", lambda: notified.bodies("run.failed"))
    (body,) = notified.bodies("run.failed")
    data = body["data"]
    assert (data["run"], data["definition"], data["revision"], data["job"]) == (run, "fails", 1, data["job"])
    assert "nowhere.json" in json.dumps(data) and data["link"] in (None, f"http://server/jobs/{run}")

    good = JOB.replace("NAME", "fails").replace("ROWS", "5").replace("TABLE", "shop.files")
    served.send("PUT", "definitions/fails", {"text": good}, If_Match='"1"')
    served.send("POST", "definitions/fails/runs", {})
    (recovered,) = notified.until("the recovery", lambda: notified.bodies("run.recovered"))
    assert recovered["data"]["after"] == body["id"]


def test_o23_the_interface_shows_a_target_that_fails(notified: Notified) -> None:
    """With its deliveries, each with its newest error and the next attempt; so do the metrics and the audit."""
    served = notified.served
    run_job(served.home, "by-hand")
    notified.until(
        "the success", lambda: any(one["data"]["run"] == "by-hand" for one in notified.bodies("run.succeeded"))
    )
    target = notified.until("a failure", lambda: (one := notified.targets()["bad"])["state"] == "failing" and one)
    assert (target["last_code"], target["type"]) == (500, "webhook") and target["failing_since"] <= time.time()
    assert target["next_attempt"] > target["last_attempt"] and target["waiting"] > 0 and target["sent"] == 0
    assert notified.targets()["good"]["state"] == "works"
    assert target["address"] == f"http://127.0.0.1:{notified.bad.port}"

    found = served.get("notifications/deliveries", Role.ADMIN, target="bad", state="waiting").json()["deliveries"]
    assert found and found[-1]["attempts"] >= 1 and "500" in found[-1]["last_error"]
    assert found[-1]["next_attempt"] is not None and found[-1]["ended"] is None
    assert {one["event"] for one in found} <= set(notified.good.ids)
    pages = []
    before: int | None = None
    while True:
        query = {"limit": 2, **({"before": before} if before else {})}
        page = served.get("notifications/deliveries", Role.ADMIN, **query).json()
        pages += [one["id"] for one in page["deliveries"]]
        before = page["next"]
        if before is None:
            break
    assert pages == sorted(pages, reverse=True) and len(pages) == len(set(pages)) >= len(found)
    assert served.get("notifications/deliveries", Role.ADMIN, state="sentt").status_code == 422

    metrics = served.get("/metrics").text
    assert 'seatunnel_notifications_failing{target="bad"} 1.0' in metrics
    assert 'seatunnel_notifications_failing{target="good"} 0.0' in metrics
    acts = served.get("audit", Role.ADMIN, act="notify.failing").json()["audit"]
    assert [(one["actor"], one["object"]) for one in acts] == [("supervisor", "bad")]


def test_a_test_shows_the_answer_and_an_attempt_can_be_made_now(notified: Notified) -> None:
    served = notified.served
    good = served.send("POST", "notifications/targets/good/test").json()
    assert (good["sent"], good["code"], good["error"]) == (True, 200, "") and good["seconds"] < 10
    assert notified.bodies("test")[-1]["data"]["summary"].endswith("of the target good")
    bad = served.send("POST", "notifications/targets/bad/test").json()
    assert (bad["sent"], bad["code"]) == (False, 500)
    assert served.send("POST", "notifications/targets/none/test").status_code == 404

    waiting = notified.targets()["bad"]["waiting"]
    notified.bad.answer = 200
    try:
        assert served.send("POST", "notifications/targets/bad/resume").status_code == 200
        notified.until("all is sent", lambda: notified.targets()["bad"]["waiting"] == 0)
    finally:
        notified.bad.answer = 500
    assert notified.targets()["bad"]["sent"] == waiting
    assert [one for one in notified.bad.ids if one in notified.good.ids]
    acts = served.get("audit", Role.ADMIN, limit=200).json()["audit"]
    about = [(one["act"], one["object"]) for one in acts if one["act"].startswith("notify.")]
    for wanted in (
        ("notify.test", "good"),
        ("notify.tested", "bad"),
        ("notify.resume", "bad"),
        ("notify.works", "bad"),
    ):
        assert wanted in about


@pytest.mark.parametrize("role", [Role.READ, Role.OPERATE, Role.EDIT])
def test_t1_only_an_administrator_sees_targets(notified: Notified, role: Role) -> None:
    for path in ("notifications", "notifications/deliveries"):
        assert notified.served.get(path, role).status_code == 403
    assert notified.served.send("POST", "notifications/targets/good/test", role=role).status_code == 403


def test_t6_no_answer_shows_the_address_or_the_secret_of_a_target(tmp_path: Path) -> None:
    """Neither does an answer of the target that repeats them, nor the database, nor an event."""
    with notifying(tmp_path) as notified:
        served = notified.served
        run_job(served.home, CANARY[:8])
        notified.until("an attempt", lambda: notified.targets()["bad"]["last_code"] and notified.good.received)
        assert CANARY not in served.send("POST", "notifications/targets/bad/test").text
        for path in ("notifications", "notifications/deliveries", "audit"):
            text = served.get(path, Role.ADMIN).text
            assert CANARY not in text and SECRET not in text and "******" in text
        for file in (served.home.path / "server").rglob("*"):
            if file.is_file():
                assert CANARY.encode() not in file.read_bytes() and SECRET.encode() not in file.read_bytes()
        for one in notified.good.received:
            assert CANARY.encode() not in one.body and SECRET not in str(one.headers)


def test_settings_are_read_again_and_a_mistake_is_shown(notified: Notified) -> None:
    served, before = notified.served, notified.file.read_text()
    notified.file.write_text("notify { targets { good { type = x } } }")
    shown = notified.until("the fault", lambda: served.get("notifications", Role.ADMIN).json()["fault"])
    assert "notify.targets.good.type" in shown and set(notified.targets()) == {"good", "bad"}
    notified.file.write_text(before.replace("bad {", "renamed {"))
    notified.until("the new target", lambda: set(notified.targets()) == {"good", "renamed"})
    found = served.get("notifications/deliveries", Role.ADMIN, target="bad", state="waiting").json()["deliveries"]
    assert found == [] and served.get("audit", Role.ADMIN, act="notify.settings").json()["audit"]
    notified.file.write_text(before)
    notified.until("the target again", lambda: set(notified.targets()) == {"good", "bad"})


PARTIAL = """
env { job.name = partial, job.retry.times = 0 }
source { FakeSource { tables_configs = [
  { row.num = 5, schema { table = "shop.a", fields { id = bigint } } }
  { row.num = 5, schema { table = "shop.b", fields { id = bigint } } } ] } }
sink { LocalFile { path = "PLACE/${table_name}", file_format_type = csv } }
"""


def test_a_table_that_really_fails_is_an_event_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the log of a real driver shows it; the end of the run names the same table."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    (tmp_path / "b").write_text("in the way of a directory")
    (tmp_path / "job.conf").write_text(PARTIAL.replace("PLACE", str(tmp_path)))
    with web_receiver() as tables, web_receiver() as ends:
        kinds = "events = [table.failed]", "events = [run.partial, table.failed]"
        file = written(tmp_path, hook("tables", tables.port, kinds[0]) + hook("ends", ends.port, kinds[1]))
        with serving(tmp_path, replace(CALM, settings_file=file)) as served:
            notified = Notified(served, tables, ends, file)
            options = app.RunOptions({}, "partial", local=True)
            done = app.run(tmp_path / "job.conf", options, served.home, lambda _: None, lambda _: None)
            assert done.state == "SOME_TABLES_FAILED", done
            notified.until("the table", lambda: tables.received)
            notified.until("the end", lambda: any(one.headers["ce-type"] == "run.partial" for one in ends.received))
    for receiver, kind in ((tables, "table.failed"), (ends, "run.partial")):
        (body,) = [json.loads(one.body) for one in receiver.received if one.headers["ce-type"] == kind]
        (failed,) = body["data"]["failed_tables"]
        assert failed["table"] == "shop.b" and failed["state"] in ("FAILED", "ISOLATED") and failed["cause"]
