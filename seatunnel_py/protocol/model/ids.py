"""Names of subtasks and channels. Ids only grow, over all incarnations, and none is used twice (I11).

May not know: the work of a vertex.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Subtask:
    """One parallel instance of a vertex."""

    vertex: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.vertex}[{self.index}]"


@dataclass(frozen=True, slots=True, order=True)
class Channel:
    """FIFO channel from one subtask to another, on the edge with number ``edge`` of the topology."""

    edge: int
    sender: Subtask
    receiver: Subtask

    def __str__(self) -> str:
        return f"{self.sender}->{self.receiver}"
