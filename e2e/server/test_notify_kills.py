"""O23 and U16 with a real server that is killed with -9 again and again: no event is lost, and each has one id."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from e2e.server.hosted import Hosted
from e2e.support import SEATUNNEL
from tests.control.homes import claimed, receipt
from tests.control.notify.receivers import hangs, web_receiver
from tests.control.notify.settings_files import SECRET, hook

RUNS = 40
KILLS = 12


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosted]:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    made = Hosted(tmp_path)
    yield made
    made.end()


def settings(hosted: Hosted, text: str) -> Path:
    file = hosted.home.path / "server.conf"
    file.write_text(f'notify {{ allow = ["127.0.0.1"], group-seconds = 0, targets {{ {text} }} }}')
    return file


def test_o23_a_server_that_is_killed_at_random_moments_loses_no_event(hosted: Hosted) -> None:
    """Forty runs end while it is killed twelve times. Each end arrives, with one id however often it is sent, and in
    the same order at both targets. A third target that hangs changes nothing."""
    chance = random.Random(4711)
    with web_receiver() as one, web_receiver() as two, web_receiver() as hanging:
        hanging.answer = hangs
        kinds = "events = [run.failed]"
        settings(
            hosted, hook("one", one.port, kinds) + hook("two", two.port, kinds) + hook("hanging", hanging.port, kinds)
        )
        hosted.begin()
        made = 0
        for _ in range(KILLS):
            until = time.monotonic() + chance.uniform(0.1, 2.0)
            while time.monotonic() < until:
                if made < RUNS:
                    place = hosted.home.place(f"run-{made:02}")
                    claimed(place, f"driver-{made}", time.time())
                    receipt(place, f"driver-{made}", "FAILED")
                    made += 1
                time.sleep(chance.uniform(0.01, 0.15))
            hosted.kill()
            hosted.begin()
        wanted = {f"run-{at:02}" for at in range(made)}

        def arrived(receiver) -> dict[str, set[str]]:  # type: ignore[no-untyped-def]
            found: dict[str, set[str]] = {}
            for request in receiver.received:
                body = json.loads(request.body)
                found.setdefault(body["data"]["run"], set()).add(request.headers["webhook-id"])
            return found

        hosted.until("all events", lambda: set(arrived(one)) == set(arrived(two)) == wanted, 120)
        assert made == RUNS and len(hanging.received) <= KILLS + 3
        for receiver in (one, two):
            assert all(len(ids) == 1 for ids in arrived(receiver).values()), "one id for each"
        first = [list(dict.fromkeys(receiver.ids)) for receiver in (one, two)]
        assert first[0] == first[1] and len(first[0]) == RUNS, "in the order of the outbox"
        assert len(one.ids) <= RUNS + KILLS, "at most one repeat for each kill"


def test_o23_a_server_that_is_killed_while_a_target_takes_an_event_sends_it_again(hosted: Hosted) -> None:
    """U16: With the same id and the same body, so that the receiver drops it; a second event comes after it."""
    with web_receiver() as receiver:
        settings(hosted, hook("ops", receiver.port, "events = [run.failed]"))

        def taken(handler: BaseHTTPRequestHandler) -> None:
            receiver.answer = 200
            assert hosted.host is not None
            os.kill(hosted.host.pid, signal.SIGKILL)
            handler.send_response(200)
            handler.end_headers()

        receiver.answer = taken
        hosted.begin()
        for name in ("first", "second"):
            place = hosted.home.place(name)
            claimed(place, f"driver-{name}", time.time())
            receipt(place, f"driver-{name}", "FAILED")
            hosted.until("the kill", lambda: receiver.received)
        assert hosted.host is not None and hosted.host.wait(20) == -signal.SIGKILL
        hosted.kill()
        hosted.begin()
        hosted.until("both", lambda: len(receiver.received) == 3)
        once, again, second = receiver.received
        assert once.headers["webhook-id"] == again.headers["webhook-id"] != second.headers["webhook-id"]
        assert once.body == again.body and json.loads(second.body)["data"]["run"] == "second"


def test_a_killed_driver_is_reported_and_its_restore_is_too(hosted: Hosted) -> None:
    """A real driver: run.failed, run.restored and, after its next checkpoint, run.recovered."""
    with web_receiver() as receiver:
        settings(hosted, hook("ops", receiver.port))
        hosted.define("shop")
        hosted.begin()
        run = hosted.start("shop")
        hosted.until_moving(run)
        hosted.kill_driver(run)

        def kinds() -> list[str]:
            return [json.loads(one.body)["type"] for one in receiver.received]

        hosted.until("all events of it", lambda: len(kinds()) >= 3, 120)
        assert kinds() == ["run.failed", "run.restored", "run.recovered"]
        bodies = [json.loads(one.body) for one in receiver.received]
        assert {body["data"]["run"] for body in bodies} == {run} and bodies[0]["data"]["end"] == "killed"
        assert bodies[0]["data"]["is_restored"] and bodies[2]["data"]["after"] == bodies[0]["id"]


def command(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SEATUNNEL, "server", *words], cwd=folder, text=True, capture_output=True, timeout=120, check=False,
        env={**os.environ, "SEATUNNEL_HOME": str(folder / "home"), "HOOK_SECRET": SECRET, **environment},
    )  # fmt: skip


def test_notify_test_shows_the_answer_of_a_target(tmp_path: Path) -> None:
    """Without a server. A wrong name and a wrong file are errors with the way out."""
    (tmp_path / "home").mkdir()
    assert "there is no settings file" in command(tmp_path, "notify-test", "ops").stderr
    with web_receiver() as receiver:
        text = f'notify {{ allow = ["127.0.0.1"], targets {{ {hook("ops", receiver.port)} }} }}'
        (tmp_path / "home" / "server.conf").write_text(text)
        good = command(tmp_path, "notify-test", "ops")
        assert good.returncode == 0, good.stderr
        assert f"ops (http://127.0.0.1:{receiver.port}) has taken the test with 200" in good.stdout
        receiver.answer = 503
        bad = command(tmp_path, "notify-test", "ops", "--json")
        assert bad.returncode == 1 and json.loads(bad.stdout)["code"] == 503
    near = command(tmp_path, "notify-test", "opps")
    assert near.returncode != 0 and "did you mean 'ops'" in near.stderr
    wrong = command(tmp_path, "run", "--port", "0", "--settings", str(tmp_path / "none.conf"))
    assert wrong.returncode != 0 and "cannot be read" in wrong.stderr
    assert "Traceback" not in near.stderr + wrong.stderr
