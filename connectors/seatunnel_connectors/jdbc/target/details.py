"""Parts of the source's definition that a created table gets, and those that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from seatunnel_connectors.jdbc.options import CarryOver, JdbcSinkOptions
from seatunnel_py.api import ConstraintType, Detail, DetailKind, TableSchema

_ASKED_AS = {
    CarryOver.DEFAULTS: {DetailKind.DEFAULT},
    CarryOver.IDENTITY: {DetailKind.IDENTITY},
    CarryOver.CHECKS: {DetailKind.CHECK},
    CarryOver.INDEXES: {DetailKind.INDEX, DetailKind.UNIQUE_KEY},
}


class CommentPlace(StrEnum):
    """Objects with a comment; databases support some of them, or none."""

    TABLE = "table"
    COLUMN = "column"


def divided(
    options: JdbcSinkOptions,
    table: TableSchema,
    can_be_made: Callable[[Detail], bool],
    keeps_comment: Callable[[str, CommentPlace], bool],
    *,
    unique_keys: bool,
) -> tuple[tuple[Detail, ...], tuple[Detail, ...]]:
    """The details to make, and those that the made table does not have. ``unique_keys``: the sink makes them anyway."""
    asked = set[DetailKind]().union(*(_ASKED_AS[one] for one in options.carry_over))
    typed = {one.name for one in table.details if one.kind is DetailKind.TYPE}
    made = tuple(
        one
        for one in table.details
        if one.kind in asked
        and can_be_made(one)
        and not (one.kind is DetailKind.DEFAULT and one.name in typed)  # its words name a type that is not there
        and not (one.kind in _ASKED_AS[CarryOver.INDEXES] and not options.create_index)
        and not (one.kind is DetailKind.UNIQUE_KEY and one.columns == table.key)  # the primary key by now
    )
    left = [
        one for one in table.details
        if one not in made and not (one.kind is DetailKind.UNIQUE_KEY and (unique_keys or one.columns == table.key))
    ]  # fmt: skip
    known = {one.name for one in table.details if one.kind is DetailKind.UNIQUE_KEY}
    others = [] if unique_keys and options.create_index else _unique_keys(table)
    return made, (*left, *(one for one in others if one.name not in known), *_comments(table, keeps_comment))


def _comments(table: TableSchema, keeps: Callable[[str, CommentPlace], bool]) -> Iterator[Detail]:
    """Comments for which the target has no room."""
    if table.comment and not keeps(table.comment, CommentPlace.TABLE):
        yield Detail(DetailKind.COMMENT, table.path.table)
    for column in table.columns:
        if column.comment and not keeps(column.comment, CommentPlace.COLUMN):
            yield Detail(DetailKind.COMMENT, column.name, (column.name,))


def _unique_keys(table: TableSchema) -> Sequence[Detail]:
    return [
        Detail(DetailKind.UNIQUE_KEY, one.name, tuple(name for name, _ in one.columns))
        for one in table.constraints
        if one.type is ConstraintType.UNIQUE_KEY and tuple(name for name, _ in one.columns) != table.key
    ]
