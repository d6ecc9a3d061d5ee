"""Finding the rows that are at fault among many, by trying some of them without the others. Pure.

Rules. (1) Rows are numbered in their order, and tried in it. (2) What is found is complete: the rows that are left
pass, alone and, after ``conflicts``, together. (3) Of two rows that exclude one another the later one is bad.
(4) Trials are bounded: about 2 k (log2(n / k) + 2) for k bad rows of n; more than are allowed end the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row is bad: which step refused it, in its own words."""

    step: str
    error: str


Refusal = Callable[[Sequence[int]], Fault | None]
"""Tries these rows, and says why they do not pass together; None: they do."""


class TooManyFaults(Exception):
    """More bad rows than are allowed; ``found`` are the first ones."""

    def __init__(self, found: dict[int, Fault]) -> None:
        super().__init__(f"{len(found)} bad rows or more")
        self.found = found


def faults(rows: int, refused: Refusal, most: int) -> dict[int, Fault]:
    """The rows of 0, 1, … ``rows`` - 1 that do not pass by themselves. Raises TooManyFaults."""
    found: dict[int, Fault] = {}
    waiting = [range(rows)] if rows else []
    while waiting:
        some = waiting.pop()
        fault = refused(some)
        if fault is None:
            continue
        if len(some) == 1:
            _add(found, some[0], fault, most)
        else:
            middle = len(some) // 2
            waiting += [some[middle:], some[:middle]]
    return found


def conflicts(rows: Sequence[int], refused: Refusal, most: int) -> dict[int, Fault]:
    """The rows that pass by themselves but not behind the rows before them, such as a second row of one key. Each costs
    log2(n) trials of all the rows before it. Raises TooManyFaults."""
    found: dict[int, Fault] = {}
    left, passing = list(rows), 0
    while (fault := refused(left)) is not None:
        first_refused = len(left)
        while first_refused - passing > 1:
            middle = (passing + first_refused) // 2
            reason = refused(left[:middle])
            if reason is None:
                passing = middle
            else:
                first_refused, fault = middle, reason
        _add(found, left.pop(passing), fault, most)
    return found


def _add(found: dict[int, Fault], row: int, fault: Fault, most: int) -> None:
    found[row] = fault
    if len(found) > most:
        raise TooManyFaults(found)
