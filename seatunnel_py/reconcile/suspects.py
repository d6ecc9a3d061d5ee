"""Decides which keys differ while rows of both sides may still change. Pure.

Rules. (1) A comparison speaks of the moment at which it began. A key is equal once the target shows a state that the
source had at that moment or later. (2) A key differs if its rows have been the same at the source for ``settle``
seconds, and the target, looked at after that time, still has others. (3) A key whose rows change at the source at each
look is neither: it is reported as moving.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from seatunnel_py.reconcile.digests import KeyStates
from seatunnel_py.reconcile.row_hashes import Hashes


class DifferenceKind(StrEnum):
    """How a key's rows differ. With several rows of one key, the side with fewer rows decides."""

    MISSING = "missing"
    SURPLUS = "surplus"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """The states of keys on both sides. Both sides were read between ``began`` and ``ended``, in seconds."""

    began: float
    ended: float
    source: KeyStates
    target: KeyStates


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """Keys that are not decided yet. ``states``: of their rows at the source at the last look; ``before``: at the look
    before it; ``since``: the end of the first look that found this state."""

    keys: Hashes
    states: Hashes
    before: Hashes
    since: Any

    @staticmethod
    def found(keys: Hashes, look: Look) -> Suspects:
        _, states = look.source.at(keys)
        return Suspects(keys, states, states, np.full(len(keys), look.ended))

    @staticmethod
    def joined(parts: Sequence[Suspects]) -> Suspects:
        """The keys of all parts, which have none in common."""
        none = np.zeros(0, np.uint64)
        keys = np.concatenate([none, *(one.keys for one in parts)])
        order = np.argsort(keys)
        states, before = (
            np.concatenate([none, *found])[order]
            for found in ([one.states for one in parts], [one.before for one in parts])
        )
        since = np.concatenate([np.zeros(0), *(one.since for one in parts)])[order]
        return Suspects(keys[order], states, before, since)

    def after(self, look: Look, settle: float) -> tuple[Suspects, Hashes]:
        """The keys that are still undecided after another look, and those that differ."""
        _, source = look.source.at(self.keys)
        _, target = look.target.at(self.keys)
        equal = (target == source) | (target == self.states) | (target == self.before)
        same = source == self.states
        since = np.where(same, self.since, look.ended)
        differs = ~equal & same & (look.began - since >= settle)
        left = ~equal & ~differs
        later = Suspects(self.keys[left], source[left], self.states[left], since[left])
        return later, self.keys[differs]


def kinds(keys: Hashes, look: Look) -> list[DifferenceKind]:
    """The kind of each key's difference."""
    source, _ = look.source.at(keys)
    target, _ = look.target.at(keys)
    words = {-1: DifferenceKind.SURPLUS, 0: DifferenceKind.DIFFERENT, 1: DifferenceKind.MISSING}
    return [words[int(sign)] for sign in np.sign(source - target)]
