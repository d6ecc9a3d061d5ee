"""The table of phases, explored: every order of its events ends, and no phase is a dead end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatunnel_py.runtime.state.phases import TABLE, PhaseEvent, PipelinePhase, advance

ENDS = frozenset({PipelinePhase.CLOSED, PipelinePhase.REPLACED})
LENGTH_MAX = 9


def paths(phase: PipelinePhase, left: int) -> Iterator[tuple[PipelinePhase, ...]]:
    """All ways from this phase on, up to so many changes."""
    if not TABLE[phase] or not left:
        yield (phase,)
        return
    for event in TABLE[phase]:
        for path in paths(advance(phase, event), left - 1):
            yield (phase, *path)


def reached(phase: PipelinePhase) -> set[PipelinePhase]:
    """All phases that may follow, itself included."""
    found, due = {phase}, [phase]
    while due:
        more = set(TABLE[due.pop()].values()) - found
        found |= more
        due += more
    return found


def test_every_phase_has_a_row_and_is_reached() -> None:
    assert set(TABLE) == set(PipelinePhase)
    assert reached(PipelinePhase.WAITING) == set(PipelinePhase)
    assert {event for row in TABLE.values() for event in row} == set(PhaseEvent)


@pytest.mark.parametrize("phase", PipelinePhase)
def test_no_phase_is_a_dead_end(phase: PipelinePhase) -> None:
    """From everywhere an end is reached; at an end nothing follows."""
    assert reached(phase) & ENDS
    assert (not TABLE[phase]) == (phase in ENDS)


def test_every_order_of_events_comes_to_an_end() -> None:
    """A pipeline that closes never runs again; it is swept before it ends, and asks for its claim before it begins
    again. Only an overtaken one is swept twice, so that a path may be cut off there."""
    ended = 0
    for path in paths(PipelinePhase.WAITING, LENGTH_MAX):
        closing = [phase.is_over for phase in path]
        assert closing == sorted(closing), path
        if path[-1] not in ENDS:
            assert path.count(PipelinePhase.CHECKING), path
            continue
        ended += 1
        before = path[-2]
        assert before is (PipelinePhase.SWEEPING if path[-1] is PipelinePhase.CLOSED else PipelinePhase.CHECKING)
        assert PipelinePhase.SWEEPING in path
        if PipelinePhase.DROPPING in path:
            assert path[path.index(PipelinePhase.DROPPING) + 1] is PipelinePhase.SWEEPING
    assert ended > 10


@pytest.mark.parametrize("phase", PipelinePhase)
def test_what_the_table_does_not_hold_is_refused(phase: PipelinePhase) -> None:
    for event in set(PhaseEvent) - set(TABLE[phase]):
        with pytest.raises(AssertionError, match="cannot go on"):
            advance(phase, event)
    if not phase.is_over:
        assert PhaseEvent.END in TABLE[phase], "a stop may come at any time"
