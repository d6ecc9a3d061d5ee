"""The engine in this process: the same units, and one event for each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toys import Numbers, chain, unit, written

from seatunnel_py.local.engine import LocalEngine
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.work.unit import UnitId


def ends(events: list[EngineEvent]) -> dict[str, str]:
    """How each vertex's unit ended; twice is an error."""
    found: dict[str, str] = {}
    for event in events:
        match event:
            case UnitFinished(result):
                assert result.id.vertex not in found
                found[result.id.vertex] = "failed" if result.failure else "done"
            case UnitLost(lost, reason):
                assert lost.vertex not in found
                found[lost.vertex] = reason
    return found


def engine_with(events: list[EngineEvent], sources: list[Numbers], out: Path) -> LocalEngine:
    engine = LocalEngine(1)
    engine.start(events.append)
    for source in sources:
        engine.register(chain(source, out))
        engine.submit(unit(source))
    return engine


def test_units_run_and_fail_one_by_one(tmp_path: Path) -> None:
    """A failure is a result; the next unit runs."""
    events: list[EngineEvent] = []
    engine = engine_with(events, [Numbers("a", 10), Numbers("b", act="bug"), Numbers("c", 10)], tmp_path)
    while len(ends(events)) < 3:
        pass
    engine.stop()

    assert ends(events) == {"a": "done", "b": "failed", "c": "done"}
    assert len(written(tmp_path)) == 20


def test_what_waits_at_the_end_is_told_so(tmp_path: Path) -> None:
    """Every submitted unit ends in one event, also when the engine stops or after it."""
    events: list[EngineEvent] = []
    slow = Numbers("slow", rows=1, act="sleep", seconds=0.3)
    engine = engine_with(events, [slow, Numbers("cancelled"), Numbers("waits"), Numbers("late")], tmp_path)
    while UnitStarted(unit(slow).id) not in events:
        pass
    engine.cancel(UnitId("cancelled", 0))
    engine.stop()
    engine.stop()
    engine.submit(replace(unit(slow), id=UnitId("after", 0)))

    stopped = "the engine was stopped"
    assert ends(events) == {
        "slow": "done",
        "cancelled": "cancelled before it started",
        "waits": stopped,
        "late": stopped,
        "after": stopped,
    }
