"""The walks of `docs/architecture.md` are those of a real job: its stops stand in the trace of its calls, in order."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import seatunnel_py
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.testing import run_job
from seatunnel_py.work.unit import Budget, FailureKind, Unit
from tests.kit.runtime_toys import Clock, ScriptedEngine, ToySink, ToySource, driver_of, failed, straight

ROOT = Path(seatunnel_py.__file__).parent
PAGE = ROOT.parent / "docs" / "architecture.md"
STOPS_MAX = 12
STOP = re.compile(r"^\d+\. `([a-z_/]+\.py):([a-z_]+)`$", re.MULTILINE)
Stop = tuple[str, str]
WALKS = ("From the timer to the commit", "A batch of rows, out and back", "From a failure to the restart")


def walk(title: str) -> Sequence[Stop]:
    """The stops of this walk."""
    section = PAGE.read_text().partition("## Three walks")[2].partition("\n## ")[0]
    text = section.partition(f"**{title}.**")[2].partition("\n**")[0]
    return [(path, function) for path, function in STOP.findall(text)]


@contextmanager
def traced() -> Iterator[list[Stop]]:
    """Calls of the product, in all threads that begin meanwhile, in order."""
    calls: list[Stop] = []
    names: dict[str, str] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        path = frame.f_code.co_filename
        if path not in names:
            names[path] = path.removeprefix(f"{ROOT}/") if path.startswith(f"{ROOT}/") else ""
        if names[path]:
            calls.append((names[path], frame.f_code.co_name))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # that is how it is switched off


def toy_job(place: Path, script: Callable[[ScriptedEngine, Unit], Any]) -> list[Stop]:
    """The calls of a job of one table."""
    pipeline = straight("x", ToySource((40,)), ToySink("out"))
    with traced() as calls:
        engine = ScriptedEngine([pipeline])
        engine.script = lambda unit: script(engine, unit)
        settings = Settings(
            RetryPolicy(0, 0.01),
            Budget(10, 1.0),
            exchange="mem:",
            checkpoint=CheckpointSettings(interval=0.05),
            restarts=Backoff(3, 0.01, longest=0.01),
        )
        (table,) = driver_of([pipeline], engine, settings, Clock(), lambda _: None, place).run()
    engine.stop()
    assert table.state is TableState.DONE
    return calls


def slowly(engine: ScriptedEngine, unit: Unit) -> Any:
    time.sleep(0.05)
    return engine.work(unit)


def fails_once(engine: ScriptedEngine, unit: Unit) -> Any:
    if unit.id.epoch == 0 and unit.id.sequence == 2:
        return failed(unit.id, FailureKind.RETRIABLE)
    return engine.work(unit)


def local_job(_: Path) -> list[Stop]:
    """The calls of a job on the local engine."""
    with traced() as calls:
        done = run_job("""
            env { job.mode = BATCH }
            source { FakeSource { row.num = 5, schema { fields { n = int } } } }
            sink { Collect {} }
        """)
    assert done.receipt.tables[0].rows_written == 5
    return calls


JOBS: dict[str, Callable[[Path], list[Stop]]] = {
    WALKS[0]: lambda place: toy_job(place, slowly),
    WALKS[1]: local_job,
    WALKS[2]: lambda place: toy_job(place, fails_once),
}


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_is_found_in_the_trace_of_a_job(title: str, tmp_path: Path) -> None:
    """All stops in order, each behind the one before it."""
    stops, calls = walk(title), JOBS[title](tmp_path)
    assert 5 <= len(stops) <= STOPS_MAX
    assert {path for path, _ in stops} <= {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")}
    at = 0
    for stop in stops:
        assert stop in calls[at:], f"{stop} does not come behind {calls[at - 1] if at else 'the beginning'}"
        at = calls.index(stop, at) + 1
