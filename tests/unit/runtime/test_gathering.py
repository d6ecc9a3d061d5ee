"""Records that come within a moment are one write; none waits longer than that, or for nobody."""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.protocol.commit.record_batcher import PersistTogether
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.commands import Persist
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.runtime.driver.record_batcher import MOMENT_SECONDS, RecordBatcher
from tests.protocol.talk import PAIR, Talk

DUE = 10.0


@dataclass(frozen=True)
class Pipeline:
    """As much of a pipeline as a batcher of records knows."""

    coordinator: Coordinator

    @property
    def view(self) -> CoordinatorView:
        return self.coordinator.view


class Job:
    """Pipelines that run, and what is written of them."""

    def __init__(self, *names: str, interval: float = DUE) -> None:
        self.talks = {name: Talk() for name in names}
        self.later: list[float] = []
        self.writes: list[PersistTogether] = []
        pipelines = {name: Pipeline(talk.coordinator) for name, talk in self.talks.items()}
        self.gathering = RecordBatcher(pipelines, interval, self.later.append, self.writes.append)

    def handle(self, name: str, event: ev.CoordinatorEvent) -> None:
        for command in self.talks[name].coordinator.handle(event):
            if isinstance(command, Persist):
                self.gathering.add(name, command.record)
        self.gathering.look()

    def stored(self, write: PersistTogether) -> None:
        for name, record in self.gathering.stored(write.number).items():
            self.handle(name, ev.Persisted(DUE, record.checkpoint))
        self.gathering.look()

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
            self.handle(name, ev.Timer(DUE, "trigger"))
        return self

    def acknowledge(self, name: str) -> None:
        talk = self.talks[name]
        number = talk.coordinator.shared.next_checkpoint - 1
        for subtask in PAIR.subtasks():
            self.handle(name, ev.Acknowledged(DUE, 1, talk.epoch(subtask), subtask, number, SubtaskSnapshot()))

    def moment_over(self) -> None:
        self.later.pop(0)
        self.gathering.moment_over()


def test_who_is_alone_waits_for_nobody() -> None:
    job = Job("a", "b").running().trigger("a")
    job.acknowledge("a")

    assert job.written == [{"a"}] and not job.later


def test_the_last_one_that_is_under_way_takes_the_others_along() -> None:
    """Nobody waits for the rest of the moment."""
    job = Job("a", "b", "c").running().trigger("a", "b", "c")
    job.acknowledge("a")
    job.acknowledge("b")
    assert job.written == [] and job.later == [MOMENT_SECONDS]
    job.acknowledge("c")

    assert job.written == [{"a", "b", "c"}]


def test_one_whose_barrier_takes_long_keeps_nobody_waiting_for_longer_than_a_moment() -> None:
    job = Job("a", "b", "slow").running().trigger("a", "b", "slow")
    job.acknowledge("a")
    job.acknowledge("b")
    job.moment_over()
    assert job.written == [{"a", "b"}]
    job.stored(job.writes[0])
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
    job.stored(job.writes[0])

    assert job.written == [{"a"}, {"b", "c"}]


def test_a_beginning_waits_for_nobody() -> None:
    """Nothing of a pipeline runs before its checkpoint 0 is durable."""
    job = Job("a", "b")
    job.talks["a"].start()
    job.trigger("a")
    job.handle("b", ev.Activated(DUE, 1))

    assert job.written == [{"b"}]


def test_a_short_interval_has_a_short_moment() -> None:
    job = Job("a", "b", interval=0.2).running().trigger("a", "b")
    job.acknowledge("a")

    assert job.later == [0.2 / 20]


def test_a_record_of_a_pipeline_that_has_ended_is_never_written() -> None:
    """B13 of the machine's study: written behind the end, a checkpoint of rows that are dropped would be gone on
    from."""
    job = Job("a", "b").running().trigger("a", "b")
    job.acknowledge("a")
    job.gathering.forget("a")
    job.acknowledge("b")
    job.moment_over()

    assert job.written == [{"b"}]
