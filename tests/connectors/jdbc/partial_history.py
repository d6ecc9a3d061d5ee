"""Histories of rows with absent cells, and a model of a table that applies them one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

KINDS = ("+I", "-U", "+U", "-D")
State: TypeAlias = dict[tuple[Any, ...], list[Any]]
"""Rows by their key."""


@dataclass(frozen=True)
class Change:
    """A row of a history. ``absent``: places of its absent cells, whose values mean nothing. ``partial``: it is a row
    with absent cells, even if others of its key have filled them."""

    kind: str
    cells: tuple[Any, ...]
    absent: frozenset[int] = frozenset()
    partial: bool = False

    @property
    def number(self) -> int:
        return KINDS.index(self.kind)

    @property
    def is_partial(self) -> bool:
        return self.partial or bool(self.absent)


def apply(state: State, changes: Sequence[Change], version: int | None = None, *, upsert: bool = True) -> State:
    """The state after the changes, by keys of two columns. ``version``: place of the version column."""
    state = {key: [*row] for key, row in state.items()}
    for change in changes:
        key = change.cells[:2]
        there = state.get(key)
        if change.kind == "-U":
            continue
        if change.kind == "-D":
            state.pop(key, None)
        elif there is None:
            if not change.is_partial and (upsert or change.kind == "+I"):
                state[key] = [*change.cells]
        elif version is None or is_newer(change.cells[version], there[version]):
            state[key] = [
                old if at in change.absent else new
                for at, (old, new) in enumerate(zip(there, change.cells, strict=True))
            ]
    return state


def is_newer(version: Any, there: Any) -> bool:
    return there is None or (version is not None and version >= there)


def histories(
    chance: random.Random, rows: int, values: Sequence[Sequence[Any]], *, upsert: bool = True, deletes: bool = True,
    version: int | None = None,
) -> list[Change]:  # fmt: skip
    """Random changes of few keys, which are used again. ``values``: for each column those that it may have."""
    known: set[tuple[Any, ...]] = set()
    gone: set[tuple[Any, ...]] = set()
    found: list[Change] = []
    while len(found) < rows:
        cells = tuple(chance.choice(column) for column in values)
        key = cells[:2]
        kind = chance.choice(["+I", "+U", "+U", "+U", "-U", *(["-D"] if deletes else [])])
        if not upsert:  # an insert of a key that is there, or was deleted in the same block, is refused by its index
            if key in gone:
                continue
            kind = "+I" if key not in known else "+U" if kind == "+I" else kind
        known.add(key)
        gone |= {key} if kind == "-D" else set()
        others = [at for at in range(2, len(values)) if at != version]
        absent = frozenset(at for at in others if chance.random() < 0.4) if chance.random() < 0.6 else frozenset()
        found.append(Change(kind, cells, absent if upsert or kind != "+I" else frozenset()))
    return found
