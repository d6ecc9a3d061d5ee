"""Checks the positions of a reader within a unit: after rows no position may come twice, for these rows would come
twice."""

from __future__ import annotations

import json

from seatunnel_py.api.batch import Batch, Element, Position, Rejected, Skipped
from seatunnel_py.api.plain_data import STATE_BYTES_MAX
from seatunnel_py.errors import FatalError

CHARACTERS_SHOWN_MAX = 200


class Positions:
    """Positions of one reader, named ``who`` in messages, in a unit that begins at ``start``."""

    def __init__(self, who: str, start: Position | None, bytes_max: int = STATE_BYTES_MAX) -> None:
        self._who = who
        self._bytes_max = bytes_max
        self.largest = 0
        self._given = {_key(start)} if start is not None else set()
        self._began = self._given.copy()
        self._rows = 0  # since the last position

    def passed(self, element: Element) -> None:
        """Check the element's position. Raises FatalError if a unit that begins there would read the same rows
        again."""
        self._rows += _rows(element)
        end = getattr(element, "end", None)
        if end is None:
            return
        rows, self._rows = self._rows, 0
        key = _key(end)
        self._within(len(key))
        if key not in self._given:
            self._given.add(key)
        elif rows:
            before = "it began" if key in self._began else "it was before"
            raise FatalError(
                f"{self._who} gives rows ({rows}) and stands where {before}: {key[:CHARACTERS_SHOWN_MAX]}; "
                "a unit that resumes there reads the same rows again",
                "the source has to begin after `start`, and to give a new position after each batch",
            )

    def _within(self, size: int) -> None:
        self.largest = max(self.largest, size)
        if size > self._bytes_max:
            raise FatalError(
                f"{self._who} gives a position of {size:,} bytes; every checkpoint holds it, and "
                f"{self._bytes_max:,} are allowed (env.state.max-bytes)",
                "keep only the next place in a position, not the data read",
            )


def state_bytes(plain: object) -> int:
    """The size of a position or a payload in a checkpoint."""
    return len(json.dumps(plain, sort_keys=True, default=str))


def _key(position: Position) -> str:
    generation = f" of {position.generation}" if position.generation else ""
    return json.dumps(position.value, sort_keys=True, default=str) + generation


def _rows(element: Element) -> int:
    match element:
        case Batch() | Skipped():
            return element.rows
        case Rejected():
            return int(element.data.num_rows)
    return 0
