"""What a pipeline is at, as a frozen value: for those who look in from outside."""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.runtime.observe.receipt import TableState


@dataclass(frozen=True, slots=True)
class SubtaskStatus:
    """``reads``: it is of a source; ``waits``: a unit of it has not begun, and ``pause`` says why a source has to
    wait."""

    subtask: Subtask
    reads: bool
    waits: bool
    at_work: bool
    pause: str | None


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """``checkpoint``: the newest completed one; ``lag``: completed checkpoints that are not committed yet."""

    name: str
    state: TableState
    checkpoint: int | None
    lag: int
    subtasks: tuple[SubtaskStatus, ...]
