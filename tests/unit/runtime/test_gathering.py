"""Records that come within a moment are one write; none waits longer than that, or for nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from seatunnel_py.protocol.commit.record_batcher import HubCommand, PersistTogether
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.runtime.driver.record_batcher import MOMENT_SECONDS, RecordBatcher
from tests.protocol.talk import PAIR, Talk

DUE = 10.0


@dataclass(frozen=True)
class Life:
    """As much of a pipeline as a batcher of records knows."""

    coordinator: Coordinator

    @property
    def view(self) -> CoordinatorView:
        return self.coordinator.view


class Job:
    """Pipelines that run, and what is written of them."""

    def __init__(self, *names: str, interval: float = DUE) -> None:
        self.talks = {name: Talk() for name in names}
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.writes: list[PersistTogether] = []
        lives: Any = {name: Life(talk.coordinator) for name, talk in self.talks.items()}
        self.gathering = RecordBatcher(lives, interval, self._after, self._perform, lambda: DUE)

    def _after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        self.later.append((seconds, call))

    def _perform(self, commands: Iterable[HubCommand]) -> None:
        self.writes += [command for command in commands if isinstance(command, PersistTogether)]

    @property
    def written(self) -> list[set[str]]:
        return [set(write.records) for write in self.writes]

    def running(self) -> Job:
        for talk in self.talks.values():
            talk.start()
        return self

    def trigger(self, *names: str) -> Job:
        for name in names:
            self.talks[name].progress()
            self.gathering.handle(name, ev.Timer(DUE, "trigger"))
        return self

    def acknowledge(self, name: str) -> None:
        talk = self.talks[name]
        number = talk.coordinator.shared.next_checkpoint - 1
        for subtask in PAIR.subtasks():
            self.gathering.handle(
                name, ev.Acknowledged(DUE, 1, talk.epoch(subtask), subtask, number, SubtaskSnapshot())
            )

    def moment_over(self) -> None:
        (_, call), self.later = self.later[0], self.later[1:]
        call()


def test_who_is_alone_waits_for_nobody() -> None:
    job = Job("a", "b").running().trigger("a")
    job.acknowledge("a")

    assert job.written == [{"a"}] and not job.later


def test_the_last_one_that_is_under_way_takes_the_others_along() -> None:
    """Nobody waits for the rest of the moment."""
    job = Job("a", "b", "c").running().trigger("a", "b", "c")
    job.acknowledge("a")
    job.acknowledge("b")
    assert job.written == [] and [seconds for seconds, _ in job.later] == [MOMENT_SECONDS]
    job.acknowledge("c")

    assert job.written == [{"a", "b", "c"}]


def test_one_whose_barrier_takes_long_keeps_nobody_waiting_for_longer_than_a_moment() -> None:
    job = Job("a", "b", "slow").running().trigger("a", "b", "slow")
    job.acknowledge("a")
    job.acknowledge("b")
    job.moment_over()
    assert job.written == [{"a", "b"}]
    job.gathering.stored(job.writes[0].number, ok=True, fenced=False)
    job.acknowledge("slow")

    assert job.written == [{"a", "b"}, {"slow"}]


def test_what_comes_while_a_write_is_under_way_goes_with_the_next_one() -> None:
    """HU1: and at once, if nobody else is under way."""
    job = Job("a", "b", "c").running().trigger("a", "b", "c")
    job.acknowledge("a")
    job.moment_over()
    job.acknowledge("b")
    job.acknowledge("c")
    assert job.written == [{"a"}] and not job.later
    job.gathering.stored(job.writes[0].number, ok=True, fenced=False)

    assert job.written == [{"a"}, {"b", "c"}]


def test_a_beginning_waits_for_nobody() -> None:
    """Nothing of a pipeline runs before its checkpoint 0 is durable."""
    job = Job("a", "b")
    job.talks["a"].start()
    job.trigger("a")
    job.gathering.handle("b", ev.Activated(DUE, 1))

    assert job.written == [{"b"}]


def test_a_short_interval_has_a_short_moment() -> None:
    job = Job("a", "b", interval=0.2).running().trigger("a", "b")
    job.acknowledge("a")

    assert [seconds for seconds, _ in job.later] == [0.2 / 20]
