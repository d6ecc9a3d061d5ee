"""What every checker is: named after its invariant, sees what it is about, raises where it does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tests.simulation.observer import Observer
    from tests.simulation.world import World


class Checker:
    """``seen`` counts how often the invariant was put to the test."""

    after: ClassVar[dict[Any, str]] = {}
    """What is watched (a kind of message, or a name) -> method."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.facts: Observer = world.observer

    def hooks(self) -> dict[Any, Callable[..., None]]:
        return {key: getattr(self, name) for key, name in self.after.items()}

    def fail(self, text: str) -> None:
        raise self.world.violation(type(self).__name__, text)

    def expect(self, right: bool, text: str) -> None:
        if not right:
            self.fail(text)
