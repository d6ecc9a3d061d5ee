"""What all pipelines want of their targets, on its way there: what a target takes together goes to it together.

Rules. (1) What has come by the end of the loop's turn goes in one exchange; what comes while that is under way goes in
the next. (2) Where a target is away, all in the exchange have failed: nobody waits for as many time-outs as there are
tables. (3) Where something else is wrong each is done alone, so that it meets only those whom it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from seatunnel_py.work.unit import FailureKind, UnitFailure


class TargetCall(Protocol):
    """Of one commit scope. No more than ``together_max`` go together."""

    @property
    def together_max(self) -> int: ...

    def key(self) -> Hashable:
        """What it has in common with those that may go with it; None: it goes alone."""

    def alone(self) -> None: ...

    def together(self, others: Any) -> None:
        """With others of its kind and key; all or nothing."""


Then = Callable[[Any], None]
Failed = Callable[[UnitFailure], None]


@dataclass(frozen=True, slots=True)
class _Asked:
    work: TargetCall
    then: Then
    failed: Failed


class TargetBatcher:
    """``aside`` runs something on another thread, ``post`` calls at the end of the loop's turn."""

    def __init__(
        self,
        aside: Callable[[Callable[[], Any], Then, Failed], None],
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        self._aside = aside
        self._post = post
        self._waiting: dict[Hashable, list[_Asked]] = {}
        self._under_way: set[Hashable] = set()

    def ask(self, work: TargetCall, then: Then, failed: Failed) -> None:
        """Have it done by the target, and hear its answer on the loop."""
        asked = _Asked(work, then, failed)
        try:
            key = work.key()
        except Exception:  # noqa: BLE001 - a plugin's own code runs here: alone it fails where that meets its table only
            key = None
        if key is None:
            self._alone(asked)
            return
        key = type(work), key  # what a target sets up together it need not commit together
        waiting = self._waiting.setdefault(key, [])
        waiting.append(asked)
        if len(waiting) == 1 and key not in self._under_way:
            self._post(partial(self._go, key))

    def _alone(self, asked: _Asked) -> None:
        self._aside(asked.work.alone, asked.then, asked.failed)

    def _go(self, key: Hashable) -> None:
        asked = self._waiting.pop(key, [])
        most = asked[0].work.together_max if asked else 0
        if len(asked) > most:
            self._waiting[key] = asked[most:]
        going = asked[:most]
        if len(going) == 1:
            self._alone(going[0])
        elif going:
            self._under_way.add(key)
            first, *others = (one.work for one in going)
            answer = partial(self._answered, key, going)
            self._aside(partial(first.together, others), lambda _: answer(None), answer)

    def _answered(self, key: Hashable, asked: Sequence[_Asked], failure: UnitFailure | None) -> None:
        self._under_way.discard(key)
        for one in asked:
            if failure is None:
                one.then(None)
            elif failure.kind is FailureKind.RETRIABLE:
                one.failed(failure)
            else:
                self._alone(one)
        self._go(key)
