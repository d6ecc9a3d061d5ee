"""A table of a log that is copied again: the order of its copy and its log, and the record at which it leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_py.plan.altered_log import no_plan
from seatunnel_py.plan.log_tables import copied_again, following, without
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import BatchHandle, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from seatunnel_py.runtime.driver.log_pipelines import LogPipelines
from seatunnel_py.runtime.pipeline.log_replanning import LogReplanning
from seatunnel_py.runtime.resume.begun_logs import as_begun
from seatunnel_py.runtime.state.phases import PipelinePhase
from seatunnel_py.runtime.values.topology_builder import keys
from tests.unit.plan.test_log_growth import paths
from tests.unit.plan.test_log_tables import logged
from tests.unit.plan.test_table_refresh import job, record


def with_new_table() -> tuple[Any, ...]:
    """The pipelines of a job with a table that its log does not have yet."""
    log = replace(logged(("a", "b", "c"), transformed=False, targets=1), id="log", after=("c-a", "c-b", "c-c"))
    more = replace(logged(("c",), transformed=False, targets=1), id="c-c")
    copies = job()
    return copies["c-a"], copies["c-b"], more, log


def test_a_copy_does_not_wait_for_a_log_that_its_table_has_left() -> None:
    """The log joins new tables when it has them. One that cannot be copied would keep both waiting."""
    pipelines = with_new_table()
    whole = pipelines[-1]
    before = record(following(whole, [paths(whole)["a"], paths(whole)["b"]]), ("a", "b"))

    def planned(pipeline: Any, _: Iterable[Any]) -> Any:
        return pipeline

    key_of = {one.id: key for key, one in keys(pipelines).items()}
    again = {key_of["c-a"]}
    *_, log = as_begun(pipelines, {key_of["log"]: before}, no_plan, planned, again, emptied=again)
    assert log.tables == (paths(whole)["b"],)
    assert copied_again(log) == frozenset()
    assert log.becomes is not None and set(log.becomes.tables) == set(whole.tables)


@pytest.mark.parametrize("phase", [PipelinePhase.WAITING, PipelinePhase.RUNNING])
def test_copies_end_with_the_log_that_their_tables_have_not_left(phase: PipelinePhase) -> None:
    named = job()
    log = replace(named["log"], becomes=without(named["log"], [paths(named["log"])["a"]]))
    copies: Any = {
        key: SimpleNamespace(id=key, pipeline=named[key], state=SimpleNamespace(phase=phase)) for key in ("c-a", "c-b")
    }
    machine: Any = SimpleNamespace(pipeline=log)
    found = [one.id for one in LogPipelines.held_up(machine, copies)]
    assert found == (["c-a"] if phase is PipelinePhase.WAITING else [])
    machine = SimpleNamespace(pipeline=named["log"])
    assert not LogPipelines.held_up(machine, copies), "it has no table that is copied again"


SOURCE, SINK = Subtask("in"), Subtask("out")
WAY = Channel(0, SOURCE, SINK)


@pytest.mark.parametrize(
    ("applied", "sent", "queued", "detached", "settled"),
    [
        (2, 2, (), (), True),
        (4, 2, (), (), False),
        (2, 2, (BatchHandle(3),), (), False),
        (4, 2, (), ("out",), True),
    ],
)
def test_a_log_is_left_at_settled_channels(
    applied: int, sent: int, queued: Any, detached: Any, *, settled: bool
) -> None:
    """Another graph gives the batches other numbers, so none may be repeated under it."""
    pipeline = logged(("a",), transformed=False, targets=1)
    topology = Topology(
        (Vertex("in"), Vertex("out")), (Edge("in", "out", Spread.FORWARD),), detached=frozenset(detached)
    )
    snapshots = {
        SOURCE: SubtaskSnapshot(sent={WAY: sent}),
        SINK: SubtaskSnapshot(applied={WAY: applied}, channel_state={WAY: queued} if queued else {}),
    }
    newest = SimpleNamespace(topology=topology, snapshots=snapshots)
    state: Any = SimpleNamespace(context=SimpleNamespace(pipeline=pipeline), newest=newest)
    nothing: Any = None
    assert LogReplanning(state, {}, nothing).is_settled is settled
