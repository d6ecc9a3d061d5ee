"""What many pipelines want of their targets: who goes with whom, and who hears what."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.api import FatalError, RetriableError
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.target_batcher import TargetBatcher

Call = Callable[[], None]


@dataclass
class Targets:
    """What they were asked, in order; ``refuse`` may raise when several are committed together, or one alone."""

    asked: list[tuple[str, ...]] = field(default_factory=list)
    refuse: Callable[[tuple[str, ...]], None] = lambda names: None

    def commit(self, names: tuple[str, ...]) -> None:
        self.asked.append(names)
        self.refuse(names)


@dataclass(frozen=True)
class Named:
    """Work whose target is of that name."""

    targets: Targets
    name: str
    target: Hashable
    together_max: int = 100

    def key(self) -> Hashable:
        return self.target

    def alone(self) -> None:
        self.targets.commit((self.name,))

    def together(self, others: Sequence[Named]) -> None:
        self.targets.commit((self.name, *(other.name for other in others)))


class Turn:
    """A loop whose other threads work when they are told to."""

    def __init__(self, most: int = 100) -> None:
        self.targets, self.most = Targets(), most
        self.answers: list[str] = []
        self.posted: list[Call] = []
        self.aside: list[tuple[Callable[[], Any], Callable[[Any], None], Callable[[Any], None]]] = []
        self.target_work = TargetBatcher(lambda *work: self.aside.append(work), self.posted.append)

    def ask(self, name: str, target: Hashable = "pg") -> None:
        self.target_work.ask(
            Named(self.targets, name, target, self.most),
            lambda _: self.answers.append(f"{name} done"),
            lambda failure: self.answers.append(f"{name} {failure.kind}"),
        )

    def end(self) -> None:
        while self.posted:
            self.posted.pop(0)()

    def take(self, *names: str) -> None:
        """One whole turn for one target."""
        for name in names:
            self.ask(name)
        self.end()
        self.work()

    def work(self) -> None:
        """Everything that is under way, and what follows."""
        while self.aside:
            task, then, failed = self.aside.pop(0)
            try:
                value = task()
            except Exception as error:  # noqa: BLE001 - as the loop does
                failed(as_failure(error))
            else:
                then(value)
            self.end()


def test_what_comes_in_one_turn_goes_together_target_by_target() -> None:
    turn = Turn()
    for name, target in (("a", "one"), ("b", "two"), ("c", "one"), ("d", None), ("e", "two"), ("f", "three")):
        turn.ask(name, target)
    turn.end()
    turn.work()

    assert sorted(turn.targets.asked) == [("a", "c"), ("b", "e"), ("d",), ("f",)]
    assert sorted(turn.answers) == [f"{name} done" for name in "abcdef"]


def test_what_comes_meanwhile_goes_next() -> None:
    turn = Turn()
    turn.ask("a"), turn.ask("b")
    turn.end()
    turn.ask("c"), turn.ask("d"), turn.ask("e")
    turn.end()
    assert len(turn.aside) == 1
    turn.work()

    assert turn.targets.asked == [("a", "b"), ("c", "d", "e")]
    assert turn.answers == [f"{name} done" for name in "abcde"]


def test_a_target_that_is_away_is_asked_once_for_all_of_them() -> None:
    """200 time-outs, one after the other, would keep every other target waiting."""
    turn = Turn()

    def away(names: tuple[str, ...]) -> None:
        raise RetriableError("connection refused")

    turn.targets.refuse = away
    turn.take(*"ab")

    assert turn.targets.asked == [("a", "b")]
    assert turn.answers == ["a retriable", "b retriable"]


def test_what_is_wrong_with_one_meets_only_that_one() -> None:
    """One table never stops the others."""
    turn = Turn()

    def refuse(names: tuple[str, ...]) -> None:
        if "b" in names:
            raise FatalError("the units of b are lost")

    turn.targets.refuse = refuse
    turn.take(*"abc")

    assert turn.targets.asked == [("a", "b", "c"), ("a",), ("b",), ("c",)]
    assert turn.answers == ["a done", "b fatal", "c done"]


def test_a_sink_that_cannot_say_with_whom_it_goes_meets_its_own_table_only() -> None:
    """It is a plugin's own code, and is asked on the loop."""
    turn = Turn()

    class Broken(Named):
        def key(self) -> Hashable:
            raise ValueError("no such setting")

        def alone(self) -> None:
            raise FatalError("no such setting")

    turn.ask("a")
    turn.target_work.ask(
        Broken(turn.targets, "b", "pg"),
        lambda _: turn.answers.append("b done"),
        lambda failure: turn.answers.append(f"b {failure.kind}"),
    )
    turn.ask("c")
    turn.end()
    turn.work()

    assert sorted(turn.answers) == ["a done", "b fatal", "c done"]


def test_a_message_has_an_end() -> None:
    turn = Turn(most=3)
    turn.take(*"abcdefgh")

    assert turn.targets.asked == [("a", "b", "c"), ("d", "e", "f"), ("g", "h")]
    assert turn.answers == [f"{name} done" for name in "abcdefgh"]


def test_one_that_was_left_over_is_not_forgotten() -> None:
    """It goes alone, and what comes after it goes too."""
    turn = Turn(most=2)
    turn.take(*"abc")
    turn.take(*"de")

    assert turn.targets.asked == [("a", "b"), ("c",), ("d", "e")]
