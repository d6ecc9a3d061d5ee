"""Timers: what is due comes in order, and what was forgotten or replaced never does."""

from __future__ import annotations

from seatunnel_py.runtime.timers import Timers


class Told(Timers):
    """Timers that each say a word."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def say(self, key: str, at: float, word: str) -> None:
        self.after((key,), at, lambda: self.words.append(word))

    def told(self, now: float) -> list[str]:
        self.words.clear()
        for call in self.due(now):
            call()
        return list(self.words)


def test_what_is_due_comes_in_order() -> None:
    timers = Told()
    timers.say("b", 2.0, "second")
    timers.say("a", 1.0, "first")
    timers.say("c", 3.0, "third")

    assert timers.pause(0.5) == 0.5
    assert timers.told(2.0) == ["first", "second"]
    assert timers.pause(5.0) == 0.0 and timers.told(5.0) == ["third"]
    assert timers.pause(5.0) is None


def test_one_key_is_one_timer() -> None:
    timers = Told()
    timers.say("a", 1.0, "early")
    timers.say("a", 2.0, "late")

    assert timers.told(3.0) == ["late"]


def test_what_is_forgotten_never_comes() -> None:
    timers = Told()
    timers.say("a", 1.0, "a")
    timers.say("b", 1.0, "b")
    timers.forget(("a",))
    timers.forget(("nobody",))

    assert timers.told(1.0) == ["b"]
