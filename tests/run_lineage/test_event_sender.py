"""Delivery of events: order, attempts, bounds, and events that outlive their run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from seatunnel_py.config.env import LineageTransport
from seatunnel_py.openlineage.event_sender import EventSender
from seatunnel_py.openlineage.run_events import RunEventType
from seatunnel_py.openlineage.settings import LineageSettings
from seatunnel_py.openlineage.transports import transport_of
from seatunnel_py.openlineage.unsent_events import UnsentEvents
from tests.run_lineage.lineage_server import LineageServer, lineage_server


def settings_for(server: LineageServer) -> LineageSettings:
    return LineageSettings(LineageTransport.HTTP, f"{server.url}/api/v1/lineage", {"Authorization": "Bearer key"})


def sender_to(server: LineageServer, home: Path, run: str = "r1") -> EventSender:
    settings = settings_for(server)
    return EventSender(transport_of(settings), UnsentEvents(home, settings.target), run)


def an_event(kind: RunEventType, run: str = "r1") -> Callable[[], bytes]:
    return lambda: json.dumps({"eventType": kind.value, "run": run}).encode()


def send(sender: EventSender, *kinds: RunEventType, run: str = "r1") -> None:
    for kind in kinds:
        sender.put(kind, an_event(kind, run), stays=kind is not RunEventType.RUNNING)


START, RUNNING, COMPLETE = RunEventType.START, RunEventType.RUNNING, RunEventType.COMPLETE


def test_events_arrive_in_their_order_with_the_headers(tmp_path: Path) -> None:
    with lineage_server() as server:
        sender = sender_to(server, tmp_path)
        send(sender, START, COMPLETE)
        sender.close(20)
        assert server.kinds == ["START", "COMPLETE"]
        first = server.requests[0]
        assert first.path == "/api/v1/lineage"
        assert first.headers["authorization"] == "Bearer key"
        assert first.headers["content-type"] == "application/json"
        assert sender.notes == []
        assert list(tmp_path.iterdir()) == []


def test_an_event_is_tried_again_and_a_refused_one_is_given_up(tmp_path: Path) -> None:
    with lineage_server() as server:
        server.answers = [503, 429, 201, 422, 201]
        sender = sender_to(server, tmp_path)
        send(sender, START)
        server.wait_for(3)
        sender.put(RUNNING, an_event(RUNNING), stays=True)
        server.wait_for(4)
        send(sender, COMPLETE)
        sender.close(20)
        assert server.kinds == ["START", "COMPLETE"]
        assert [note for note in sender.notes if "refused" in note and "422" in note]


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    """Else the key would go to another address."""
    with lineage_server() as server:
        server.answers = [302, 201]
        sender = sender_to(server, tmp_path)
        send(sender, START)
        sender.close(20)
        assert [one.path for one in server.requests] == ["/api/v1/lineage"]


def test_a_server_that_hangs_holds_up_nothing(tmp_path: Path) -> None:
    """Neither events that are put, nor the end of the run beyond its time; of counts only the newest waits."""
    with lineage_server() as server:
        server.delay = 30
        sender = sender_to(server, tmp_path)
        began = time.monotonic()
        send(sender, START)
        server.wait_for(1)
        before = time.monotonic()
        for _ in range(1_000):
            send(sender, RUNNING)
        assert time.monotonic() - before < 1
        assert len(sender._waiting) == 2
        send(sender, COMPLETE)
        sender.close(0.3)
        assert time.monotonic() - began < 20
    (kept,) = tmp_path.iterdir()
    assert [json.loads(line)["eventType"] for line in kept.read_text().splitlines()] == ["START", "COMPLETE"]
    assert kept.stat().st_mode & 0o777 == 0o600


def test_events_that_were_not_delivered_are_sent_by_a_later_run(tmp_path: Path) -> None:
    """Only to the same place, after its own first event; then they are gone."""
    with lineage_server() as server:
        server.answers = [503]
        earlier = sender_to(server, tmp_path)
        send(earlier, START, COMPLETE)
        earlier.close(0.2)
        assert any("a later run sends them" in note for note in earlier.notes)
        with lineage_server() as other:
            elsewhere = sender_to(other, tmp_path, "r2")
            send(elsewhere, START, run="r2")
            elsewhere.close(20)
            assert {one["run"] for one in other.taken} == {"r2"}
        server.answers = [201]
        later = sender_to(server, tmp_path, "r3")
        send(later, START, run="r3")
        server.wait_for(len(server.requests) + 1)
        later.close(20)
        assert [(one["run"], one["eventType"]) for one in server.taken] == [
            ("r3", "START"), ("r1", "START"), ("r1", "COMPLETE"),
        ]  # fmt: skip
        assert list(tmp_path.iterdir()) == []


def test_kept_events_have_a_limit_and_the_oldest_make_room(tmp_path: Path) -> None:
    unsent = UnsentEvents(tmp_path, "http://a", bytes_max=1_000)
    for at in range(10):
        unsent.keep(f"run-{at}", [b"x" * 299])
        time.sleep(0.01)
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) <= 1_000
    assert {one.name.partition("-")[2] for one in tmp_path.iterdir()} == {f"run-{at}.jsonl" for at in (7, 8, 9)}


def test_two_drivers_do_not_send_the_same_file(tmp_path: Path) -> None:
    unsent = UnsentEvents(tmp_path, "http://a")
    unsent.keep("r1", [b"1", b"2"])
    began, sent = threading.Event(), list[bytes]()

    def slow(event: bytes) -> None:
        sent.append(event)
        began.set()
        time.sleep(0.5)

    first = threading.Thread(target=unsent.send, args=(slow,))
    first.start()
    assert began.wait(10)
    unsent.send(sent.append)
    first.join()
    assert sent == [b"1", b"2"]


def test_an_event_that_cannot_be_made_is_a_note(tmp_path: Path) -> None:
    def fails() -> bytes:
        raise ValueError("a plugin has a fault")

    with lineage_server() as server:
        sender = sender_to(server, tmp_path)
        sender.put(START, fails, stays=True)
        send(sender, COMPLETE)
        sender.close(20)
        assert server.kinds == ["COMPLETE"]
        assert any("a plugin has a fault" in note for note in sender.notes)


def test_events_in_a_file_are_whole_lines(tmp_path: Path) -> None:
    """Also if several drivers write to it."""
    file = tmp_path / "a" / "lineage.jsonl"
    deliver = transport_of(LineageSettings(LineageTransport.FILE, str(file)))
    event = json.dumps({"text": "x" * 100_000}).encode()
    writers = [threading.Thread(target=lambda: [deliver(event) for _ in range(20)]) for _ in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert [line.encode() for line in file.read_text().splitlines()] == [event] * 80
