"""Lists columns whose values are converted: by the source when it reads them, or by the sink when it stores them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.types import Conversion
from seatunnel_py.nouns import counted


def conversions_of(table: TableSchema, stored: Sequence[Conversion]) -> tuple[Conversion, ...]:
    """The conversions between a source's column and its place in a target. ``stored`` are the sink's own: they override
    those of the source, and cancel one if the sink stores the source's type again."""
    found = {
        column.name: Conversion(column.name, column.converted_from, str(column.dtype))
        for column in table.columns
        if column.converted_from
    }
    found |= {conversion.column: conversion for conversion in stored}
    return tuple(one for one in found.values() if one.note or one.source != one.target)


def words(conversion: Mapping[str, Any]) -> str:
    """One conversion without its column, as a text."""
    test = "checked: " if conversion["checked"] else ""
    note = f" ({test}{conversion['note']})" if conversion["note"] else ""
    return f"{conversion['source']} -> {conversion['target']}{note}"


def total(tables: Iterable[tuple[str, bool]]) -> str:
    """How many columns of how many tables are converted, from (table, checked) of each column; empty: none."""
    found: Counter[str] = Counter()
    checked = 0
    for table, tested in tables:
        found[table] += 1
        checked += tested
    if not found:
        return ""
    columns = sum(found.values())
    of = counted(len(found), "table")
    verb = "arrives" if columns == 1 else "arrive"
    return f"{counted(columns, 'column')} of {of} {verb} in another form, {checked} of them after a test of each value"
