"""F22: a storage that is away for a while ends no job, and nobody hears of what is over at once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from seatunnel_py.errors import FatalError, RetriableError
from seatunnel_py.runtime.observe.events import JobEvent, StoreUnavailable
from seatunnel_py.runtime.storage import retrying_storage
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.checksum_seal import sealed
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.retrying_storage import AWAY_SECONDS_MAX, RetryingStorage


class Away(LocalStorage):
    """The next ``refusals`` acts are not performed, or are and nobody hears so (``late``)."""

    refusals, late, acts = 0, False, 0

    def create(self, name: str, data: bytes) -> bool:
        if self.late:
            super().create(name, data)
        self._refuse()
        return super().create(name, data)

    def get(self, name: str) -> bytes | None:
        self._refuse()
        return super().get(name)

    def _refuse(self) -> None:
        self.acts += 1
        if self.refusals:
            self.refusals -= 1
            raise RetriableError("no answer", "wait")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Pauses take no time; here is how long each was. Threads of other tests go by the time that it is."""
    pauses: list[float] = []
    own = SimpleNamespace(sleep=pauses.append, monotonic=lambda: sum(pauses), time=time.time)
    monkeypatch.setattr(retrying_storage, "time", own)
    yield pauses


def patient(away: Away, *, endless: bool = False, told: Callable[[JobEvent], None] = lambda _: None) -> RetryingStorage:
    made = RetryingStorage(away, endless=endless)
    made.begin(told)
    return made


def test_it_is_asked_again_and_people_hear_once(tmp_path: Path, clock: list[float]) -> None:
    away, told = Away(tmp_path), list[JobEvent]()
    made = patient(away, told=told.append)
    made.create("records/1", b"one")
    away.refusals = 9

    assert made.get("records/1") == b"one"

    first, second = told
    assert isinstance(first, StoreUnavailable) and first.message == "no answer"
    assert isinstance(second, StoreUnavailable) and not second.message and second.seconds == pytest.approx(sum(clock))
    assert all(longer >= shorter for shorter, longer in itertools.pairwise(clock)), "pauses grow"


def test_what_is_over_at_once_is_not_told(tmp_path: Path, clock: list[float]) -> None:
    away, told = Away(tmp_path), list[JobEvent]()
    made = patient(away, told=told.append)
    away.refusals = 2

    assert made.get("records/1") is None
    assert len(clock) == 2 and told == []


def test_a_bounded_job_gives_up_and_a_stream_does_not(tmp_path: Path, clock: list[float]) -> None:
    away = Away(tmp_path)
    away.refusals = 1_000
    with pytest.raises(RetriableError, match="no answer"):
        patient(away).get("records/1")
    assert AWAY_SECONDS_MAX / 2 < sum(clock) <= AWAY_SECONDS_MAX

    assert patient(away, endless=True).get("records/1") is None
    assert sum(clock) > 1_000


def test_before_the_job_runs_nobody_waits(tmp_path: Path, clock: list[float]) -> None:
    away = Away(tmp_path)
    away.refusals = 1
    with pytest.raises(RetriableError):
        RetryingStorage(away, endless=True).get("records/1")
    assert clock == []


def test_what_cannot_pass_is_not_asked_again(tmp_path: Path, clock: list[float]) -> None:
    class Full(Away):
        def append(self, name: str, data: bytes) -> None:
            self.acts += 1
            raise FatalError("no space left")

    full = Full(tmp_path)
    with pytest.raises(FatalError):
        patient(full).append("journal/1", b"line")
    assert (full.acts, clock) == (1, [])


def test_a_record_that_arrived_although_nobody_heard_so_is_written(tmp_path: Path, clock: list[float]) -> None:
    """The second try finds its own content under the name."""
    away = Away(tmp_path)
    store = CheckpointStore(patient(away))
    assert store.take(1, "lineage")
    away.refusals, away.late = 1, True

    store.claim(1, {})

    assert len(clock) == 1
    assert LocalStorage(tmp_path).get("claims/00000001") == sealed("claims/00000001", b"{}", "lineage")
