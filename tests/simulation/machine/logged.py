"""The journal as receivers may rely on it: whose units are durable in it, over all drivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_py.work.unit import UnitId


class Logged:
    """``makers``: by segment, the unit that made it. A pipeline that finishes an isolated sink of another one takes
    what that one has logged, so vertices are known by their own names."""

    def __init__(self) -> None:
        self.makers: dict[str, UnitId] = {}
        self._taken: set[tuple[str, int, int]] = set()

    def add(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """These lines are durable."""
        for line in lines:
            if "n" in line:
                vertex, index = line["s"]
                self._taken.add((vertex, index, line["n"]))

    def made(self, segment: str) -> bool:
        """Whether the unit that made this segment stands in the journal."""
        maker = self.makers[segment]
        return (maker.vertex, maker.subtask, maker.sequence) in self._taken
