"""What a check of the simulation raises."""

from __future__ import annotations


class JobViolationError(BaseException):
    """A rule does not hold: which one, and why. No code under test catches it."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule, self.text = rule, text

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def fail(rule: str, text: str) -> None:
    """For places that are passed so often that their text is made only when it is needed."""
    raise JobViolationError(rule, text)


def expect(right: bool, rule: str, text: str) -> None:
    """Raise where it is not right."""
    if not right:
        raise JobViolationError(rule, text)
