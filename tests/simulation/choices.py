"""Every decision of a run, drawn from one seed, by named stream; recorded, so that a run can be replayed and shrunk.

A decision is a number in [0, 1). The convention that makes shrinking work: 0 is always the simplest choice (no fault,
the shortest delay, the first element), so that a script that has run out of numbers goes on in the simplest way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
STREAMS = (
    "shape",
    "vertices",
    "settings",
    "switches",
    "wishes",
    "rows",
    "delay",
    "outcome",
    "sizes",
)
"""Many, so that a change of one leaves the others what they were. Each fault has one of its own besides."""
FOLLOWED = "followed"
"""The stream of jobs that follow a log. It has numbers of its own, so other jobs are what they were without it."""
RULES = "rules"
"""The stream of rules about changes of schemas, likewise."""
Script = dict[str, list[float]]


class Stream:
    """The decisions of one kind."""

    __slots__ = ("_random", "_script", "taken")

    def __init__(self, source: random.Random | None, script: Sequence[float]) -> None:
        self._random = source.random if source else None
        self._script = script
        self.taken: list[float] = []

    def draw(self) -> float:
        if self._random is not None:
            value = self._random()
        else:
            at = len(self.taken)
            value = self._script[at] if at < len(self._script) else 0.0
        self.taken.append(value)
        return value

    def below(self, limit: int) -> int:
        return int(self.draw() * limit)

    def between(self, low: int, high: int) -> int:
        return low + int(self.draw() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self.draw() >= 1.0 - probability

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.draw() * len(options))]


class Choices:
    """All streams of a run: from a seed, or from a script; from both: streams that the script does not name are drawn."""

    def __init__(self, seed: int | None = None, script: Script | None = None) -> None:
        self._source = None if seed is None else random.Random(seed)
        self._script = script or {}
        self.streams: dict[str, Stream] = {}
        self.shape, self.vertices, self.settings, self.switches = map(self.stream, STREAMS[:4])
        self.wishes, self.rows, self.delay, self.outcome, self.sizes = map(self.stream, STREAMS[4:])
        self.followed, self.rules = (self._own(name, seed) for name in (FOLLOWED, RULES))

    def _own(self, name: str, seed: int | None) -> Stream:
        source = None if seed is None or name in self._script else random.Random(f"{name} {seed}")
        self.streams[name] = Stream(source, self._script.get(name, ()))
        return self.streams[name]

    def stream(self, name: str) -> Stream:
        """The stream of this name."""
        if name not in self.streams:
            source = None if name in self._script else self._source
            self.streams[name] = Stream(source, self._script.get(name, ()))
        return self.streams[name]

    def script(self) -> Script:
        """What was decided so far."""
        return {name: list(stream.taken) for name, stream in self.streams.items()}
