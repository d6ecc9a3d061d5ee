"""Calls of a machine that fail, pause and come again, by number."""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.engine_port import UnitFinished
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import UnitFailure, UnitId, UnitResult
from tests.kit.machine_bench import AWAY, BROKEN, SETTINGS, MachineBench
from tests.kit.toy_jobs import chain


def table(*rows: int, parallelism: int = 1) -> Pipeline:
    return chain("x", rows, parallelism, Visible.COMMITTED)


def stop(failure: UnitFailure = BROKEN) -> events.StopRequest:
    return events.StopRequest(failure, keep=False)


def test_a_call_that_fails_is_made_again_so_often_and_each_pause_is_longer() -> None:
    bench = MachineBench(table(3), SETTINGS, effects.Prepare).begin()
    pauses = []
    for _ in range(SETTINGS.retry.times):
        (prepare,) = bench.held(effects.Prepare)
        timer = [one for one in bench.fail(prepare, AWAY) if isinstance(one, effects.StartTimer)][-1]
        pauses.append(timer.at - bench.at)
        bench.fire("call")
    (prepare,) = bench.held(effects.Prepare)
    bench.fail(prepare, AWAY)

    assert pauses == sorted(set(pauses)) and pauses[0] < SETTINGS.retry.interval_seconds
    assert bench.closed and bench.shown is TableState.FAILED
    numbers = [one.call for one in bench.asked if isinstance(one, effects.Prepare)]
    assert numbers == sorted(set(numbers)) and len(numbers) == 1 + SETTINGS.retry.times


def test_a_pause_keeps_nothing_open_and_nothing_begins_behind_the_end() -> None:
    bench = MachineBench(table(3), SETTINGS, effects.Prepare).begin()
    (prepare,) = bench.held(effects.Prepare)
    bench.fail(prepare, AWAY)

    bench.hold.add(effects.CloseOut)
    bench.tell(stop())
    assert len(bench.held(effects.CloseOut)) == 1
    assert bench.fire("call") == []


def test_a_second_answer_begins_nothing() -> None:
    bench = MachineBench(table(3), SETTINGS, effects.SetUpScope).begin()
    (set_up,) = bench.held(effects.SetUpScope)
    bench.answer(set_up)

    assert bench.tell(events.CallDone(set_up.call)) == []
    assert bench.tell(events.CallFailed(set_up.call, BROKEN)) == []
    assert bench.machine.state.calls.unknown == 2


def test_the_pause_of_an_attempt_that_is_over_begins_no_unit() -> None:
    bench = MachineBench(table(3), SETTINGS, effects.SubmitUnit).begin()
    (submitted,) = bench.held(effects.SubmitUnit)
    unit = submitted.unit.id
    bench.answer(submitted, UnitFinished(UnitResult(unit, done=False, failure=AWAY)))

    assert bench.tell(events.TimerFired(("retry", unit))) == []
    bench.fire("retry")
    (again,) = bench.held(effects.SubmitUnit)
    assert again.unit.id == UnitId(unit.vertex, unit.sequence, unit.epoch, unit.attempt + 1, unit.subtask)
    assert again.unit == replace(submitted.unit, id=again.unit.id)
