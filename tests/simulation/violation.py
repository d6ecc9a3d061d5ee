"""What a checker raises."""

from __future__ import annotations


class Violation(AssertionError):
    """An invariant does not hold: which one, where to see it again, and why."""

    def __init__(self, checker: str, text: str, seed: int | None, mode: str, event: int) -> None:
        super().__init__(checker, text, seed, mode, event)
        self.checker, self.text, self.seed, self.mode, self.event = checker, text, seed, mode, event

    def __str__(self) -> str:
        return f"{self.checker} (seed {self.seed}, {self.mode}, event {self.event}): {self.text}"
