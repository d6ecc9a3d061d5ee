"""Messages that are lost, answers that lie, brokers that die, drivers that sleep: nothing is lost, nothing comes twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from seatunnel_connectors.kafka.sink import ledger
from seatunnel_py.api import FatalError, Piece, RetriableError
from tests.connectors.kafka.sink_support import Job, records, rows, splits, whole
from tests.servers.kafka import KafkaServer
from tests.servers.kafka_proxy import (
    END_TXN,
    NOT_ENOUGH_REPLICAS,
    OUT_OF_ORDER_SEQUENCE,
    PRODUCE,
    Fate,
    ProxiedKafka,
    Proxy,
    Refuse,
    Request,
    Rule,
    ask,
    end_error,
    let_pass,
    says_commit,
)


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with ProxiedKafka.running() as server, Proxy(server.port, server.proxy_port) as running:
        yield running


@pytest.fixture
def job(proxy: Proxy, topic: str, tmp_path: Path) -> Iterator[Job]:
    proxy.rule = let_pass
    yield Job(f"127.0.0.1:{proxy.port}", topic, tmp_path / "staged", lineage=topic, job_id=topic).started()
    proxy.rule = let_pass


def once(api: int, fate: Fate | Refuse) -> Rule:
    """The first request of this kind meets its fate; the others pass."""
    left = [fate]
    return lambda request: left.pop() if request.api == api and left else Fate.PASS


def at_last(job: Job, checkpoint: int, *pieces: Piece) -> None:
    """As the coordinator does: a commit that failed in a way that may pass is tried again."""
    for _ in range(5):
        try:
            job.commit(checkpoint, *pieces)
        except RetriableError:
            continue
        return
    raise AssertionError("the commit never worked")


@pytest.mark.parametrize("fate", [Fate.LOSE, Fate.LOSE_ANSWER], ids=["the word is lost", "the answer is lost"])
def test_the_end_of_a_transaction_that_is_lost(job: Job, proxy: Proxy, fate: Fate) -> None:
    """Whoever does not know whether it was committed asks the ledger."""
    piece = job.stage("0@0", rows(0, 0, 100))
    proxy.rule = once(END_TXN, fate)

    at_last(job, 1, piece)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(100)))


def test_an_ok_that_was_none_is_not_believed(job: Job, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding 2: the client reports a commit that the cluster has not made."""
    monkeypatch.setattr(ledger, "SECONDS", 2.0)
    job.commit(1, job.stage("0@0", rows(0, 0, 100)))
    piece = job.stage("0@100", rows(0, 100, 100))
    proxy.rule = once(END_TXN, Fate.PRETEND)

    with pytest.raises(RetriableError):
        job.commit(2, piece)
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(100)))
    assert piece.data["file"] in job.staged_files(), "what was not committed is kept"
    at_last(job, 2, piece)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(200)))


def test_a_send_that_is_never_confirmed_commits_nothing(proxy: Proxy, topic: str, tmp_path: Path) -> None:
    """F38: NotEnoughReplicas until the delivery time-out."""
    proxy.rule = let_pass
    config = {"kafka.config": {"delivery.timeout.ms": "1500", "request.timeout.ms": "1000", "linger.ms": "0"}}
    job = Job(f"127.0.0.1:{proxy.port}", topic, tmp_path, lineage=topic, job_id=topic, options=config).started()
    job.commit(1, job.stage("0@0", rows(0, 0, 10)))
    piece = job.stage("0@10", rows(0, 10, 10))
    proxy.rule = lambda request: Refuse(NOT_ENOUGH_REPLICAS) if request.api == PRODUCE else Fate.PASS
    ends = len(committed(proxy))

    with pytest.raises(RetriableError, match="not confirmed"):
        job.commit(2, piece)

    assert len(committed(proxy)) == ends, "no commit was asked for"
    proxy.rule = let_pass
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(10)))
    at_last(job, 2, piece)
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(20)))


def test_a_sequence_error_is_not_reported_as_success(job: Job, proxy: Proxy) -> None:
    """F39: records are refused as out of order in the middle of a commit."""
    job.commit(1, job.stage("0@0", rows(0, 0, 10)))
    piece = job.stage("0@10", rows(0, 10, 5000))
    proxy.rule = once(PRODUCE, Refuse(OUT_OF_ORDER_SEQUENCE))

    at_last(job, 2, piece)

    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(5010)))


def test_at_least_once_fails_the_unit_whose_records_are_not_confirmed(proxy: Proxy, topic: str, tmp_path: Path) -> None:
    """I32: SeaTunnel does not look at this, and loses the rows."""
    proxy.rule = let_pass
    options = {"semantics": "NON", "kafka.config": {"delivery.timeout.ms": "1500", "request.timeout.ms": "1000"}}
    job = Job(f"127.0.0.1:{proxy.port}", topic, tmp_path, options=options).started()
    proxy.rule = lambda request: Refuse(NOT_ENOUGH_REPLICAS) if request.api == PRODUCE else Fate.PASS

    with pytest.raises(RetriableError, match="not confirmed"):
        job.stage("0@0", rows(0, 0, 10))

    proxy.rule = let_pass
    assert job.stage("0@0", rows(0, 0, 10), attempt=1).rows == 10
    assert set(splits(records(job.bootstrap, job.topic))[0]) == set(range(10))


def committed(proxy: Proxy) -> list[Request]:
    """Every "commit" that was asked for."""
    return [request for request in proxy.requests(END_TXN) if says_commit(request)]


def test_a_late_commit_of_an_earlier_transaction_is_refused(
    job: Job, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding 3, F40: "commit 1" arrives once more while checkpoint 2 is half written."""
    job.commit(1, job.stage("0@0", rows(0, 0, 10)))
    late = committed(proxy)[-1]
    piece = job.stage("0@10", rows(0, 10, 10))

    with paused("kafka.commit.inside", lambda: job.commit(2, piece), tmp_path, monkeypatch) as outcome:
        answer = ask(proxy.target, late.frame)
        assert end_error(late, answer) != 0
        assert splits(records(job.bootstrap, job.topic)) == whole((0, range(10)))

    assert outcome == [None]
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(20)))


def test_a_driver_that_slept_through_its_commit_adds_nothing(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F42: it stops just before "commit"; the next driver does its work; then it wakes up."""
    piece = job.stage("0@0", rows(0, 0, 100))

    with paused("kafka.commit.inside", lambda: job.commit(1, piece), tmp_path, monkeypatch) as outcome:
        newer = job.restarted()
        assert newer.recover(1) is None
        newer.commit(1, piece)
        newer.commit(2, newer.stage("0@100", rows(0, 100, 100)))

    assert isinstance(outcome[0], RetriableError)
    with pytest.raises(FatalError, match="newer run"):
        job.commit(1, piece)
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(200)))


def test_a_fenced_driver_does_not_disturb_the_owner(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding 4: it comes while the owner's transaction is open."""
    job.commit(1, job.stage("0@0", rows(0, 0, 10)))
    late = job.stage("1@0", rows(1, 0, 10))
    newer = job.restarted()
    newer.recover(1)
    piece = newer.stage("0@10", rows(0, 10, 10))

    with paused("kafka.commit.inside", lambda: newer.commit(2, piece), tmp_path, monkeypatch) as outcome:
        monkeypatch.setattr(ledger, "SECONDS", 1.0)  # the owner's transaction is open in the ledger, too
        with pytest.raises((FatalError, RetriableError)):
            job.commit(2, late)

    assert outcome == [None], "the owner's first try works"
    assert splits(records(job.bootstrap, job.topic)) == whole((0, range(20)))


def test_a_broker_that_is_killed_during_a_commit(topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F37, F44, for the broker is its own coordinator: nothing but another try is needed."""
    with KafkaServer.running() as server:
        job = Job(server.dsn, topic, tmp_path / "staged").started()
        job.commit(1, job.stage("0@0", rows(0, 0, 10)))
        for number, moment in enumerate(("written", "inside", "committed"), start=1):
            piece = job.stage(f"0@{number}", rows(0, number * 10, 10))

            with paused(f"kafka.commit.{moment}", partial(job.commit, number + 1, piece), tmp_path, monkeypatch):
                server.kill9()
                server.start()
            at_last(job, number + 1, piece)

            assert splits(records(server.dsn, topic)) == whole((0, range(number * 10 + 10)))


class paused:
    """Runs ``act`` on a thread up to a failpoint; goes on with it when the block ends. Gives what ``act`` raised."""

    def __init__(self, moment: str, act: Callable[[], None], place: Path, patch: pytest.MonkeyPatch) -> None:
        self._hits = place / moment
        self._hits.mkdir()
        self._moment, self._act, self._patch = moment, act, patch
        self._outcome: list[Exception | None] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> list[Exception | None]:
        self._patch.setenv("SEATUNNEL_FAILPOINT", f"{self._moment}:pause")
        self._patch.setenv("SEATUNNEL_FAILPOINT_DIR", str(self._hits))
        self._thread.start()
        while not (self._hits / f"{self._moment}.acted").exists():
            assert self._thread.is_alive(), f"it never came to {self._moment}: {self._outcome}"
            self._thread.join(0.02)
        return self._outcome

    def __exit__(self, *_: object) -> None:
        (self._hits / f"{self._moment}.go").touch()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._act()
            self._outcome.append(None)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
            self._outcome.append(error)
