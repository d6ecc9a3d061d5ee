"""Stable properties of a recorded snapshot that the product does not ask for (O1.6): steps reached, and deadlocks.

Rules, in continuation of ``stuck.py``. (Y2) A step has reached unit n when each of its subtasks has taken n units; no
restart goes back behind a completed record (I17), so that stays so.

May not know: how a snapshot was taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sized

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.stuck import stuck_processes, waiting_cycles


def step_reached(record: CheckpointRecord, vertex: str, unit: int) -> bool:
    """Every subtask of the vertex has taken this many units (Y2); no for a vertex that the record does not hold."""
    taken = [snapshot.taken for subtask, snapshot in record.snapshots.items() if subtask.vertex == vertex]
    return bool(taken) and min(taken) >= unit


def deadlocks(
    waits: Mapping[Subtask, Collection[Channel]], channels: Mapping[Channel, Sized]
) -> tuple[tuple[Subtask, ...], ...]:
    """Cycles of processes in which each waits for the next (Y3); whoever else is stuck waits, in the end, for one of
    them. ``waits``: for each process that waits, according to its recorded state, the channels of which any would set
    it going; ``channels``: the recorded contents."""
    awaited = {
        process: tuple(channel.sender for channel in wanted)
        for process, wanted in waits.items()
        if wanted and not any(len(channels.get(channel, ())) for channel in wanted)
    }
    return waiting_cycles(awaited, stuck_processes(awaited, needs_all=()))
