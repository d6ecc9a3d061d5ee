"""Finds the faulty rows among many, by trying some of them without the others. Pure.

Rules. (1) Rows are numbered in their order, and tried in it. (2) The result is complete: the remaining rows pass, alone
and, after ``conflicts``, together. (3) Of two rows that exclude one another the later one is bad. (4) Trials are
bounded: about 2 k (log2(n / k) + 2) for k bad rows of n, or k + 1 if each refusal names its row, fewer if it names
several. Exceeding the allowed number of bad rows ends the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row is bad: which step refused it, in its own words. ``at``: index of the row among those tried, if known;
    the rows before it have passed. ``others``: further bad rows in their order, with their messages, if all rows
    between have passed."""

    step: str
    error: str
    at: int | None = None
    others: tuple[tuple[int, str], ...] = ()


Refusal = Callable[[Sequence[int]], Fault | None]
"""Tries these rows, and returns why they do not pass together; None: they pass."""


class TooManyFaultsError(Exception):
    """More bad rows than allowed; ``found`` are the first ones."""

    def __init__(self, found: dict[int, Fault]) -> None:
        super().__init__(f"{len(found)} bad rows or more")
        self.found = found


def faults(rows: int, refused: Refusal, most: int) -> dict[int, Fault]:
    """Return the rows of 0, 1, … ``rows`` - 1 that do not pass by themselves, or beside their neighbours. Raises
    TooManyFaultsError."""
    search = _Search(refused, most)
    search.among(range(rows))
    return search.found


def conflicts(rows: Sequence[int], refused: Refusal, most: int) -> dict[int, Fault]:
    """Return the rows that pass by themselves but not after the rows before them, such as a second row of one key. Each
    costs log2(n) trials of all the rows before it, unless a refusal names it. Raises TooManyFaultsError."""
    search = _Search(refused, most)
    search.together(rows)
    return search.found


class _Search:
    def __init__(self, refused: Refusal, most: int) -> None:
        self.found: dict[int, Fault] = {}
        self._refused = refused
        self._most = most

    def among(self, rows: Sequence[int]) -> None:
        while rows and (fault := self._refused(rows)) is not None:
            if fault.at is None and len(rows) > 1:
                self._halves(rows)
                return
            last = self._add(rows, fault.at or 0, fault)
            rows = rows[last + 1 :]

    def _halves(self, rows: Sequence[int]) -> None:
        before, middle = len(self.found), len(rows) // 2
        self.among(rows[:middle])
        self.among(rows[middle:])
        if len(self.found) == before:
            self.together(rows)  # each half passes: a row of one excludes a row of the other

    def together(self, rows: Sequence[int]) -> None:
        left, passing = list(rows), 0
        while (fault := self._refused(left)) is not None:
            bad = len(left) - 1 if fault.at is None else fault.at
            while fault.at is None and bad > passing:  # the shortest refused prefix ends with a bad row
                middle = (passing + bad) // 2
                reason = self._refused(left[: middle + 1])
                if reason is None:
                    passing = middle + 1
                else:
                    bad, fault = middle if reason.at is None else reason.at, reason
            last = self._add(left, bad, fault)
            before = len(left)
            left = [row for row in left if row not in self.found]
            passing = last + 1 - (before - len(left))

    def _add(self, rows: Sequence[int], at: int, fault: Fault) -> int:
        """The bad rows of one refusal; the index of the last one."""
        bad = [(at, fault.error), *fault.others]
        for place, error in bad:
            self.found[rows[place]] = Fault(fault.step, error)
            if len(self.found) > self._most:
                raise TooManyFaultsError(self.found)
        return bad[-1][0]
