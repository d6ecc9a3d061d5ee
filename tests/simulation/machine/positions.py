"""Where the records that can still be restored stand: no enumerator hears of later positions (I40), and each run of a log
reads more."""

from __future__ import annotations

from collections.abc import Iterable

from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.messages.effects import ConfirmPositions
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.values.split_progress import reading_of
from seatunnel_py.runtime.values.subtask_state import state_of
from tests.simulation.violation import expect


def hold(machine: PipelineMachine, effect: ConfirmPositions, retained: Iterable[CheckpointRecord]) -> None:
    """Each record that is retained stands at these positions, or behind them; savepoints only while they are the
    newest, for the outside would keep everything since them."""
    view, records = machine.view, list(retained)
    newest = max((record.checkpoint for record in records), default=0)
    for record in records:  # one that is not completed any longer is on its way out of the store
        if record.kind is RecordKind.ZERO or view is None or record.checkpoint not in view.completed:
            continue
        if record.kind is RecordKind.SAVEPOINT and record.checkpoint < newest:
            continue
        stands: dict[str, int] = {}
        for subtask, run in machine.executions.items():
            if subtask.vertex == effect.vertex and subtask in record.snapshots:
                found = run.positions(record.snapshots[subtask])
                stands |= {split: int(str(at.value["n"])) for split, at in found.items()}
        late = {split: at for split, at in effect.positions.items() if int(str(at.value["n"])) > stands.get(split, 0)}
        expect(not late, "ConfirmedIsDurable", f"{late} are confirmed, record {record.checkpoint} stands at {stands}")


def read_more(machine: PipelineMachine) -> bool:
    """Whether it has ended at the end of a run. Such a run has read a split to its end."""
    if machine.goes_on:
        more = _ended(machine.newest) - _ended(machine.begins_with)
        expect(bool(more), "RunsRead", f"{machine.key} ends a run in which no split has ended")
    return machine.goes_on


def _ended(record: CheckpointRecord | None) -> set[str]:
    """The splits that a record shows as read to their ends."""
    snapshots = () if record is None else record.snapshots.values()
    return {split for one in snapshots for split in reading_of(state_of(one.state).reading).ended}
