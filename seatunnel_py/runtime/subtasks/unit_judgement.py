"""Decides whether the result of a unit counts: no row may be missing, and not too many may be bad."""

from __future__ import annotations

from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.counts.row_conservation import violation
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.subtasks import error_budget
from seatunnel_py.runtime.values.subtask_state import counts_of
from seatunnel_py.work.unit import Unit, UnitFailure, UnitResult


def judged(
    state: SharedState,
    vertex: PlannedVertex,
    participant: Participant,
    unit: Unit,
    result: UnitResult,
    added: RowTally,
    tally: RowTally,
    *,
    ended: bool,
) -> UnitFailure | None:
    """Why the result must not count; None: it counts. ``added``: its counts; ``tally``: those of its subtask with it;
    ``ended``: the subtask has read all with it."""
    wrong = violation(vertex, unit, result, added)
    return wrong or _too_many_bad(state, vertex, participant, tally, ended=ended)


def _too_many_bad(
    state: SharedState, vertex: PlannedVertex, participant: Participant, tally: RowTally, *, ended: bool
) -> UnitFailure | None:
    limits = state.context.settings.errors
    if limits is None:
        return None
    sources = {one.id for one in state.context.pipeline.vertices if one.source is not None}
    total, read_all = tally, ended or vertex.source is None
    for subtask, other in state.participants.items():
        if other is participant:
            continue
        if subtask not in state.isolated:
            total = total.plus(tally_in(other, state.newest))
        read_all = read_all and (subtask.vertex not in sources or other.units.ended)
    return error_budget.exceeded(limits, total, read_all=read_all)


def tally_in(participant: Participant, record: CheckpointRecord | None) -> RowTally:
    """The counts in the state of a subtask; if it had nothing left to do, those in ``record``."""
    if participant.epoch > 0 or record is None or participant.subtask not in record.snapshots:
        return tally_of(counts_of(participant.units.state))
    return tally_of(counts_of(record.snapshots[participant.subtask].state))
