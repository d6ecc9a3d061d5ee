"""Describes a target's columns, existing or to be created, and conversions of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seatunnel_connectors.jdbc.statements.target_dialect import TargetDialect, TargetTable
from seatunnel_connectors.jdbc.target import column_fit
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, TargetPlan
from seatunnel_py.api import Conversion, TableSchema


def columns_of(
    dialect: TargetDialect,
    table: TableSchema,
    target: TargetTable,
    chosen: TargetPlan,
    key: Sequence[str],
    names: Mapping[str, str],
) -> Mapping[str, TargetColumn]:
    """The target's columns by their names there; ``names`` maps the upstream's."""
    if not chosen.create:
        return target.columns
    made = {}
    for column in table.columns:
        in_key = column.name in key
        kind = dialect.created_type(column, in_key=in_key, alone=len(key) == 1, features=target.features)
        made[names[column.name]] = dialect.made_column(names[column.name], column, kind)
    return made


def conversions(
    dialect: TargetDialect, table: TableSchema, columns: Mapping[str, TargetColumn], names: Mapping[str, str]
) -> tuple[Conversion, ...]:
    """Conversions by the declared types, and those that the database adds."""
    found = {one.column: one for one in column_fit.conversions(table, columns, names)}
    for column in table.columns:
        there = columns[names[column.name]]
        if note := dialect.changed(column, there):
            one = found.get(column.name, Conversion(column.name, str(column.dtype), there.shown))
            found[column.name] = replace(one, note="; ".join(filter(None, (one.note, note))))
    return tuple(found.values())
