"""The phases of a pipeline in one driver: a literal table.

Rules. (1) Before RUNNING nothing is changed anywhere but in the journal. (2) CLOSING waits until no unit and no call is
under way; what comes back meanwhile begins nothing. (3) The journal says that staged rows are given up before they are
dropped (DROPPING). (4) A pipeline that begins again asks first whether the job is still its driver's (CHECKING).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """Where a pipeline stands; the value is for people."""

    WAITING = "waits for its turn"
    PREPARING = "looks at its sources and targets"
    PREPARED = "waits for the engine"
    STARTING = "hands its chains to the engine"
    RUNNING = "runs"
    CLOSING = "waits for what is still at work"
    DROPPING = "writes down that staged rows are dropped"
    SWEEPING = "is closed"
    CHECKING = "asks whether the job is still its driver's"
    REPLACED = "has begun again"
    CLOSED = "has ended"

    @property
    def is_over(self) -> bool:
        """It is at or behind its end."""
        return self not in _BEFORE_THE_END


class PhaseEvent(StrEnum):
    """What moves a pipeline from phase to phase."""

    ADMIT = "admitted"
    PREPARED = "prepared"
    ENGINE_READY = "the engine is ready"
    BEGUN = "its first lines are durable"
    END = "it ends"
    GIVE_UP = "staged rows are given up"
    SWEEP = "nothing is at work any more"
    SWEPT = "it is swept"
    CHECK = "it is swept, and wants to begin again"
    OURS = "the job is still its driver's"


_BEFORE_THE_END = frozenset((Phase.WAITING, Phase.PREPARING, Phase.PREPARED, Phase.STARTING, Phase.RUNNING))
TABLE: Mapping[Phase, Mapping[PhaseEvent, Phase]] = {
    Phase.WAITING: {PhaseEvent.ADMIT: Phase.PREPARING, PhaseEvent.END: Phase.CLOSING},
    Phase.PREPARING: {PhaseEvent.PREPARED: Phase.PREPARED, PhaseEvent.END: Phase.CLOSING},
    Phase.PREPARED: {PhaseEvent.ENGINE_READY: Phase.STARTING, PhaseEvent.END: Phase.CLOSING},
    Phase.STARTING: {PhaseEvent.BEGUN: Phase.RUNNING, PhaseEvent.END: Phase.CLOSING},
    Phase.RUNNING: {PhaseEvent.END: Phase.CLOSING},
    Phase.CLOSING: {PhaseEvent.GIVE_UP: Phase.DROPPING, PhaseEvent.SWEEP: Phase.SWEEPING},
    Phase.DROPPING: {PhaseEvent.SWEEP: Phase.SWEEPING},
    Phase.SWEEPING: {PhaseEvent.SWEPT: Phase.CLOSED, PhaseEvent.CHECK: Phase.CHECKING},
    Phase.CHECKING: {
        PhaseEvent.OURS: Phase.REPLACED,
        PhaseEvent.GIVE_UP: Phase.DROPPING,
        PhaseEvent.SWEEP: Phase.SWEEPING,
    },
    Phase.REPLACED: {},
    Phase.CLOSED: {},
}


def advance(phase: Phase, event: PhaseEvent) -> Phase:
    """The phase that this event leads to. AssertionError where the table has none."""
    following = TABLE[phase].get(event)
    assert following is not None, f"a pipeline that {phase.value} cannot go on with: {event.value}"
    return following
