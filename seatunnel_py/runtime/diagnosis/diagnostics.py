"""Explains the state of a pipeline, and which part waits for which, when the job makes no progress.

Rules. (1) It reads the current state, on the loop, and changes nothing. (2) The cause comes first: external systems
that the driver waits for (a target, a store), then running units, then the subtasks that wait for them. (3) A source
without new rows is reported as such, and not as a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.api.sink import Sink
from seatunnel_py.api.source import Source
from seatunnel_py.errors import COPY_AGAIN, first_line
from seatunnel_py.nouns import counted
from seatunnel_py.protocol import stuck
from seatunnel_py.protocol.stuck import SubtaskActivity, SubtaskWait
from seatunnel_py.runtime.diagnosis.standing import OpenCheckpoint, PipelineDiagnosis, WaitingSubtask
from seatunnel_py.runtime.observe.receipt import position_text
from seatunnel_py.runtime.state.troubles import commit_of

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
    from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution

HANGS_SECONDS = 10.0  # after its budget a stream's unit is reported as hanging
BRIEF_SECONDS = 2.0  # what has been under way for less is not worth asking a target about
_CALLS = {"prepare": "a look at its sources and targets", "drop": "dropping rows of an execution that is over"}


def status_of(machine: PipelineMachine, at: float, moved_at: float | None) -> PipelineDiagnosis:
    """Diagnose a pipeline now."""
    state = machine.state
    runs = [run for run in machine.executions.values() if run.subtask not in state.isolated]
    seen = stuck.diagnose([_view(run) for run in runs], at)
    checkpoints = tuple(_checkpoints(machine, at))
    waits = [*_outside(machine, at), *_pauses(runs), *_units(machine, at), *map(_checkpoint_sentence, checkpoints)]
    busy = bool(waits) and (not machine.shown_state.ended or bool(len(state.calls)))
    if machine.context.graph.topology.edges and busy:
        waits += seen.sentences
    if state.shown.started_at is None:
        waits.append("it waits for its turn")
    elif not busy and not machine.shown_state.ended:
        waits.append(_idle(machine, runs, at, moved_at))
    waits += (
        f"{', '.join(sorted({node.shown for node in run.vertex.sinks}))} is isolated, the other sinks go on: "
        f"{first_line(machine.isolated.cause(subtask.vertex).message)}"
        for subtask, run in machine.executions.items()
        if subtask in state.isolated and run.vertex.sinks and not subtask.index
    )
    waits += (
        f"{table} waits at its change {change}, and its log is not kept any more: {COPY_AGAIN}"
        for change, table in state.released.items()
    )
    return PipelineDiagnosis(
        machine.pipeline.name,
        machine.shown_state.value,
        state.good,
        state.commit_lag,
        None if moved_at is None else at - moved_at,
        busy,
        tuple(dict.fromkeys(waits)),
        subtasks=tuple(map(WaitingSubtask.of, seen.facts)),
        deadlocks=tuple(tuple(map(str, cycle)) for cycle in seen.deadlocks),
        checkpoints=checkpoints,
    )


def blocked_targets(machine: PipelineMachine, at: float) -> Mapping[str, Sink | Source]:
    """Sinks and sources that the pipeline may wait for, by name: one for each place with a long call."""
    since = [call.since for call in machine.state.calls] + list(machine.units.since.values())
    if not since or at - min(since) < BRIEF_SECONDS:
        return {}
    sources = {vertex.source.step.id: vertex.source.source for vertex in machine.pipeline.vertices if vertex.source}
    return {**{node.shown: node.sink for node in machine.pipeline.sinks}, **sources}


def _outside(machine: PipelineMachine, at: float) -> Iterator[str]:
    """Describe the calls that other threads make for the pipeline."""
    for call in sorted(machine.state.calls, key=lambda one: one.since):
        yield f"{_CALLS.get(call.name, call.name)} has been under way for {at - call.since:.0f} s"
    if machine.view is not None:
        for scope in sorted(machine.view.commits.held):
            failure = machine.state.troubles.get(commit_of(scope))
            why = f": {first_line(failure.message)}" if failure is not None else ""
            times = counted(machine.view.commit_failures[scope], "time")
            yield f"the commit of {scope} has failed {times} and waits for its next try{why}"


def _pauses(runs: list[SubtaskExecution]) -> Iterator[str]:
    for run in runs:
        if run.held and (pause := run.pause):
            yield f"its sources pause: {pause}"


def _units(machine: PipelineMachine, at: float) -> Iterator[str]:
    for run in machine.executions.values():
        unit = run.unit
        if unit is None:
            continue
        where = ""
        if unit.split is not None:
            position = position_text(unit.start.value) if unit.start else ""
            where = f" on split {unit.split.id}, from {position or 'its beginning'},"
        elif unit.slices:
            where = f" on {len(unit.slices)} batches of {unit.slices[0].table},"
        attempt = f" (attempt {unit.id.attempt + 1})" if unit.id.attempt else ""
        since = machine.units.since.get(unit.id)
        if since is None:
            yield f"unit {unit.id}{where} waits for its next attempt"
        else:
            hangs = _hangs(machine, run, at - since)
            yield f"unit {unit.id}{attempt} has been at work{where} for {at - since:.0f} s{hangs}"


def _hangs(machine: PipelineMachine, run: SubtaskExecution, seconds: float) -> str:
    """Describe a hanging unit of a stream. The unit can end only when its reader yields an element, such as a
    Heartbeat; until then every checkpoint waits for it."""
    source, unit = run.vertex.source, run.unit
    if machine.context.bounded or source is None or unit is None or seconds < unit.budget.seconds + HANGS_SECONDS:
        return ""
    what = "its rows" if unit.until is not None else f"{unit.budget.seconds:g} s"
    return (
        f"; it was to stop after {what}: the reader of the plugin {source.step.plugin} gives nothing, not even a "
        "Heartbeat, or a later step hangs"
    )


def _checkpoints(machine: PipelineMachine, at: float) -> Iterator[OpenCheckpoint]:
    for pending in machine.view.pending if machine.view is not None else ():
        yield OpenCheckpoint(pending.checkpoint, at - pending.started_at, tuple(map(str, pending.missing)))


def _checkpoint_sentence(one: OpenCheckpoint) -> str:
    passing = f"waits for the barrier to pass {stuck.names(one.missing)}"
    activity = passing if one.missing else "is being written to the store"
    return f"checkpoint {one.checkpoint} has been under way for {one.seconds:.0f} s; it {activity}"


def _view(run: SubtaskExecution) -> SubtaskWait:
    """The participant's view, plus facts of the runtime: full channels, pauses, and sources without new rows."""
    view = run.participant.waiting_on
    if view.doing is not SubtaskActivity.RUNNING or not run.held:
        return view
    full = run.full_outputs
    if full:
        return replace(view, doing=SubtaskActivity.OUTPUT_FULL, channels=full)
    if run.pause:
        return replace(view, doing=SubtaskActivity.PAUSED, channels=(), unit=0)
    return replace(view, doing=SubtaskActivity.INPUT_EMPTY, channels=(), unit=0)


def _idle(machine: PipelineMachine, runs: list[SubtaskExecution], at: float, moved_at: float | None) -> str:
    """Describe a pipeline that is idle."""
    if moved_at is None:
        return "its sources have given nothing yet" if runs else "it is about to begin"
    if any(run.limited for run in runs):
        return "its sources wait, for they have read as much as read_limit allows for now"
    return f"its sources have had nothing to read for {at - moved_at:.0f} s"
