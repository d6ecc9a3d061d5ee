"""Finds units whose connection is silently lost. Decisions are pure.

Rules. (1) A unit is suspected if it has run for ``stall_seconds`` without progress of its pipeline, or if two
checkpoints have expired because of it. (2) It is given up if no server of its chain reports a session of the job that
executes a statement or waits for a lock; a reported lock is waited for. (3) Time alone does not count for a
resident reader, for a chain with a step that calls other systems, or if no server can report its sessions. (4) An
unreachable server counts as one without sessions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.sink import Sink
from seatunnel_py.api.source import Source
from seatunnel_py.errors import first_line
from seatunnel_py.plan.graph_nodes import SqlNode, TransformNode
from seatunnel_py.runtime.values.chain_endpoints import endpoints
from seatunnel_py.work.unit import UnitId

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
    from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution

EXPIRED_MAX = 2
LOOKS = 3
LOOK_SECONDS = 0.7


@dataclass(frozen=True, slots=True)
class Suspect:
    """``places``: sources and sinks of its chain, by name; ``seconds``: its run time. ``overdue``: two checkpoints have
    expired because of it, so that no further evidence is needed."""

    pipeline: str
    unit: UnitId
    seconds: float
    places: Mapping[str, Source | Sink]
    overdue: bool


def suspects(machine: PipelineMachine, at: float, moved_at: float | None) -> Iterator[Suspect]:
    """Units of a pipeline that may be lost."""
    limit = machine.context.settings.stall_seconds
    still = at - max(moved_at or 0.0, machine.state.shown.started_at or at)
    for run in machine.executions.values():
        unit = run.unit
        started = machine.units.started.get(unit.id) if unit is not None else None
        if unit is None or started is None:
            continue
        seconds = at - started
        overdue = machine.units.expired[unit.id] >= EXPIRED_MAX
        if overdue or (min(seconds, still) > limit and _stops_soon(run)):
            yield Suspect(machine.id, unit.id, seconds, endpoints(run.vertex), overdue)


def _stops_soon(run: SubtaskExecution) -> bool:
    """True if a unit of this chain normally makes progress within seconds."""
    source = run.vertex.source
    if run.vertex.query is not None or (source is not None and source.capabilities.resident):
        return False
    return not any(
        isinstance(node, SqlNode)
        or (isinstance(node, TransformNode) and node.capabilities.determinism is not Determinism.DETERMINATE)
        for node in run.vertex.nodes
    )


def verdict(suspect: Suspect) -> str:
    """Query the servers of a unit, which may take seconds. Return why the unit is given up; empty: it is not."""
    lost = silent(suspect.places, suspect.seconds / 2 if suspect.overdue else 0)
    if lost is None or (not lost.told and not suspect.overdue):
        return ""
    over = "two checkpoints have expired because of it" if suspect.overdue else "nothing has moved"
    where = ", ".join(suspect.places) or "its channels"
    worked = f"unit {suspect.unit} has been at work for {suspect.seconds:.0f} s"
    reason = f"{worked} and {over}: its connection to {where} is lost"
    return "; ".join([reason, *lost.away])


@dataclass(frozen=True, slots=True)
class LostConnection:
    """``told``: a server has replied; ``away``: servers that do not reply, with the error."""

    told: bool
    away: tuple[str, ...]


def silent(places: Mapping[str, Source | Sink], seconds: float) -> LostConnection | None:
    """Evidence that no server works for the job; None: one executes a statement since so many seconds. Many short
    statements are seen by repeated queries."""
    told = False
    away: dict[str, str] = {}
    for look in range(LOOKS):
        time.sleep(LOOK_SECONDS if look and not away else 0)
        for name, place in places.items():
            found = _asked(name, place, seconds) if name not in away else None
            if isinstance(found, str):
                away[name] = found
            elif found:
                return None
            told = told or found is not None
    return LostConnection(told, tuple(away.values()))


def _asked(name: str, place: Source | Sink, seconds: float) -> Sequence[str] | str | None:
    """Sessions of the job at its server; a text: the error of the query."""
    try:
        return place.at_work(seconds)
    except Exception as error:  # noqa: BLE001 - unreachable servers raise many kinds of errors
        return f"{name} does not answer: {first_line(str(error))}"
