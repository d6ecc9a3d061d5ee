"""Letters of executions that are over, that are held back, and that meet a source with nothing to read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seatunnel_py.api import Determinism, SourceCapabilities
from seatunnel_py.api.sink import Visible
from seatunnel_py.config.env import Retain
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedRetryLoop
from seatunnel_py.protocol.coordinator.events import SourceEnded
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.engine_port import UnitFinished
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import UnitResult
from tests.kit.machine_bench import AWAY, BROKEN, SETTINGS, MachineBench
from tests.kit.runtime_toys import unbounded
from tests.kit.toy_jobs import chain, fork


def changing(pipeline: Pipeline) -> Pipeline:
    """Its source gives other rows when it is read again."""
    head = pipeline.vertices[0]
    assert head.source is not None
    source = replace(head.source, capabilities=SourceCapabilities(determinism=Determinism.INDETERMINATE))
    return replace(pipeline, vertices=(replace(head, nodes=(source, *head.nodes[1:])), *pipeline.vertices[1:]))


def looping(pipeline: Pipeline) -> Pipeline:
    """Its last vertex may send rows back to itself."""
    *before, last = pipeline.vertices
    channel = PlannedChannel(f"{last.id}>{last.id}", last.id, last.id, last.inputs[0].table)
    return replace(pipeline, vertices=(*before, replace(last, retry=PlannedRetryLoop(channel, 2))))


def submitted(bench: MachineBench, vertex: str) -> list[Any]:
    return [one for one in bench.held(effects.SubmitUnit) if one.unit.id.vertex == vertex]


def journal(bench: MachineBench) -> None:
    """Every line that waits is durable."""
    while waiting := bench.held(effects.AppendJournal):
        bench.answer(waiting[0])


def last_entry_under_way(retain: Retain) -> tuple[MachineBench, effects.AppendJournal]:
    """A source that restarts while its second entry is under way."""
    line = changing(fork("x", (30,), 1, 1, Visible.COMMITTED))
    bench = MachineBench(line, replace(SETTINGS, retain=retain), effects.SubmitUnit, effects.AppendJournal).begin()
    journal(bench)
    bench.answer(submitted(bench, "x")[0])
    journal(bench)
    bench.answer(submitted(bench, "x")[0])
    (last,) = bench.held(effects.AppendJournal)
    vertex = "x>0" if retain is Retain.NEVER else "x"
    for _ in range(SETTINGS.retry.times + 1):
        (unit,) = submitted(bench, vertex)
        bench.answer(unit, UnitFinished(UnitResult(unit.unit.id, done=False, failure=AWAY)))
        if bench.asked[-1] != last:
            bench.fire("retry")
    bench.fire("coordinator")
    return bench, last


def test_a_restart_waits_for_the_entries_under_way() -> None:
    """The last line of an execution becomes durable after its end, and before its successor is restored."""
    bench, last = last_entry_under_way(Retain.NEVER)
    assert bench.held(effects.AppendJournal) == [last], "its line, and no cut yet"

    bench.answer(last)
    assert submitted(bench, "x") == [] and len(bench.held(effects.AppendJournal)) == 1, "the cut"
    journal(bench)
    (begun,) = submitted(bench, "x")
    assert (begun.unit.id.epoch, begun.unit.id.sequence) == (1, 1)


def test_a_stop_at_the_start_ends_a_stream_with_nothing_to_read() -> None:
    """The barrier of the stop comes together with the first unit, which can never begin."""
    bench = MachineBench(unbounded(chain("x", (), 1, Visible.COMMITTED)), SETTINGS, effects.SetUpScope).begin()
    bench.tell(events.StopRequest(BROKEN, keep=True))
    assert not bench.closed

    (set_up,) = bench.held(effects.SetUpScope)
    bench.answer(set_up)
    assert bench.closed
    assert bench.shown is TableState.STOPPED


def test_an_end_that_was_held_back_comes_at_the_time_of_its_delivery() -> None:
    """With a loop it waits until all channels are empty (I49)."""
    bench = MachineBench(looping(fork("x", (5,), 1, 1, Visible.COMMITTED)), SETTINGS, effects.SubmitUnit).begin()
    coordinator, heard = bench.machine.state.coordinator, []
    assert coordinator is not None
    handle = coordinator.handle

    def hears(event: Any) -> Any:
        heard.append(event)
        return handle(event)

    coordinator.handle = hears  # type: ignore[method-assign]
    bench.at = 1.0
    bench.answer(submitted(bench, "x")[0])
    assert not any(isinstance(event, SourceEnded) for event in heard)
    bench.at = 5.0
    bench.answer(submitted(bench, "x>0")[0])

    assert [event.at for event in heard if isinstance(event, SourceEnded)] == [5.0]
    assert bench.closed
