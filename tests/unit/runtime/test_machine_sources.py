"""Enumerators while a machine ends, and while they are at something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.answers import ReopenedRounds, SourceFacts
from seatunnel_py.runtime.messages.engine_port import UnitFinished
from seatunnel_py.work.unit import UnitResult
from tests.kit.machine_bench import AWAY, BROKEN, GONE, SETTINGS, MachineBench
from tests.kit.runtime_toys import unbounded
from tests.kit.toy_jobs import chain, fork
from tests.simulation.jobs.sources import Finds, with_sources


def stream(*rows: int) -> Pipeline:
    """Its units are two at a time."""
    return with_sources(unbounded(chain("x", rows, 2, Visible.COMMITTED)), Finds.AT_ONCE, lambda: 0.0)


def reporting(found: UnitResult) -> UnitResult:
    return replace(found, events=(("s0", "more"),))


def test_a_unit_that_waits_for_its_enumerator_is_let_go_at_the_end() -> None:
    """One report is being heard, another one waits for that: neither keeps the pipeline open for ever."""
    hold = effects.HandleReaderEvents
    bench = MachineBench(stream(5, 5), SETTINGS, hold, result=reporting).begin()
    (hearing,) = bench.held(hold)
    assert len([one for one in bench.asked if isinstance(one, effects.SubmitUnit)]) == 2

    bench.tell(events.StopRequest(BROKEN, keep=False))
    assert not bench.closed
    bench.answer(hearing)
    assert bench.closed


def test_a_unit_counts_when_its_report_was_heard_and_no_sooner() -> None:
    hold = effects.HandleReaderEvents
    bench = MachineBench(stream(5), SETTINGS, hold, effects.AppendJournal, result=reporting).begin()
    entries = bench.held(effects.AppendJournal)
    while entries:
        bench.answer(entries[0])
        entries = bench.held(effects.AppendJournal)
    (hearing,) = bench.held(hold)
    before = len([one for one in bench.asked if isinstance(one, effects.SubmitUnit)])

    after = [type(one).__name__ for one in bench.answer(hearing)]
    assert before == 1 and "SubmitUnit" in after


def test_all_units_that_wait_for_a_source_go_on_once_it_is_open_again() -> None:
    line = with_sources(chain("x", (5, 5), 2, Visible.COMMITTED), Finds.OF_ONE_MOMENT, lambda: 0.0)
    hold = (effects.SubmitUnit, effects.ReopenSource)
    bench = MachineBench(line, replace(SETTINGS, per_split=True), *hold).begin()
    for one in bench.held(effects.SubmitUnit):
        bench.answer(one, UnitFinished(UnitResult(one.unit.id, done=False, failure=GONE)))
    (reopen,) = bench.held(effects.ReopenSource)
    renewed = tuple(
        replace(one, splits=tuple(replace(split, generation="new") for split in one.splits)) for one in reopen.rounds
    )
    bench.answer(reopen, events.CallDone(reopen.call, ReopenedRounds(renewed, SourceFacts())))

    again = [one.unit for one in bench.held(effects.SubmitUnit)]
    assert sorted((unit.split.id, unit.split.generation, unit.id.attempt) for unit in again if unit.split) == [
        ("s0", "new", 1),
        ("s1", "new", 1),
    ]


@pytest.mark.parametrize("interval", [10.0, None])
def test_a_source_that_waits_for_room_looks_again(interval: float | None) -> None:
    """It does not wait without checkpoints: nothing else makes room."""
    settings = replace(SETTINGS, exchange_max_bytes=1, checkpoint=CheckpointSettings(interval=interval))
    bench = MachineBench(fork("x", (30,), 1, 1, Visible.COMMITTED), settings).begin()

    timers = [one.timer for one in bench.asked if isinstance(one, effects.StartTimer)]
    assert (("exchange",) in timers) == (interval is not None)


def test_a_source_that_is_open_again_repeats_no_unit_of_a_later_execution() -> None:
    """Its execution was restarted meanwhile, and the new one reads already (seed 5439)."""
    line = with_sources(chain("x", (5, 5), 2, Visible.COMMITTED), Finds.OF_ONE_MOMENT, lambda: 0.0)
    bench = MachineBench(
        line, replace(SETTINGS, per_split=True), effects.SubmitUnit, effects.ReopenSource, effects.CancelUnit
    ).begin()
    first, second = bench.held(effects.SubmitUnit)
    bench.answer(first, UnitFinished(UnitResult(first.unit.id, done=False, failure=GONE)))
    for _ in range(SETTINGS.retry.times + 1):
        bench.answer(second, UnitFinished(UnitResult(second.unit.id, done=False, failure=AWAY)))
        if not any(isinstance(one, effects.StartTimer) and "restart" in one.timer for one in bench.asked):
            bench.fire("retry")
            (second,) = bench.held(effects.SubmitUnit)
    restart = next(one.timer for one in bench.asked if isinstance(one, effects.StartTimer) and "restart" in one.timer)
    bench.tell(events.TimerFired(restart))
    begun = [one.unit.id for one in bench.held(effects.SubmitUnit)]
    assert [one.epoch for one in begun] == [1, 1]

    (reopen,) = bench.held(effects.ReopenSource)
    bench.answer(reopen, events.CallDone(reopen.call, ReopenedRounds(reopen.rounds, SourceFacts())))
    assert [one.unit.id for one in bench.held(effects.SubmitUnit)] == begun
