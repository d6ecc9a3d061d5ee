"""The rules by which a key is equal, differs, or is not decided."""

from __future__ import annotations

import numpy as np

from seatunnel_py.reconcile.digests import KeyStates
from seatunnel_py.reconcile.suspects import DifferenceKind, Look, Suspects, kinds

KEY = np.array([7], np.uint64)


def state(value: int | None) -> KeyStates:
    """One key with a row of this hash, or without one."""
    rows = np.zeros(0, np.uint64) if value is None else np.array([value], np.uint64)
    return KeyStates.of(KEY[: len(rows)], rows)


def look(began: float, source: int | None, target: int | None) -> Look:
    return Look(began, began + 1, state(source), state(target))


def decided(looks: list[Look], settle: float) -> list[str]:
    """The decision after each look but the first."""
    suspects, found = Suspects.found(KEY, looks[0]), []
    for one in looks[1:]:
        suspects, differ = suspects.after(one, settle)
        found.append("differs" if len(differ) else "open" if len(suspects.keys) else "equal")
        if found[-1] != "open":
            break
    return found


def test_a_state_that_the_source_had_is_equal() -> None:
    """Rule 1: also one that has changed since; the next change is later than the comparison."""
    assert decided([look(0, 1, 9), look(2, 1, 1)], 5) == ["equal"]
    assert decided([look(0, 1, 9), look(2, 2, 1)], 5) == ["equal"]
    assert decided([look(0, 1, 9), look(2, 2, 9), look(4, 3, 1)], 5) == ["open", "equal"]
    assert decided([look(0, 1, None), look(2, None, None)], 5) == ["equal"]


def test_only_a_state_that_has_settled_differs() -> None:
    """Rule 2: counted from the end of the look that found the state to the beginning of the last one."""
    assert decided([look(0, 1, 9), look(5, 1, 9), look(6, 1, 9)], 5) == ["open", "differs"]
    assert decided([look(0, 1, 9), look(6, 2, 9), look(8, 2, 9), look(12, 2, 9)], 5) == ["open", "open", "differs"]
    assert decided([look(0, None, 9), look(6, None, 9)], 5) == ["differs"]


def test_a_state_that_never_rests_is_open() -> None:
    """Rule 3."""
    assert decided([look(2 * at, at, 99) for at in range(9)], 1) == ["open"] * 8


def test_a_state_that_has_just_changed_is_open() -> None:
    """Also if the look has taken no time, and none is needed to settle."""
    suspects, differ = Suspects.found(KEY, look(0, 1, 9)).after(Look(2, 2, state(2), state(9)), 0)
    assert len(differ) == 0 and suspects.keys.tolist() == [7]


def test_kinds() -> None:
    both = KeyStates.of(np.array([7, 7], np.uint64), np.array([1, 1], np.uint64))
    assert kinds(KEY, look(0, 1, None)) == [DifferenceKind.MISSING]
    assert kinds(KEY, look(0, None, 1)) == [DifferenceKind.SURPLUS]
    assert kinds(KEY, look(0, 1, 2)) == [DifferenceKind.DIFFERENT]
    assert kinds(KEY, Look(0, 1, state(1), both)) == [DifferenceKind.SURPLUS]
    assert kinds(KEY, Look(0, 1, both, state(1))) == [DifferenceKind.MISSING]


def test_parts_are_joined_in_the_order_of_their_keys() -> None:
    later = Suspects.found(np.array([3, 9], np.uint64), look(4, None, None))
    joined = Suspects.joined((Suspects.found(KEY, look(0, 5, None)), later))
    assert joined.keys.tolist() == [3, 7, 9] and joined.since.tolist() == [5, 1, 5]
