"""The frozen view of a coordinator, valid between two events.

Rules. (CV1) It is the only access to a coordinator's state, because its parts change with every event. (CV2)
It is computed on request, and valid until the next event.

May not know: its callers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from seatunnel_py.protocol.commit.commit_queue import CommitQueue
from seatunnel_py.protocol.commit.commit_retries import CommitRetries
from seatunnel_py.protocol.coordinator.checkpoints import Checkpoints
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.pending import PendingCheckpoint
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.failover.recovery import Recovery
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineState
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology


@dataclass(frozen=True, slots=True)
class PendingView:
    """A pending checkpoint; ``missing`` subtasks have not acknowledged it yet."""

    checkpoint: int
    started_at: float
    missing: tuple[Subtask, ...]
    snapshots: tuple[SubtaskSnapshot, ...]


class CoordinatorView(NamedTuple):
    """A tuple, for one is made after almost every event, and a frozen dataclass of this size takes six times as long.
    ``newest``: the newest completed record, ``storing``: the one being stored; ``in_doubt``: those whose storing has
    failed, and which may be in the store. ``next_checkpoint``: the first unused id; ``set_up``: set-up units that are
    done; ``completed``: ids of the records in the store; ``requested``: a request is waiting; ``final_durable``:
    everything is in a durable record; ``restarting``: a region restarts; ``commit_failures``: consecutive failed tries
    by scope."""

    state: PipelineState
    settings: CheckpointSettings
    topology: Topology
    newest: CheckpointRecord | None
    storing: CheckpointRecord | None
    in_doubt: tuple[CheckpointRecord, ...]
    next_checkpoint: int
    epochs: Mapping[str, int]
    set_up: frozenset[str]
    commits: CommitQueue
    pending: tuple[PendingView, ...]
    completed: frozenset[int]
    requested: bool
    final_durable: bool
    restarting: bool
    commit_failures: Mapping[str, int]


def view_of(
    shared: CoordinatorState, checkpoints: Checkpoints, recovery: Recovery, committing: CommitRetries
) -> CoordinatorView:
    """Compute the view from the parts of a coordinator."""
    return CoordinatorView(
        shared.state,
        shared.settings,
        shared.topology,
        shared.newest,
        shared.storing,
        shared.in_doubt,
        shared.next_checkpoint,
        shared.epochs,
        frozenset(shared.set_up),
        shared.commits,
        tuple(map(_pending, checkpoints.pending.values())),
        frozenset(checkpoints.completed),
        bool(checkpoints.queue or checkpoints.asked_as),
        shared.kept,
        recovery.under_way,
        dict(committing.failures),
    )


def _pending(one: PendingCheckpoint) -> PendingView:
    return PendingView(one.checkpoint, one.started_at, one.missing, tuple(one.snapshots.values()))
