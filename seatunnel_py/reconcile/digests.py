"""Digests of rows by the hash of their key: sums that do not depend on the order of the rows. Pure.

Keys are divided by their hash, not by their order: two databases rarely sort texts alike, and a transform may change a
key. Each of 65,536 key ranges has the number of its rows and the sum of their hashes. A range with equal sums on both
sides is equal; the rows of the others are looked at again, one state for each key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seatunnel_py.reconcile.row_hashes import Hashes, mixed

RANGES = 1 << 16
_SHIFT = np.uint64(48)


@dataclass(slots=True)
class RangeDigests:
    """Rows and sum of the row hashes of each key range."""

    rows: Any = field(default_factory=lambda: np.zeros(RANGES, np.int64))
    sums: Hashes = field(default_factory=lambda: np.zeros(RANGES, np.uint64))

    def add(self, keys: Hashes, rows: Hashes) -> None:
        ranges = range_of(keys)
        np.add.at(self.rows, ranges, 1)
        np.add.at(self.sums, ranges, rows)

    @property
    def total(self) -> int:
        return int(self.rows.sum())


def range_of(keys: Hashes) -> Any:
    """The key range of each key hash."""
    return (keys >> _SHIFT).astype(np.intp)


def differing(source: RangeDigests, target: RangeDigests) -> Any:
    """The ranges whose rows differ, in ascending order."""
    return np.nonzero((source.rows != target.rows) | (source.sums != target.sums))[0]


def groups(ranges: Any, source: RangeDigests, target: RangeDigests, rows_max: int) -> list[Any]:
    """The ranges in groups of about ``rows_max`` rows on the larger side: each group fits into memory."""
    sizes = np.maximum(source.rows[ranges], target.rows[ranges])
    cuts = np.nonzero(np.diff(np.cumsum(sizes) // rows_max))[0] + 1
    return [one for one in np.split(ranges, cuts) if len(one)]


@dataclass(frozen=True, slots=True, eq=False)
class KeyStates:
    """The state of each key that was seen on one side: its hash in ascending order, how many rows have it, and the sum
    of their hashes."""

    keys: Hashes
    rows: Any
    sums: Hashes

    @staticmethod
    def of(keys: Hashes, rows: Hashes) -> KeyStates:
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        if not len(keys):
            return KeyStates(keys, np.zeros(0, np.int64), rows)
        first = np.concatenate(([True], keys[1:] != keys[:-1]))
        (starts,) = np.nonzero(first)
        counts = np.diff(np.append(starts, len(keys)))
        return KeyStates(keys[starts], counts, np.add.reduceat(rows, starts))

    def at(self, wanted: Hashes) -> tuple[Any, Hashes]:
        """For each wanted key: how many rows have it, and one hash of all of them, 0 if there is none."""
        if not len(self.keys):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.uint64)
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        there = self.keys[places] == wanted
        counts = np.where(there, self.rows[places], 0)
        states = mixed(self.sums[places] ^ mixed(counts.astype(np.uint64)))
        return counts, np.where(there, states, np.uint64(0))


def differing_keys(source: KeyStates, target: KeyStates) -> Hashes:
    """The keys whose rows differ, in ascending order."""
    keys = np.union1d(source.keys, target.keys)
    differ = source.at(keys)[1] != target.at(keys)[1]
    return np.asarray(keys[differ], np.uint64)
