"""When the end of a pipeline's sources is said, where rows go round a loop.

Rules. (1) The end waits until sources, channels and back-edges are empty and no unit is under way: the checkpoint that
the end asks for is then the last one, so that a bounded job shows nothing before it knows that all of it went well.
(2) A life that has not begun yet is not empty: what its snapshot holds is still to come. (3) Without a loop nobody
waits, for the last barrier comes behind all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.protocol.coordinator.events import SourceEnded
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import Life
from seatunnel_py.protocol.participant.participant import Participant

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineLife


class Completion:
    """Of one pipeline. ``_held`` are the ends that were not said yet; the coordinator drops those of past lives."""

    def __init__(self, life: PipelineLife) -> None:
        self._life = life
        self._loops = any(vertex.retry is not None for vertex in life.pipeline.vertices)
        self._held: dict[Subtask, SourceEnded] = {}

    def ended(self, event: SourceEnded) -> None:
        """A source has read all that there is."""
        if self._loops:
            self._held[event.subtask] = event
        else:
            self._life.hear(event)

    def look(self) -> None:
        """Something has happened: it may have been the last row."""
        if not self._held:
            return
        life = self._life
        if all(_is_empty(run.participant) for one, run in life.subtasks.items() if one not in life.left_out):
            held, self._held = self._held, {}
            for event in held.values():
                life.hear(event)


def _is_empty(participant: Participant) -> bool:
    idle = participant.running_unit is None and participant.units.replay is None
    return participant.life is Life.RUNNING and idle and not any(participant.queued.values())
