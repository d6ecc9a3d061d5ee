"""What readers report is heard before their unit counts, and what follows from it is durable by then."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from test_driver_late import SECONDS_MAX, wait_until
from test_enumerating import Growing, GrowingEnumerator, Job, Outside, X, found_is_kept_slowly

from seatunnel_py.api import Enumerator, FatalError, Plain, RetriableError, SourceTable, Split
from seatunnel_py.runtime.observe.events import UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import Unit, UnitResult
from tests.kit.runtime_toys import worked

EVENT: Plain = {"divide at": 10}


@dataclass
class Hearing(Outside):
    """``heard`` are the events, each with its split; each is answered with a split of its own."""

    heard: list[tuple[str, Plain]] = field(default_factory=list)


class HearingEnumerator(GrowingEnumerator):
    def __init__(self, outside: Hearing, state: Plain) -> None:
        super().__init__(outside, state)
        self.hearing = outside

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        with self._alone():
            self.hearing.heard.append((split.id, event))
            self.hearing.fail("event")
            return [Split(f"{split.id}, rest", X, rows=15)]


@dataclass(frozen=True)
class Reporting(Growing):
    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        assert isinstance(self.outside, Hearing)
        self.outside.states.append(state)
        return HearingEnumerator(self.outside, state)


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Hearing:
    monkeypatch.setattr("test_enumerating.Growing", Reporting)
    made = Hearing()
    made.add("a", "b")
    return made


def job_of(place: Path, outside: Hearing, **more: Any) -> Job:
    """The first unit of split a reports something."""
    job = Job(place, outside, **more)

    def script(unit: Unit) -> UnitResult:
        result = worked(unit, job.engine.vertices[unit.id.vertex])
        reports = unit.split is not None and unit.split.id == "a" and unit.start is None
        return replace(result, events=(("a", EVENT),)) if reports else result

    job.engine.script = script
    return job


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("fork", [False, True])
def test_splits_that_follow_from_an_event_are_read(
    tmp_path: Path, outside: Hearing, fork: bool, parallelism: int
) -> None:
    with job_of(tmp_path, outside, fork=fork, parallelism=parallelism) as job:
        job.wait_for_rows({"a": 25, "b": 25, "a, rest": 15})

    assert outside.heard == [("a", EVENT)]


def test_a_unit_counts_when_what_follows_is_durable(
    tmp_path: Path, outside: Hearing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads on behind it before, so no checkpoint can be behind it and without the split."""
    reached, free = found_is_kept_slowly(monkeypatch)
    with job_of(tmp_path, outside) as job:
        assert reached.wait(SECONDS_MAX)
        assert job.rows["a"] == list(range(10)) and "a, rest" not in job.rows
        free.set()
        job.wait_for_rows({"a": 25, "b": 25, "a, rest": 15})


def test_the_next_driver_knows_what_followed(tmp_path: Path, outside: Hearing) -> None:
    with job_of(tmp_path, outside) as job:
        job.wait_for_rows({"a": 25, "b": 25, "a, rest": 15})
    outside.add("c")

    with job_of(tmp_path, outside) as again:
        again.wait_for_rows({"c": 25})

    assert outside.heard == [("a", EVENT)]


def test_an_enumerator_that_fails_at_it_fails_the_unit(tmp_path: Path, outside: Hearing) -> None:
    """What may pass is another attempt at the unit, which reports again; its rows count once."""

    def once(what: str) -> None:
        if what == "event" and len(outside.heard) == 1:
            raise RetriableError("the place is away")

    outside.fail = once
    with job_of(tmp_path, outside) as job:
        wait_until(lambda: "a, rest" in job.rows)
        retried = [event for event in job.events if isinstance(event, UnitRetried)]

    assert outside.heard == [("a", EVENT)] * 2
    assert "the place is away" in str(retried)


def test_an_event_that_nobody_can_bear_ends_its_table(tmp_path: Path, outside: Hearing) -> None:
    def never(what: str) -> None:
        if what == "event":
            raise FatalError("no such place")

    outside.fail = never
    with job_of(tmp_path, outside) as job:
        wait_until(job.ended)

    assert job.ended() == [TableState.FAILED] and "no such place" in str(job.events)


@pytest.mark.parametrize("fails", [False, True])
def test_a_job_ends_while_somebody_hears(tmp_path: Path, outside: Hearing, fails: bool) -> None:
    """A second stop does not wait for a checkpoint; whoever waits for the enumerator is let go (``Job`` says a hang)."""
    hears, free = threading.Event(), threading.Event()

    def slowly(what: str) -> None:
        if what == "event":
            hears.set()
            assert free.wait(SECONDS_MAX)
            if fails:
                raise FatalError("too late")

    outside.fail = slowly
    with job_of(tmp_path, outside) as job:
        assert hears.wait(SECONDS_MAX)
        job.driver.stop()
        job.driver.stop()
        wait_until(job.ended)
        free.set()

    assert job.ended() == [TableState.STOPPED]
