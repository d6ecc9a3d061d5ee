"""What the state of a subtask says: its counts, and where it stands in its splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import Split
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.counts.row_tallies import tally_of
from seatunnel_py.runtime.values.channel_payload import slice_of
from seatunnel_py.runtime.values.split_progress import assign_splits, reading_of, rounds_of
from seatunnel_py.runtime.values.subtask_state import state_of

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver


def written_in(state: Any) -> dict[str, int]:
    """Rows that it has written, by sink."""
    return {node: rows for node, (rows, _) in tally_of(state_of(state).tally).written.items()}


def rows_in(state: Any) -> int | None:
    """Rows that it took along its inputs, where it counts them: a sink, or a query that waits for more."""
    written = written_in(state)
    if written:
        return max(written.values())
    gathered = state_of(state).gathered
    return sum(slice_of(one).rows for one in gathered) if gathered else None


def read_in(state: Any) -> int:
    """Rows that it has read."""
    return tally_of(state_of(state).tally).read


def positions_of(topology: Topology, plan: Any, subtask: Subtask, state: Any, *, bounded: bool) -> dict[str, int]:
    """Where it stands in each of its splits, by the plan of a record."""
    rounds = rounds_of(plan["rounds"].get(subtask.vertex, ()))
    mine = assign_splits(rounds, topology.vertex(subtask.vertex).parallelism)[subtask.index]
    return _positions(mine, state, bounded=bounded)


def positions_in(driver: Driver, subtask: Subtask, state: Any) -> dict[str, int]:
    """The same by what a driver knows now."""
    splits = driver.machine.executions[subtask].splits
    return _positions(splits, state, bounded=driver.machine.context.bounded)


def _positions(splits: Sequence[Split], state: Any, *, bounded: bool) -> dict[str, int]:
    reading = reading_of(state_of(state).reading)
    left = [split for split in splits if split.id not in reading.ended]
    finished = {*reading.ended, *(split.id for split in (left[: reading.finished] if bounded else ()))}
    found = {}
    for split in splits:
        at = reading.at.get(split.id)
        found[split.id] = (split.rows or 0) if split.id in finished else int(str(at.value["n"])) if at else 0
    return found
