"""When the end of a pipeline's sources is said, where rows go round a loop.

Rules. (1) The end waits until sources, channels and back-edges are empty and no unit is under way: the checkpoint that
the end asks for is then the last one, so that a bounded job shows nothing before it knows that all of it went well.
(2) An attempt that has not begun yet is not empty: what its snapshot holds is still to come. (3) Without a loop nothing
waits, for the last barrier comes after all rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from seatunnel_py.protocol.coordinator.events import SourceEnded
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import ExecutionState
from seatunnel_py.protocol.participant.participant import Participant


class EndOfInput:
    """Of one pipeline, with or without ``loops``. The coordinator drops ends of past attempts."""

    def __init__(self, *, loops: bool) -> None:
        self._loops = loops
        self._held: dict[Subtask, SourceEnded] = {}

    @property
    def holds(self) -> bool:
        """Ends wait to be told."""
        return bool(self._held)

    def ended(self, event: SourceEnded) -> tuple[SourceEnded, ...]:
        """A source has read all that there is. Return what the coordinator is told now."""
        if not self._loops:
            return (event,)
        self._held[event.subtask] = event
        return ()

    def due(self, participants: Iterable[Participant]) -> tuple[SourceEnded, ...]:
        """Something has happened to those who take part: it may have been the last row."""
        if not self._held or not all(map(_is_empty, participants)):
            return ()
        held, self._held = self._held, {}
        return tuple(held.values())


def _is_empty(participant: Participant) -> bool:
    idle = participant.running_unit is None and participant.units.replay is None
    return participant.life is ExecutionState.RUNNING and idle and not any(participant.queued.values())
