"""The status of a pipeline as a frozen value, for diagnostics."""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.runtime.observe.receipt import TableState


@dataclass(frozen=True, slots=True)
class SubtaskStatus:
    """``reads``: a subtask of a source; ``waits``: its next unit has not started; ``pause``: why a source must wait."""

    subtask: Subtask
    reads: bool
    waits: bool
    at_work: bool
    pause: str | None


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """``checkpoint``: the newest completed one; ``lag``: number of completed checkpoints that are not committed yet."""

    name: str
    state: TableState
    checkpoint: int | None
    lag: int
    subtasks: tuple[SubtaskStatus, ...]
