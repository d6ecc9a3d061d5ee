"""What a check of the simulation raises."""

from __future__ import annotations

raised: list[JobViolationError] = []
"""Those of the run that is under way in this process. The world looks here after each step: the code under test takes
whatever a plugin raises for a failure of the plugin, and goes on."""


class JobViolationError(BaseException):
    """A rule does not hold: which one, and why."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule, self.text = rule, text
        raised.append(self)

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def fail(rule: str, text: str) -> None:
    """For places that are passed so often that their text is made only when it is needed."""
    raise JobViolationError(rule, text)


def expect(right: bool, rule: str, text: str) -> None:
    """Raise where it is not right."""
    if not right:
        raise JobViolationError(rule, text)
