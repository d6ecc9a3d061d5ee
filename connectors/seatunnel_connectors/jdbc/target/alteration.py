"""Decides how a target's columns follow a change of the upstream's schema. Pure.

Rules. (1) Only columns that the job wrote before are renamed, dropped or changed: others belong to other users of the
target. (2) No action is repeated whose result is there already, so a second alteration has no effect. (3) A change
of a type is followed if no earlier value changes by it: the target's column is widened, unless it holds the new values
already. Any other is refused, for the source has written earlier rows again, which its log does not show. (4) Added
columns take nulls, for later rows may come without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, narrower
from seatunnel_py.api import COPY_AGAIN, Column, FatalError, SchemaChange, is_widened

REMEDY = f"alter the target by hand as the source was altered; then {COPY_AGAIN}"


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column to add under ``name``; earlier rows get ``column.default``."""

    name: str
    column: Column


@dataclass(frozen=True, slots=True)
class Alteration:
    """Actions on the columns of one target, in this order, by target names. ``widened`` pairs names with the upstream
    column."""

    renamed: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    added: tuple[AddedColumn, ...] = ()
    widened: tuple[tuple[str, Column], ...] = ()
    made_nullable: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.renamed or self.dropped or self.added or self.widened or self.made_nullable)


def alteration_of(change: SchemaChange, name: Callable[[str], str], there: Mapping[str, TargetColumn]) -> Alteration:
    """The actions that the target lacks. ``name``: the target's name of an upstream column. Raises FatalError if it
    cannot follow."""
    renamed = _renamed(change, name, there)
    kept = {new: old for old, new in change.renamed.items()}
    kept |= {one: one for one in change.after.names if one not in kept and change.before.column(one) is not None}
    gone = [one for one in change.before.names if one not in kept.values()]
    dropped = tuple(name(one) for one in gone if name(one) in there)
    added = tuple(
        AddedColumn(name(one.name), one)
        for one in change.after.columns
        if one.name not in kept and (name(one.name) not in there or name(one.name) in dropped)
    )
    now = dict(there) | {new: there[old] for old, new in renamed}
    widened, made_nullable = [], []
    for new, old in kept.items():
        before, after, found = change.before.column(old), change.after.column(new), now.get(name(new))
        assert before is not None and after is not None, "both schemas have the column"
        if found is None:
            raise FatalError(f"the target has no column {name(new)!r}, which the job has written", REMEDY)
        _require_exact(before, after)
        if narrower(after, found):
            widened.append((name(new), after))
        if after.nullable and not before.nullable and not found.nullable:
            made_nullable.append(name(new))
    return Alteration(renamed, dropped, added, tuple(widened), tuple(made_nullable))


def _renamed(
    change: SchemaChange, name: Callable[[str], str], there: Mapping[str, TargetColumn]
) -> tuple[tuple[str, str], ...]:
    found = []
    pairs = [(name(old), name(new)) for old, new in change.renamed.items() if name(old) != name(new)]
    olds = {old for old, _ in pairs}
    for old, new in pairs:
        if new in olds:
            raise FatalError(f"columns exchange their names ({old!r} becomes {new!r})", REMEDY)
        if old in there and new in there:
            raise FatalError(f"column {old!r} becomes {new!r}, and the target has both", REMEDY)
        if old not in there and new not in there:
            raise FatalError(f"column {old!r} becomes {new!r}, and the target has neither", REMEDY)
        if old in there:
            found.append((old, new))
    return tuple(found)


def _require_exact(before: Column, after: Column) -> None:
    """Refuse a type that holds other values than before (rule 3)."""
    shapes = [(one.dtype, one.native, one.length, one.scale) for one in (before, after)]
    if shapes[0] == shapes[1] or is_widened(before, after):
        return
    raise FatalError(
        f"column {after.name!r} was {before.native or before.dtype} and is {after.native or after.dtype}: the source "
        "may have changed values of earlier rows with it, which its log does not show",
        REMEDY,
    )
