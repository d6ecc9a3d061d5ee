"""Requests to a running job: performed by the driver, answered once, whoever died meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from test_driver_late import Job, wait_until
from test_left_out import SeenAs

from seatunnel_py.api import FatalError, RetriableError
from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.control import request_handler
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.observe.events import RequestAnswered, SinkIsolated
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.storage.checksum_seal import sealed
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.savepoint_store import SavepointSummary
from seatunnel_py.work.unit import Unit
from tests.kit.runtime_toys import Target, ToySink, ToySource, forked, straight


class Asked:
    """A job that is asked for something. Units of table x are held back until ``go``."""

    def __init__(
        self, place: Path, pipelines: list[Pipeline], hold: Callable[[Unit], bool], interval: float | None = None
    ) -> None:
        self.control = RequestStore(LocalStorage(place))
        self.records: dict[str, Mapping[str, CheckpointRecord]] = {}
        self.told: dict[str, SavepointSummary] = {}
        self.job = Job(pipelines, place, interval=interval)
        self.job.driver.attach_control(RequestHandler(self.control, "this run", self))
        self.job.engine.script = lambda unit: None if hold(unit) else self.job.engine.work(unit)

    def kept(self, name: str) -> SavepointSummary | None:
        return self.told.get(name)

    def keep(
        self, name: str, request: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]
    ) -> SavepointSummary:
        self.records[name] = records
        self.told[name] = SavepointSummary(name, request, {key: one.checkpoint for key, one in records.items()}, absent)
        return self.told[name]

    def ask(self, wish: RequestKind, request: str = "r", **more: Any) -> None:
        self.control.ask(ControlRequest(request, wish, **{"run": "this run", "name": "sp", "seconds": 20.0, **more}))

    def heard(self, request: str = "r") -> None:
        """The driver has begun with it, and says what it waits for."""
        wait_until(lambda: self.control.told(request))

    def go(self) -> None:
        self.job.engine.script = self.job.engine.work
        for unit_id, unit in list(self.job.engine.held.items()):
            del self.job.engine.held[unit_id]
            self.job.engine._say(unit_id, self.job.engine.work(unit))

    def answer(self, request: str = "r") -> ControlAnswer:
        wait_until(lambda: self.control.answered(request) is not None)
        answer = self.control.answered(request)
        assert answer is not None
        return answer

    def states(self) -> dict[str, TableState]:
        return {one.name: one.state for one in self.job.driver.status()}


def two(target: Target) -> list[Pipeline]:
    return [
        straight("x", ToySource((30,)), ToySink("out", target)),
        straight("y", ToySource((10,)), ToySink("out", Target())),
    ]


def of_x(unit: Unit) -> bool:
    return unit.id.vertex == "x" and unit.id.sequence > 1


def begun(asked: Asked) -> None:
    """Table y is done, a unit of x is under way."""
    asked.job.thread.start()
    wait_until(lambda: asked.states()["y"] is TableState.DONE and asked.job.engine.held)


def test_a_savepoint_holds_a_checkpoint_of_every_pipeline(tmp_path: Path) -> None:
    """One that has ended is in it as ended; no staged piece is named any more, for all were committed (I44)."""
    target = Target()
    asked = Asked(tmp_path, two(target), of_x)
    begun(asked)
    asked.ask(RequestKind.SAVEPOINT)
    asked.heard()
    asked.go()
    answer = asked.answer()
    asked.job.end()

    records = asked.records["sp"]
    assert answer.done and answer.about["checkpoints"].keys() == {"x", "y"}
    assert records["y"].kind is RecordKind.FINAL
    assert all(not record.uncommitted for record in records.values())
    assert all(not one.pieces for record in records.values() for one in record.snapshots.values())
    assert set(asked.states().values()) == {TableState.DONE}
    assert sum(piece.rows for piece in target.committed) == 30


def test_a_job_ends_behind_a_savepoint(tmp_path: Path) -> None:
    """What it holds is committed, and nothing more is read."""
    target = Target()
    asked = Asked(tmp_path, two(target), of_x)
    begun(asked)
    asked.ask(RequestKind.STOP)
    asked.heard()
    asked.go()
    answer = asked.answer()
    asked.job.end()

    assert answer.done, answer
    assert asked.records["sp"]["x"].kind is RecordKind.SAVEPOINT
    assert asked.states()["x"] is TableState.STOPPED
    assert asked.job.driver.job.stopped_by == 143
    assert 0 < sum(piece.rows for piece in target.committed) < 30


def test_one_table_is_cancelled_and_the_other_goes_on(tmp_path: Path) -> None:
    target = Target()
    asked = Asked(tmp_path, two(target), lambda unit: unit.id.sequence > 0)
    asked.job.thread.start()
    wait_until(lambda: len(asked.job.engine.held) == 2)
    asked.ask(RequestKind.CANCEL, tables=("x",))
    answer = asked.answer()
    asked.go()
    asked.job.end()

    assert answer.done and answer.about == {"x": "STOPPED"}
    assert asked.states() == {"x": TableState.STOPPED, "y": TableState.DONE}
    assert "commit" not in target.told


@pytest.mark.parametrize(
    ("wish", "more", "words"),
    [
        (RequestKind.CANCEL, {"run": "a dead one"}, "the driver that was to end is dead"),
        (RequestKind.STOP, {"run": "a dead one"}, "the driver that was to end is dead"),
        (RequestKind.CANCEL, {"tables": ("z",)}, "the job has no table z"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, wish: RequestKind, more: dict[str, Any], words: str) -> None:
    """An end that was asked of a dead run would end one that somebody has started since."""
    asked = Asked(tmp_path, two(Target()), of_x)
    asked.ask(wish, **more)
    asked.job.thread.start()
    answer = asked.answer()
    asked.go()
    asked.job.end()

    assert not answer.done and words in answer.text
    assert set(asked.states().values()) == {TableState.DONE}


def test_a_savepoint_that_was_asked_of_a_dead_driver_is_taken_by_the_next_one(tmp_path: Path) -> None:
    """O24."""
    asked = Asked(tmp_path, two(Target()), of_x)
    asked.ask(RequestKind.SAVEPOINT, run="a dead one")
    begun(asked)
    asked.heard()
    asked.go()

    assert asked.answer().done
    asked.job.end()


@pytest.mark.parametrize("wish", [RequestKind.SAVEPOINT, RequestKind.STOP])
def test_a_name_that_is_taken_is_refused_before_anything_ends(tmp_path: Path, wish: RequestKind) -> None:
    target = Target()
    asked = Asked(tmp_path, two(target), of_x)
    asked.told["sp"] = SavepointSummary("there", "of another one", {}, ())
    begun(asked)
    asked.ask(wish)
    answer = asked.answer()
    asked.go()
    asked.job.end()

    assert not answer.done and answer.text == "there is a savepoint 'sp' already: there"
    assert set(asked.states().values()) == {TableState.DONE}
    assert sum(piece.rows for piece in target.committed) == 30


def test_a_savepoint_that_a_driver_kept_and_died_is_told_by_the_next_one(tmp_path: Path) -> None:
    """O24: Whoever asked for it has it; it is not taken twice."""
    asked = Asked(tmp_path, two(Target()), of_x)
    asked.told["sp"] = SavepointSummary("there", "r", {"x": 4}, ("y",))
    begun(asked)
    asked.ask(RequestKind.SAVEPOINT)
    answer = asked.answer()
    asked.go()
    asked.job.end()

    assert answer.done and answer.about["path"] == "there" and answer.about["checkpoints"] == {"x": 4}
    assert answer.text == "savepoint sp: 1 of 2 tables had begun"
    assert asked.records == {}


def test_a_savepoint_that_takes_too_long_says_who_keeps_it_waiting(tmp_path: Path) -> None:
    """U17: A unit that does not end: its table is named, and the job goes on."""
    asked = Asked(tmp_path, two(Target()), of_x)
    begun(asked)
    asked.ask(RequestKind.SAVEPOINT, seconds=0.1)
    answer = asked.answer()
    asked.go()
    asked.job.end()

    assert not answer.done and "x: its checkpoint is under way" in answer.text
    assert asked.states()["x"] is TableState.DONE


@pytest.mark.parametrize("wish", [RequestKind.SAVEPOINT, RequestKind.STOP])
def test_rows_that_a_target_refuses_are_in_no_savepoint(tmp_path: Path, wish: RequestKind) -> None:
    """B2 of the machine's study: it waited until its time was up, and never said why. The job goes on."""
    refusing = Target()

    def act(what: str) -> None:
        if what == "commit":
            raise FatalError("it takes no commit")

    refusing.act = act
    sinks = [SeenAs("out0", refusing, Visible.COMMITTED), SeenAs("out1", Target(), Visible.COMMITTED)]
    pipeline = forked("x", ToySource((1_000_000,)), sinks)

    def left_out(_: Unit) -> bool:
        return any(isinstance(one, SinkIsolated) for one in asked.job.events)

    asked = Asked(tmp_path, [pipeline], left_out, interval=0.01)
    asked.job.thread.start()
    wait_until(lambda: asked.job.engine.held)
    asked.ask(wish, seconds=20.0)
    answer = asked.answer()
    state, stopped_by = asked.states()["x"], asked.job.driver.job.stopped_by
    asked.job.driver.stop()
    asked.job.end()

    assert not answer.done and not asked.records and stopped_by == 0 and not state.ended
    assert "a savepoint would lose rows: x: its target has refused the commit of checkpoint" in answer.text


def test_a_request_is_answered_once(tmp_path: Path) -> None:
    """Asked again under its id it is the same; another answer changes nothing."""
    asked = Asked(tmp_path, two(Target()), of_x)
    begun(asked)
    for _ in range(2):
        asked.ask(RequestKind.SAVEPOINT)
    asked.heard()
    asked.go()
    answer = asked.answer()
    asked.ask(RequestKind.CANCEL)
    asked.job.end()

    assert not asked.control.answer(ControlAnswer("r", False, "no"))
    assert asked.control.answered("r") == answer
    assert len([event for event in asked.job.events if isinstance(event, RequestAnswered)]) == 1
    assert set(asked.states().values()) == {TableState.DONE}


def test_a_place_that_cannot_be_read_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever asks when it is there again is heard."""
    monkeypatch.setattr(request_handler, "POLL_SECONDS", 0.01)
    asked = Asked(tmp_path, two(Target()), of_x)
    away, looks = threading.Event(), iter(range(1000))
    names = LocalStorage.names

    def looked(storage: LocalStorage, folder: str) -> Any:
        if folder == "control" and not away.is_set():
            next(looks)
            raise RetriableError("it is away")
        return names(storage, folder)

    monkeypatch.setattr(LocalStorage, "names", looked)
    begun(asked)
    wait_until(lambda: next(looks) > 10)
    away.set()
    asked.ask(RequestKind.SAVEPOINT)
    asked.heard()
    asked.go()
    assert asked.answer().done
    asked.job.end()

    told = [event for event in asked.job.events if isinstance(event, RequestAnswered) and not event.done]
    assert [event.text for event in told] == ["cannot be read or answered: it is away"]


def test_a_question_of_a_newer_version_is_answered_and_keeps_no_other_from_being_heard(tmp_path: Path) -> None:
    control = RequestStore(LocalStorage(tmp_path))
    for name, plain in {"new": {"wish": "dance"}, "more": {"pace": 3}}.items():
        text = json.dumps({**asdict(ControlRequest(name, RequestKind.CANCEL, "run")), **plain}).encode()
        LocalStorage(tmp_path).create(f"control/{name}.request", sealed(f"control/{name}.request", text))
    control.ask(ControlRequest("known", RequestKind.CANCEL, "run"))

    assert [one.id for one in control.open()] == ["known"]
    for name in ("new", "more"):
        answer = control.answered(name)
        assert answer is not None and not answer.done and "does not know the request" in answer.text


@pytest.mark.parametrize(("run", "works"), [("this run", True), ("", True), ("an older run", False)])
def test_a_driver_says_that_it_works_for_itself_only(tmp_path: Path, run: str, works: bool) -> None:
    """Although its target takes no rows: the answer is the loop's."""
    asked = Asked(tmp_path, two(Target()), of_x)
    begun(asked)
    asked.ask(RequestKind.LIVES, run=run)
    assert asked.answer().done is works
    asked.go()
    asked.job.end()
