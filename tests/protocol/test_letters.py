"""Letters: what one side says, the other hears, field by field."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest

from seatunnel_py.protocol import letters
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.letters import TO_COORDINATOR, TO_PARTICIPANT
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.stream_elements import JournalUse, TakenInput
from seatunnel_py.protocol.participant import messages as task

SUBTASK = Subtask("x", 1)
ADDRESS = {"subtask"}


def filled(kind: type) -> Any:
    """A command whose fields all differ."""
    return kind(**{one.name: SUBTASK if one.name == "subtask" else one.name for one in fields(kind)})


@pytest.mark.parametrize("kind", TO_PARTICIPANT, ids=lambda kind: kind.__name__)
def test_a_participant_hears_what_its_coordinator_says(kind: type) -> None:
    """LT1: all but the address."""
    command = filled(kind)
    event = letters.to_participant(3.0, command)

    assert isinstance(event, get_args(task.ParticipantEvent))
    said = {one.name: getattr(command, one.name) for one in fields(kind) if one.name not in ADDRESS}
    assert {one.name: getattr(event, one.name) for one in fields(event)} == {"at": 3.0, **said}


@pytest.mark.parametrize("kind", TO_COORDINATOR, ids=lambda kind: kind.__name__)
def test_a_coordinator_hears_what_a_participant_says(kind: type) -> None:
    """LT1."""
    command = filled(kind)
    event = letters.to_coordinator(3.0, command)

    assert isinstance(event, get_args(report.CoordinatorEvent))
    said = {one.name: getattr(command, one.name) for one in fields(kind)}
    assert {one.name: getattr(event, one.name) for one in fields(event)} == {"at": 3.0, **said}


def test_a_restart_comes_with_the_journal() -> None:
    """LT2."""
    command = order.Restart(SUBTASK, 2, 3, 4, None, {}, {}, JournalUse.WHOLE)
    journal = [TakenInput(5, None, 6)]

    event = letters.restored(1.0, command, journal)

    assert event == task.Restored(1.0, 2, 3, 4, None, {}, {}, tuple(journal))
