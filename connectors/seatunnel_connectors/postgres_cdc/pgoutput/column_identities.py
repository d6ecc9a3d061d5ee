"""Finds which column of the catalog each column of the log is, where the catalog is later than the log. Pure.

Rules. (1) A column is its attribute number: the catalog never gives one twice, and knows those of dropped columns too.
(2) The log gives columns in the order of their numbers. It lacks those that were dropped by then, and may lack
generated ones; it has each that the plan and the catalog have, and each of the catalog before its last one. (3) If that
leaves one number open, the column is proved. (4) Otherwise it is the column of the plan that has its name, or the
newer one of the catalog that has its name and type, if rule 2 allows that. (5) A column that can only be one that is
dropped by now needs no number. (6) Anything else is refused: a rename, and a drop with a new column, differ in the rows
that were there before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationColumn


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the catalog as it is now; of a dropped one only the number is known. ``filled``: it has a default or
    an identity; ``missing``: the value that rows have that were there before it."""

    number: int
    name: str
    type_oid: int
    modifier: int
    filled: bool
    has_missing: bool
    missing: str | None
    dropped: bool = False
    generated: bool = False


class UnclearColumnError(Exception):
    """The catalog does not show any more which column has this name in the log."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


GONE, UNKNOWN = -1, 0
"""Instead of a number: the column is dropped by now; it is one of the plan whose number is not known."""


def identities(
    plan: Mapping[str, int], logged: Sequence[RelationColumn], catalog: Collection[Attribute], *, needs_all: bool
) -> tuple[int, ...]:
    """The number of each column in the log, or GONE or UNKNOWN. ``plan``: likewise, of its columns by name. Raises
    UnclearColumnError (rule 6); unless ``needs_all``, not for a new column, whose earlier values have no use."""
    there = {one.number: one for one in catalog}
    planned = frozenset(number for number in plan.values() if number > 0)
    last = max(planned, default=0)
    has_others = len(planned) < len(plan)
    numbers = sorted(number for number in there if number in planned or number > last or has_others)
    optional = frozenset(
        number
        for number in numbers
        if there[number].dropped or there[number].generated or (number < last and number not in planned)
    )
    feasible = _feasible([frozenset(numbers)] * len(logged), numbers, optional, last)
    found = []
    for column, open_numbers in zip(logged, feasible, strict=True):
        attributes = {one: there[one] for one in open_numbers}
        try:
            found.append(_number(column, attributes, plan.get(column.name), planned))
        except UnclearColumnError:
            if needs_all or column.name in plan or planned.intersection(open_numbers):
                raise
            found.append(UNKNOWN)
    chosen = [frozenset({one}) if one > 0 else open_numbers for one, open_numbers in zip(found, feasible, strict=True)]
    if not all(_feasible(chosen, numbers, optional, last)):
        raise UnclearColumnError(next((one.name for one in logged if one.name not in plan), logged[-1].name))
    return tuple(found)


def _number(
    column: RelationColumn, feasible: Mapping[int, Attribute], by_name: int | None, planned: Collection[int]
) -> int:
    """The number of one column (rules 3 to 5). ``by_name``: the number of the plan's column with its name."""
    if by_name is not None and (by_name <= 0 or by_name in feasible):
        return by_name
    if by_name is None and feasible and all(one.dropped and one.number not in planned for one in feasible.values()):
        return GONE
    if len(feasible) == 1:
        return next(iter(feasible))
    named = [number for number, one in feasible.items() if number not in planned and _is_alike(column, one)]
    if by_name is None and len(named) == 1:
        return named[0]
    raise UnclearColumnError(column.name)


def _is_alike(column: RelationColumn, there: Attribute) -> bool:
    return (column.name, column.type_oid, column.modifier) == (there.name, there.type_oid, there.modifier)


def _feasible(
    allowed: Sequence[Collection[int]], numbers: Sequence[int], optional: Collection[int], last: int
) -> list[frozenset[int]]:
    """The numbers that each column can have (rule 2), out of those that are ``allowed`` for it. A number is passed over
    if it is ``optional``, or if it is newer than ``last`` and all columns have theirs."""
    count = len(allowed)

    def takes(column: int, at: int) -> bool:
        return column < count and numbers[at] in allowed[column] and ends[column + 1][at + 1]

    def passes(column: int, at: int) -> bool:
        may = numbers[at] in optional or (column == count and numbers[at] > last)
        return may and ends[column][at + 1]

    ends = [[False] * len(numbers) + [column == count] for column in range(count + 1)]
    for at in range(len(numbers) - 1, -1, -1):
        for column in range(count, -1, -1):
            ends[column][at] = takes(column, at) or passes(column, at)
    found: list[set[int]] = [set() for _ in range(count)]
    reached = {0}
    for at, number in enumerate(numbers):
        taking = {column for column in reached if takes(column, at)}
        for column in taking:
            found[column].add(number)
        reached = {column + 1 for column in taking} | {column for column in reached if passes(column, at)}
    return [frozenset(one) for one in found]
