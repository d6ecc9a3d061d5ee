"""A copy of one snapshot into a target that only appends: visible as a whole, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.graph_nodes import SourceNode, SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.observe.receipt import TableState
from tests.kit.machine_bench import SETTINGS, MachineBench
from tests.kit.toy_jobs import chain
from tests.simulation.jobs.sources import Finds, with_sources

OFTEN = replace(SETTINGS, checkpoint=replace(SETTINGS.checkpoint, interval=0.5))


def copy(visible: Visible, finds: Finds = Finds.OF_ONE_MOMENT, part: SourcePart = SourcePart.COPY) -> Pipeline:
    pipeline = with_sources(chain("x", (50,), 1, visible), finds, lambda: 0.0)
    vertices = []
    for vertex in pipeline.vertices:
        nodes = tuple(replace(node, part=part) if isinstance(node, SourceNode) else node for node in vertex.nodes)
        vertices.append(replace(vertex, nodes=nodes))
    return replace(pipeline, vertices=tuple(vertices))


def begun(pipeline: Pipeline, *, per_split: bool = False) -> MachineBench:
    """It reads, and a unit is under way."""
    return MachineBench(pipeline, replace(OFTEN, per_split=per_split), effects.SubmitUnit).begin()


def of_kind(bench: MachineBench, kind: type) -> list[Any]:
    return [one for one in bench.asked if isinstance(one, kind)]


def interval(bench: MachineBench) -> float | None:
    assert bench.machine.view is not None
    return bench.machine.view.settings.interval


def test_it_takes_no_checkpoint_before_its_end() -> None:
    bench = begun(copy(Visible.COMMITTED))
    assert interval(bench) is None
    while held := bench.held(effects.SubmitUnit):
        bench.answer(held[0])

    kinds = [one.record.kind for one in of_kind(bench, effects.StoreRecord)]
    assert kinds == [RecordKind.ZERO, RecordKind.FINAL] and bench.shown is TableState.DONE


@pytest.mark.parametrize(
    ("pipeline", "per_split"),
    [
        (copy(Visible.FINAL), False),
        (copy(Visible.STAGED), False),
        (copy(Visible.COMMITTED, Finds.AT_ONCE), False),
        (copy(Visible.COMMITTED, part=SourcePart.TABLE), False),
        (copy(Visible.COMMITTED), True),
    ],
    ids=["rows can be taken back", "rows are visible at once", "it can be read on", "no log follows", "of any moments"],
)
def test_others_take_checkpoints(pipeline: Pipeline, per_split: bool) -> None:
    assert interval(begun(pipeline, per_split=per_split)) == 0.5


def test_a_savepoint_is_refused_before_its_end() -> None:
    """It is asked for again until the copy is done."""
    bench = begun(copy(Visible.COMMITTED))
    bench.tell(events.SavepointRequest("sp", stop=False))

    assert [one.name for one in of_kind(bench, effects.RefuseRequest)] == ["sp"]
    assert len(of_kind(bench, effects.StoreRecord)) == 1 and not bench.shown.ended


def test_a_stop_ends_it_without_a_record() -> None:
    bench = begun(copy(Visible.COMMITTED))
    bench.tell(events.SavepointRequest("sp", stop=True))
    (unit,) = bench.held(effects.SubmitUnit)
    bench.answer(unit)

    assert len(of_kind(bench, effects.StoreRecord)) == 1, "only checkpoint 0"
    assert [one.kind for one in of_kind(bench, effects.CloseOut)] == [effects.CloseKind.ABORT]
    assert bench.closed == effects.Closed() and bench.shown is TableState.STOPPED
