"""Rules about the table itself: keys, constraints, columns, path. Checked before any row is read."""

from __future__ import annotations

from collections.abc import Iterator

from seatunnel_connectors.assert_.options import CatalogTableRule, ColumnRule, ConstraintRule, PrimaryKeyRule
from seatunnel_py.api import Column, TableSchema


def broken_rules(rule: CatalogTableRule, table: TableSchema) -> list[str]:
    """Every rule that ``table`` breaks, in words."""
    found: list[str] = []
    if rule.primary_key_rule is not None:
        found += _primary_key(rule.primary_key_rule, table)
    if rule.constraint_key_rule is not None:
        found += _constraints(rule.constraint_key_rule, table)
    if rule.column_rule is not None:
        found += _columns(rule.column_rule, table)
    identifier = rule.table_identifier_rule
    if identifier is not None and identifier.table != table.path.full_name:
        found.append(f"table_identifier_rule: the table is {table.path}, not {identifier.table}")
    if rule.table_path is not None and rule.table_path != table.path.full_name:
        found.append(f"table_path: the table is {table.path}, not {rule.table_path}")
    return found


def _primary_key(rule: PrimaryKeyRule, table: TableSchema) -> Iterator[str]:
    key = table.primary_key
    if key is None:
        yield "primary_key_rule: the table has no primary key"
        return
    if rule.primary_key_name is not None and rule.primary_key_name != key.name:
        yield f"primary_key_rule: the key is called {key.name!r}, not {rule.primary_key_name!r}"
    if rule.primary_key_columns and sorted(rule.primary_key_columns) != sorted(key.columns):
        yield f"primary_key_rule: its columns are {_named(key.columns)}, not {_named(rule.primary_key_columns)}"


def _constraints(rules: tuple[ConstraintRule, ...], table: TableSchema) -> Iterator[str]:
    wanted = sorted(
        (
            rule.constraint_key_name,
            rule.constraint_key_type.value,
            tuple(
                (column.constraint_key_column_name, column.constraint_key_sort_type.value)
                for column in rule.constraint_key_columns
            ),
        )
        for rule in rules
    )
    there = sorted((key.name, key.type.value, key.columns) for key in table.constraints)
    if there != wanted:
        yield f"constraint_key_rule: the constraints are {there or 'none'}, not {wanted}"


def _columns(rules: tuple[ColumnRule, ...], table: TableSchema) -> Iterator[str]:
    wanted = [rule.name for rule in rules]
    if sorted(wanted) != sorted(table.names):
        yield f"column_rule: the columns are {_named(table.names)}, not {_named(wanted)}"
    for rule in rules:
        column = table.column(rule.name)
        if column is not None:
            yield from _column(rule, column)


def _column(rule: ColumnRule, column: Column) -> Iterator[str]:
    compared = {
        "type": (rule.type, column.dtype),
        "column_length": (rule.column_length, column.length),
        "nullable": (rule.nullable, column.nullable),
        "default_value": (rule.default_value, column.default),
        "comment": (rule.comment, column.comment),
    }
    for name, (wanted, actual) in compared.items():
        if wanted is not None and wanted != actual and str(wanted) != str(actual):
            yield f"column_rule: {name} of column {column.name!r} is {actual}, not {wanted}"


def _named(names: list[str] | tuple[str, ...]) -> str:
    return "[" + ", ".join(names) + "]"
