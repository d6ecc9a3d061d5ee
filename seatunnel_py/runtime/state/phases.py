"""The phases of a pipeline in one driver: a literal table.

Rules. (1) Before RUNNING nothing is changed anywhere but in the journal. (2) CLOSING waits until no unit and no call is
under way; what comes back meanwhile begins nothing. (3) Before staged rows are dropped, the journal records it
(DROPPING). (4) A pipeline that begins again asks first whether the job is still its driver's (CHECKING).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class PipelinePhase(StrEnum):
    """The phase of a pipeline; the value is for messages."""

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
        """Whether the pipeline is ending or has ended."""
        return self in (_P.CLOSING, _P.DROPPING, _P.SWEEPING, _P.CHECKING, _P.REPLACED, _P.CLOSED)


class PhaseEvent(StrEnum):
    """Moves a pipeline from one phase to the next."""

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


_P, _E = PipelinePhase, PhaseEvent
TABLE: Mapping[PipelinePhase, Mapping[PhaseEvent, PipelinePhase]] = {
    _P.WAITING: {_E.ADMIT: _P.PREPARING, _E.END: _P.CLOSING},
    _P.PREPARING: {_E.PREPARED: _P.PREPARED, _E.END: _P.CLOSING},
    _P.PREPARED: {_E.ENGINE_READY: _P.STARTING, _E.END: _P.CLOSING},
    _P.STARTING: {_E.BEGUN: _P.RUNNING, _E.END: _P.CLOSING},
    _P.RUNNING: {_E.END: _P.CLOSING},
    _P.CLOSING: {_E.GIVE_UP: _P.DROPPING, _E.SWEEP: _P.SWEEPING},
    _P.DROPPING: {_E.SWEEP: _P.SWEEPING},
    _P.SWEEPING: {_E.SWEPT: _P.CLOSED, _E.CHECK: _P.CHECKING},
    _P.CHECKING: {
        _E.OURS: _P.REPLACED,
        _E.GIVE_UP: _P.DROPPING,
        _E.SWEEP: _P.SWEEPING,
    },
    _P.REPLACED: {},
    _P.CLOSED: {},
}


def advance(phase: PipelinePhase, event: PhaseEvent) -> PipelinePhase:
    """The phase that this event leads to. AssertionError where the table has none."""
    following = TABLE[phase].get(event)
    assert following is not None, f"a pipeline that {phase.value} cannot go on with: {event.value}"
    return following
