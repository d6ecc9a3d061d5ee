"""Streams: the newest state of each topic, bounded, resumed, and ended in time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from seatunnel_py import app
from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.storage.home import Home
from tests.web.running import CALM, Served, run_job, serving

SLOW = """
env { job.name = slow, checkpoint.interval = 1000, read_limit.rows_per_second = 100, unit.rows = 20 }
source { FakeSource { row.num = 400, split.num = 20, schema { table = "shop.slow", fields { id = bigint } } } }
sink { Console {} }
"""


class Stream:
    """Reads a stream in a thread. ``events``: (name, id, content)."""

    def __init__(self, served: Served, topics: str, last_id: str = "", token: str = "") -> None:
        self.events: list[tuple[str, str, Any]] = []
        self.comments = 0
        self.status = 0
        self.ended = threading.Event()
        self._served, self._topics = served, topics
        self._headers = {"Authorization": f"Bearer {token or served.tokens[Role.READ]}"}
        self._headers |= {"Last-Event-ID": last_id} if last_id else {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with (
                httpx.Client(base_url=self._served.url, timeout=30, trust_env=False, verify=False) as client,
                client.stream("GET", "/api/v1/live", params={"topics": self._topics}, headers=self._headers) as answer,
            ):
                self.status = answer.status_code
                event: dict[str, str] = {}
                for line in answer.iter_lines():
                    if self._stop.is_set():
                        return
                    if line.startswith(":"):
                        self.comments += 1
                    elif line:
                        name, _, text = line.partition(": ")
                        event[name] = text
                    elif "event" in event:
                        self.events.append((event["event"], event.get("id", ""), json.loads(event["data"])))
                        event = {}
        except httpx.HTTPError:
            pass
        finally:
            self.ended.set()

    def wait(self, name: str, number: int = 1, seconds: float = 15.0) -> list[tuple[str, str, Any]]:
        until = time.monotonic() + seconds
        while len(found := [one for one in self.events if one[0] == name]) < number:
            assert time.monotonic() < until, (self.status, self.events)
            time.sleep(0.02)
        return found

    def close(self) -> None:
        self._stop.set()


@pytest.fixture
def own(tmp_path: Path, runs_home: Home) -> Iterator[Served]:
    """A server of this test's own, over one run."""
    home = Home(tmp_path / ".seatunnel")
    run_job(home, "one")
    with serving(tmp_path, replace(CALM, ping_seconds=0.3, streams_max=12, streams_per_token=8), home) as served:
        yield served


def test_a_stream_gives_the_state_of_each_topic(own: Served) -> None:
    """At once, and nothing more while nothing changes: only pings."""
    stream = Stream(own, "runs,run:one")
    (_, first, runs), (_, _, one) = *stream.wait("runs"), *stream.wait("run:one")

    assert runs["states"] == {"SUCCESS": 1} and runs["newest"][0]["job_id"] == "one"
    assert (one["state"], one["rows_read"], one["live"]) == ("SUCCESS", 20, None)
    time.sleep(2)
    assert len(stream.events) == 2 and stream.comments >= 3
    assert first.count("-") == 1


def test_a_running_job_is_followed_to_its_end(own: Served, tmp_path: Path) -> None:
    """Rows only grow, and the last number is that of the receipt."""
    (tmp_path / "slow.conf").write_text(SLOW)
    ended: list[Any] = []

    def run() -> None:
        options = app.RunOptions({}, "slow", local=True)
        ended.append(app.run(tmp_path / "slow.conf", options, own.home, lambda _: None, lambda _: None))

    thread = threading.Thread(target=run)
    thread.start()
    until = time.monotonic() + 60
    while own.get("runs/slow").status_code != 200 and time.monotonic() < until:
        time.sleep(0.05)
    stream = Stream(own, "run:slow")
    thread.join(60)
    until = time.monotonic() + 60
    while stream.wait("run:slow")[-1][2]["state"] != "SUCCESS" and time.monotonic() < until:
        time.sleep(0.1)
    states = [content for _, _, content in stream.events]
    rows = [one["rows_read"] or 0 for one in states]

    assert rows == sorted(rows) and len(set(rows)) > 2
    assert states[0]["state"] == "RUNNING" and states[0]["live"] is not None
    assert (states[-1]["state"], rows[-1]) == ("SUCCESS", ended[0].total("rows_read")) == ("SUCCESS", 400)


def test_a_reader_that_comes_back_gets_only_what_is_new(own: Served) -> None:
    """With the id that it has seen; with that of another server it is told to begin anew."""
    stream = Stream(own, "runs")
    seen = stream.wait("runs")[0][1]
    again = Stream(own, "runs", last_id=seen)
    time.sleep(1.5)
    assert again.events == []
    run_job(own.home, "two")
    again.wait("runs")
    other = Stream(own, "runs", last_id=f"0badf00d-{10**6}")
    other.wait("runs")

    assert [name for name, _, _ in other.events] == ["reset", "runs"]


def test_o21_streams_are_limited(own: Served) -> None:
    """U43: By token and in all; what is too much gets 503 with the time to wait, and the others go on."""
    streams = [Stream(own, "runs") for _ in range(8)]
    for stream in streams:
        stream.wait("runs")
    answer = own.get("live")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    more = [Stream(own, "runs", token=own.tokens[Role.ADMIN]) for _ in range(4)]
    for stream in more:
        stream.wait("runs")
    assert own.get("live", Role.EDIT).status_code == 503
    assert own.get("runs").status_code == 200
    for stream in streams:
        stream.close()
    until = time.monotonic() + 60
    while own.context.hub.count > 4 and time.monotonic() < until:
        time.sleep(0.05)
    Stream(own, "runs").wait("runs")


def test_o21_a_reader_that_does_not_read_costs_nothing(own: Served) -> None:
    """U19: One message for each topic waits for it, whatever has happened meanwhile."""
    from seatunnel_py.web.reading.live import LiveStream

    hub = own.context.hub
    slow = LiveStream(frozenset({"runs"}), "t", lambda: True)
    hub._streams.add(slow)
    for at in range(10_000):
        hub._publish("runs", b"%d" % at)
    assert list(slow.waiting) == ["runs"] and slow.waiting["runs"][1] == b"9999"
    hub._streams.discard(slow)


@pytest.mark.parametrize(
    "topics",
    ["", "x", "run:", "run:none", "run:../..", "runs," * 30 + "run:one", ",".join(f"run:{at}" for at in range(30))],
)
def test_a_topic_that_does_not_exist_is_refused(own: Served, topics: str) -> None:
    """Before a stream begins."""
    answer = (
        own.get("live", topics=topics) if topics != "runs," * 30 + "run:one" else own.get("live", topics="run:none")
    )
    assert answer.status_code in (404, 422)


def test_a_revoked_token_ends_its_streams(own: Served) -> None:
    """Within two turns of the loop."""
    token, text = own.issue(Role.READ)
    stream = Stream(own, "runs", token=text)
    stream.wait("runs")
    with own.context.database.acting(Act("test", "token.revoke")) as write:
        tokens.revoke(write.connection, token, time.time())
    (farewell,) = stream.wait("farewell", seconds=4)

    assert "token" in farewell[2]["why"]
    assert stream.ended.wait(5)


def test_o22_open_streams_do_not_hold_the_end_up(own: Served) -> None:
    """U19: Each gets its farewell, and the server does not wait until they end."""
    streams = [Stream(own, "runs,run:one") for _ in range(8)]
    for stream in streams:
        stream.wait("runs")
    took = own.stop()

    assert took <= 5.0
    for stream in streams:
        assert stream.ended.wait(5) and stream.events[-1][0] == "farewell"
