"""O23: a target that hangs or fails for days is bounded, is shown, and keeps up nothing but itself."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.control.notify import delivery_rules
from seatunnel_py.control.notify.deliverer import Deliverer
from seatunnel_py.control.notify.sending import pinned_socket
from seatunnel_py.control.notify.sending.attempt import AttemptResult
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.notify.target_settings import NotifyTarget
from seatunnel_py.control.store import audit
from seatunnel_py.control.store.database import Database, StoreUnwritableError
from seatunnel_py.control.store.outbox import deliveries, outbox_events, target_states
from seatunnel_py.control.store.outbox.deliveries import DeliveryState
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.control.store.outbox.target_states import OutboxTarget
from tests.control.notify.receivers import hangs, web_receiver
from tests.control.notify.settings_files import ENVIRONMENT, hook, written

HOUR, DAY = 3_600.0, 86_400.0
GOOD, BAD = AttemptResult(True, 200), AttemptResult(False, 500, "it has answered 500")


@dataclass
class Post:
    """An outbox with a clock that tests set, and targets whose answers they choose."""

    folder: Path
    names: tuple[str, ...] = ("one", "two")
    seconds: float = 1_000.0
    answers: dict[str, AttemptResult] = field(default_factory=dict)
    sent: list[tuple[float, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        file = written(self.folder, "".join(hook(name, 1) for name in self.names))
        self.book = TargetBook(file, ENVIRONMENT)
        self.database = Database.open(self.folder / "server" / "server.db", self.now)
        self.begin()

    def now(self) -> float:
        return 1_800_000_000.0 + self.seconds

    def begin(self) -> None:
        """A new server."""
        self.deliverer = Deliverer(self.database, self.book, lambda: self.seconds, self.now, lambda: 0.5, self.send)

    def send(self, target: NotifyTarget, event: OutboxEvent, now: float) -> AttemptResult:
        self.sent.append((self.seconds, target.name, event.id))
        return self.answers.get(target.name, GOOD)

    def add(self, id: str, *names: str) -> bool:
        event = OutboxEvent(id, "run.failed", "run", "", "shop", self.now(), {"id": id, "data": {}})
        with self.database.writing() as connection:
            return outbox_events.add(connection, event, names or self.names, self.now())

    def go(self, seconds: float, step: float = 1.0) -> None:
        """Let time pass; each target is looked after once a step, as by its thread."""
        until = self.seconds + seconds
        while self.seconds < until:
            self.seconds += step
            for name in self.names:
                while self.deliverer.step(name) == 0.0:
                    pass

    def ids(self, name: str) -> list[str]:
        return [id for _, target, id in self.sent if target == name]

    def states(self, name: str) -> Counter[str]:
        with self.database.reading() as connection:
            found = deliveries.listing(connection, target=name, limit=10_000)
        return Counter(one.state.value for one, _ in found)

    def state(self, name: str) -> OutboxTarget:
        with self.database.reading() as connection:
            return target_states.of_target(connection, name)

    def acts(self) -> list[tuple[str, str]]:
        with self.database.reading() as connection:
            return [(row.act.act, row.act.object) for row in reversed(audit.rows(connection))]


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    made = Post(tmp_path)
    with closing(made.database):
        yield made


def test_events_are_sent_once_and_in_order(post: Post) -> None:
    wanted = [f"evt_{at}" for at in range(20)]
    assert [post.add(id) for id in wanted] == [True] * 20
    assert not post.add("evt_3"), "the same event again is none"
    post.go(5)
    assert post.ids("one") == post.ids("two") == wanted
    assert post.states("one") == {"sent": 20} and post.state("one").standing == "works"


def test_o23_a_target_that_answers_500_for_days_gets_few_attempts_and_all_events_afterwards(post: Post) -> None:
    """In order. The other target gets them at once. The failure is shown with its beginning, and is in the audit once."""
    post.answers["one"] = BAD
    for at in range(10):
        post.add(f"evt_{at}")
        post.go(10)
    assert post.ids("two") == [f"evt_{at}" for at in range(10)]
    begun = post.now()
    post.go(2 * DAY, 60)
    attempts = post.ids("one")
    assert set(attempts) == {"evt_0"} and len(attempts) < 70, "one for each wait, not for each event"
    state = post.state("one")
    assert state.standing == "failing" and state.error == "it has answered 500" and state.code == 500
    assert state.failing_since is not None and state.failing_since <= begun and state.next_at is not None
    assert 0 < state.next_at - post.now() <= 1.2 * HOUR

    post.answers["one"] = GOOD
    post.go(2 * HOUR, 60)
    assert post.ids("one")[len(attempts) :] == [f"evt_{at}" for at in range(10)]
    assert post.state("one").standing == "works"
    assert post.acts() == [("notify.failing", "one"), ("notify.works", "one")]


def test_o23_what_a_target_never_takes_is_given_up_and_shown(post: Post) -> None:
    """After three days; a later event has its own three days."""
    post.answers["one"] = BAD
    post.add("evt_1")
    post.go(DAY, 300)
    post.add("evt_2")
    post.go(2 * DAY + 300, 300)
    assert post.states("one") == {"given up": 1, "waiting": 1}
    with post.database.reading() as connection:
        ((_, _), (given_up, _)) = deliveries.listing(connection, target="one")
    assert given_up.error == "it has answered 500; it was given up" and given_up.attempts > 60
    assert ("notify.gave-up", "one") in post.acts()
    post.go(DAY + 300, 300)
    assert post.states("one") == {"given up": 2}


def test_o23_a_backlog_is_bounded(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest make room; so do old deliveries, with their events."""
    monkeypatch.setattr(deliveries, "BACKLOG_MAX", 50)
    post.answers["one"] = BAD
    for at in range(50 + 5):
        post.add(f"evt_{at}")
    assert post.states("one") == {"waiting": 50, "dropped": 5}
    post.answers["one"] = GOOD
    post.go(20)
    assert post.ids("one")[-50:] == [f"evt_{at}" for at in range(5, 50 + 5)]
    with post.database.writing() as connection:
        deliveries.forget_old(connection, post.now() + 31 * DAY)
        outbox_events.forget_undelivered(connection)
        assert not deliveries.counts(connection)
        assert connection.exec_driver_sql("SELECT count(*) FROM outbox_event").scalar() == 0


def test_an_answer_410_switches_a_target_off_until_a_person_switches_it_on(post: Post) -> None:
    post.answers["one"] = AttemptResult(False, 410, "it has answered 410", gone=True)
    post.add("evt_1")
    post.go(DAY, 60)
    assert post.ids("one") == ["evt_1"] and post.state("one").standing == "disabled"
    assert post.acts() == [("notify.disabled", "one")]
    post.answers["one"] = GOOD
    post.deliverer.resume("one")
    post.go(2)
    assert post.ids("one") == ["evt_1"] * 2 and post.state("one").standing == "works"


def test_a_person_makes_the_next_attempt_come_now(post: Post) -> None:
    post.answers["one"] = BAD
    post.add("evt_1")
    post.go(HOUR, 10)
    post.answers["one"] = GOOD
    tried = len(post.ids("one"))
    post.deliverer.resume("one")
    post.go(2)
    assert len(post.ids("one")) == tried + 1 and post.states("one") == {"sent": 1}


def test_a_new_server_goes_on_with_the_waits(post: Post) -> None:
    """Also if the wall clock has jumped meanwhile: no wait is longer than one."""
    post.answers["one"] = BAD
    post.add("evt_1", "one")
    post.go(2 * HOUR, 30)
    tried = len(post.sent)
    post.begin()
    post.go(60)
    assert len(post.sent) == tried, "the wait goes on"
    post.go(1.2 * HOUR, 30)
    assert len(post.sent) == tried + 1

    wait = delivery_rules.first_wait(post.state("one"), post.now() - 100 * DAY)
    assert wait <= 1.2 * HOUR


def test_an_attempt_that_cannot_be_noted_is_not_made_again(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when an event was sent: it is noted as soon as there is room."""
    post.add("evt_1", "one")
    full, writing = [True], post.database.writing

    def fails():  # type: ignore[no-untyped-def]
        if full[0]:
            raise StoreUnwritableError("the disk is full")
        return writing()

    monkeypatch.setattr(post.database, "writing", fails)
    for _ in range(3):
        with pytest.raises(StoreUnwritableError):
            post.deliverer.step("one")
    assert post.ids("one") == ["evt_1"]
    full[0] = False
    post.go(2)
    assert post.ids("one") == ["evt_1"] and post.states("one") == {"sent": 1}


def test_a_target_that_is_gone_from_the_settings_keeps_nothing_waiting(post: Post) -> None:
    post.answers["one"] = BAD
    post.add("evt_1")
    post.go(2)
    with post.database.writing() as connection:
        deliveries.drop_others(connection, ["two"], post.now())
    assert post.states("one") == {"dropped": 1} and post.states("two") == {"sent": 1}


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_up_to_an_hour(failures: int, random: float) -> None:
    wait = delivery_rules.wait_seconds(failures, random)
    assert 8 <= wait <= 1.2 * HOUR
    assert wait <= delivery_rules.wait_seconds(failures + 1, random)


def test_o23_a_real_target_that_hangs_keeps_up_no_other_and_no_thread_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty events; the threads end with the server, also in the middle of an attempt."""
    monkeypatch.setattr(pinned_socket.Deadline.__init__, "__defaults__", (2.0,))
    before = threading.active_count()
    with web_receiver() as hanging, web_receiver() as good:
        hanging.answer = hangs
        book = TargetBook(written(tmp_path, hook("hanging", hanging.port) + hook("good", good.port)), ENVIRONMENT)
        with closing(Database.open(tmp_path / "server" / "server.db", time.time)) as database:
            for at in range(20):
                event = OutboxEvent(f"evt_{at}", "run.failed", "run", "", "shop", time.time(), {"timestamp": "t"})
                with database.writing() as connection:
                    outbox_events.add(connection, event, ["hanging", "good"], time.time())
            deliverer = Deliverer(database, book, time.monotonic, time.time, lambda: 0.5)
            deliverer.keep_up()
            until = time.monotonic() + 60
            while len(good.received) < 20 and time.monotonic() < until:
                deliverer.keep_up()
                time.sleep(0.02)
            assert good.ids == [f"evt_{at}" for at in range(20)]
            assert set(hanging.ids) == {"evt_0"}
            deliverer.close(20)
            assert [one for one in threading.enumerate() if one.name.startswith("notify")] == []
            with database.reading() as connection:
                assert deliveries.counts(connection)["good", DeliveryState.SENT] == 20
    until = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.05)
    assert threading.active_count() <= before
