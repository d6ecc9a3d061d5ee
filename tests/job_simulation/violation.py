"""What a check of the simulated job raises."""

from __future__ import annotations


class JobViolationError(AssertionError):
    """A rule of the machine does not hold: which one, and why."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule, self.text = rule, text

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def expect(right: bool, rule: str, text: str) -> None:
    """Raise where it is not right."""
    if not right:
        raise JobViolationError(rule, text)
