"""Groups calls of all pipelines to their targets: a target gets calls that it can handle together in one batch.

Rules. (1) Calls of one turn of the loop form a batch; calls during its execution form the
next. (2) If a target is unavailable, the whole batch fails, so that there is one time-out and not one per
table. (3) After any other error each call is made alone, so that only the faulty ones fail.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from seatunnel_py.work.unit import FailureKind, UnitFailure


class TargetCall(Protocol):
    """A call of one commit scope. A batch has at most ``together_max`` calls."""

    @property
    def together_max(self) -> int: ...

    def key(self) -> Hashable:
        """Grouping key; None: call it alone."""

    def alone(self) -> None: ...

    def together(self, others: Any) -> None:
        """Execute it with others of its kind and key, all or nothing."""


Then = Callable[[Any], None]
Failed = Callable[[UnitFailure], None]


@dataclass(frozen=True, slots=True)
class _Asked:
    work: TargetCall
    then: Then
    failed: Failed


class TargetBatcher:
    """``aside`` runs a call on another thread; ``post`` runs one at the end of the loop's turn."""

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
        """Queue a call to the target; ``then`` or ``failed`` runs on the loop."""
        asked = _Asked(work, then, failed)
        try:
            key = work.key()
        except Exception:  # noqa: BLE001 - code of a plugin: called alone, it fails for its own table only
            key = None
        if key is None:
            self._alone(asked)
            return
        key = type(work), key  # set-ups and commits are grouped separately
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
