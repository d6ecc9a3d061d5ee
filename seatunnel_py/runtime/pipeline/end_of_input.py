"""Delays the end events of a pipeline's sources until its loops are empty.

Rules. (1) With a loop, end events wait until sources, channels and back-edges are empty and no unit is under way. The
checkpoint that follows is then the last one, so that a bounded job commits only after all rows have been processed.
(2) An execution that has not begun yet is not empty: its snapshot may hold batches. (3) Without a loop end events do
not wait, because the last barrier follows all rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from seatunnel_py.protocol.coordinator.events import SourceEnded
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import ExecutionState
from seatunnel_py.protocol.participant.participant import Participant


class EndOfInput:
    """Holds back the end events of one pipeline if it has ``loops``. The coordinator ignores those of past attempts."""

    def __init__(self, *, loops: bool) -> None:
        self._loops = loops
        self._held: dict[Subtask, SourceEnded] = {}

    @property
    def holds(self) -> bool:
        """Whether end events are held back."""
        return bool(self._held)

    def ended(self, event: SourceEnded) -> tuple[SourceEnded, ...]:
        """Take the end event of a source; return the events that the coordinator gets now."""
        if not self._loops:
            return (event,)
        self._held[event.subtask] = event
        return ()

    def due(self, participants: Iterable[Participant]) -> tuple[SourceEnded, ...]:
        """Return all held events once every participant is empty."""
        if not self._held or not all(map(_is_empty, participants)):
            return ()
        held, self._held = self._held, {}
        return tuple(held.values())


def _is_empty(participant: Participant) -> bool:
    idle = participant.running_unit is None and participant.units.replay is None
    return participant.life is ExecutionState.RUNNING and idle and not any(participant.queued.values())
