"""The loop when attempts are used up: who begins a new life, who goes on, and what becomes of what was staged."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from seatunnel_py.api import Setup
from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.sink import Visible
from seatunnel_py.config.env import Retain
from seatunnel_py.errors import ExitCode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.events import JobEvent, RegionRestarted, TableChanged
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, Unit
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToySink,
    ToySource,
    driver_of,
    failed,
    forked,
    straight,
    unbounded,
)

RETRIES, ROWS = 2, 50
RETRIABLE = FailureKind.RETRIABLE


@dataclass(frozen=True)
class EarlySink(ToySink):
    """People see its rows as soon as they are staged."""

    def plan_setup(self) -> Setup:
        return Setup(visible=Visible.STAGED)


def indeterminate(pipeline: Pipeline) -> Pipeline:
    """Its source gives other rows when it is read again."""
    head, *behind = pipeline.vertices
    source = head.source
    assert source is not None
    other = replace(source, capabilities=replace(source.capabilities, determinism=Determinism.INDETERMINATE))
    return replace(pipeline, vertices=(replace(head, nodes=(other, *head.nodes[1:])), *behind))


class Run:
    """One pipeline to its end. ``until``: the failing vertex fails in its first so many units that are tried."""

    def __init__(self, place: Path, pipeline: Pipeline, retain: Retain = Retain.AUTO) -> None:
        self.engine = ScriptedEngine([pipeline])
        self.events: list[JobEvent] = []
        settings = Settings(
            RetryPolicy(RETRIES, 0.002),
            Budget(10, 1.0),
            exchange="mem:",
            retain=retain,
            checkpoint=CheckpointSettings(interval=0.01),
            restarts=Backoff(RETRIES, 0.001, longest=0.002),
        )
        self.driver = driver_of([pipeline], self.engine, settings, Clock(), self.events.append, place)

    def failing(self, vertex: str, times: int, kind: FailureKind = RETRIABLE) -> None:
        left = [times]

        def script(unit: Unit) -> object:
            if unit.id.vertex == vertex and left[0] and unit.id.sequence > 2:
                left[0] -= 1
                return failed(unit.id, kind)
            return self.engine.work(unit)

        self.engine.script = script  # type: ignore[assignment]

    def end(self) -> TableReceipt:
        (table,) = self.driver.run()
        self.engine.stop()
        return table

    @property
    def restarted(self) -> list[RegionRestarted]:
        return [event for event in self.events if isinstance(event, RegionRestarted)]

    def epochs(self, vertex: str) -> set[int]:
        return {unit.id.epoch for unit in self.engine.submitted if unit.id.vertex == vertex}


def rows(target: Target) -> int:
    return sum(piece.rows for piece in target.committed)


@pytest.mark.parametrize(("retain", "region"), [(Retain.ALWAYS, {"x>1"}), (Retain.NEVER, {"x", "x>1"})])
def test_only_the_region_of_a_failed_sink_restarts(tmp_path: Path, retain: Retain, region: set[str]) -> None:
    """I20, I21: its sibling keeps its epoch and repeats nothing; the restart is told, and why; nothing comes twice."""
    targets = [Target(), Target(), Target()]
    sinks = [ToySink(f"out{number}", target) for number, target in enumerate(targets)]
    job = Run(tmp_path, forked("x", ToySource((ROWS,)), sinks), retain)
    job.failing("x>1", RETRIES + 1)

    assert job.end().state is TableState.DONE
    (told,) = job.restarted
    assert set(told.epochs) == region and set(told.epochs.values()) == {2}
    assert told.causes.keys() == {"x>1"} and "went wrong" in told.causes["x>1"] and not told.twice
    for calm in ("x>0", "x>2"):
        units = [unit.id for unit in job.engine.submitted if unit.id.vertex == calm]
        assert job.epochs(calm) == {0} and len(units) == len(set(units))
    assert [rows(target) for target in targets] == [ROWS] * len(targets)


def test_lives_end_too(tmp_path: Path) -> None:
    """A bounded table is given up after its restarts; an error that no restart mends costs none."""
    job = Run(tmp_path / "retriable", straight("x", ToySource((ROWS,))))
    job.failing("x", 1000)
    assert (job.end().state, len(job.restarted), job.epochs("x")) == (TableState.FAILED, RETRIES, {0, 1, 2})

    job = Run(tmp_path / "fatal", straight("x", ToySource((ROWS,))))
    job.failing("x", 1000, FailureKind.FATAL)
    assert (job.end().state, len(job.restarted), job.epochs("x")) == (TableState.FAILED, 0, {0})


def test_an_unbounded_table_never_gives_up_what_may_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lives are used up, and the last one goes on trying."""
    monkeypatch.setattr("seatunnel_py.runtime.pipeline.unit_attempts.FOR_EVER_SECONDS", 0.001)
    target = Target()
    job = Run(tmp_path, unbounded(straight("x", ToySource((ROWS,)), ToySink("out", target))))
    job.failing("x", 40)
    script = job.engine.script

    def stopping(unit: Unit) -> object:
        if unit.start and unit.start.value["n"] == ROWS - 10:
            job.driver.stop(ExitCode.TERMINATED)
        return script(unit)

    job.engine.script = stopping  # type: ignore[assignment]

    assert job.end().state is TableState.STOPPED
    assert rows(target) == ROWS and len(job.restarted) == RETRIES
    assert max(unit.id.attempt for unit in job.engine.submitted) > 10


def test_every_stream_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: none ever ends, so none may wait for another's end."""
    monkeypatch.setattr("seatunnel_py.runtime.driver.admission.OPEN_MAX", 2)
    streams = [unbounded(straight(f"x{number}", ToySource((ROWS,)))) for number in range(7)]
    engine = ScriptedEngine(streams)
    began: set[str] = set()

    def listen(event: JobEvent) -> None:
        if isinstance(event, TableChanged) and event.state is TableState.RUNNING:
            began.add(event.name)
            if len(began) == len(streams):
                driver.stop()

    settings = Settings(RetryPolicy(RETRIES, 0.002), Budget(10, 1.0), exchange="mem:")
    driver = driver_of(streams, engine, settings, Clock(), listen, tmp_path)
    late = threading.Timer(20.0, driver.stop)
    late.start()
    driver.run()
    late.cancel()
    engine.stop()

    assert began == {stream.name for stream in streams}


def test_rows_of_both_lives_are_never_shown(tmp_path: Path) -> None:
    """FO2: a source that gives other rows fails: its sinks begin anew as well, and drop what they staged since the
    checkpoint; where one has shown it already the table fails, and says so."""
    hidden, early = Target(), Target()
    job = Run(tmp_path / "hidden", indeterminate(forked("x", ToySource((ROWS,)), [ToySink("a", hidden), ToySink("b")])))
    job.failing("x", RETRIES + 1)
    assert job.end().state is TableState.DONE
    (told,) = job.restarted
    assert set(told.epochs) == {"x", "x>0", "x>1"} and rows(hidden) == ROWS
    names = [{item.channel for item in unit.slices} for unit in job.engine.submitted if unit.id.vertex == "x>0"]
    assert {name.rpartition("@")[2] for (name,) in names} == {"1.1", "1.2"}, "numbers mean other rows now"
    assert not {str(piece.data) for piece in hidden.aborted} & {str(piece.data) for piece in hidden.committed}

    job = Run(tmp_path / "early", indeterminate(forked("x", ToySource((ROWS,)), [EarlySink("a", early), ToySink("b")])))
    job.failing("x", RETRIES + 1)
    table = job.end()
    assert table.state is TableState.FAILED and not job.restarted
    assert table.cause is not None and "x>0 cannot drop what it has already" in table.cause.message
