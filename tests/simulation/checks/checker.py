"""What every checker is: named after its invariant, sees what it is about, raises where it does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from tests.simulation.violation import JobViolationError

if TYPE_CHECKING:
    from tests.simulation.checks.line import Line

COORDINATOR, PARTICIPANT = "coordinator", "participant"
"""Watched are every event of one, with its commands; those of participants only if they lead to something."""


class Checker:
    """Of one pipeline, over all its drivers."""

    after: ClassVar[dict[Any, str]] = {}
    """What is watched (a kind of message, or a name) -> method."""

    def __init__(self, line: Line) -> None:
        self.line, self.world, self.facts = line, line.world, line.facts

    def hooks(self) -> dict[Any, Callable[..., None]]:
        return {key: getattr(self, name) for key, name in self.after.items()}

    def fail(self, text: str) -> None:
        raise JobViolationError(type(self).__name__, f"{self.line.key}: {text}")

    def expect(self, right: bool, text: str) -> None:
        if not right:
            self.fail(text)

    def count(self, what: str) -> None:
        self.world.counters[what] += 1
