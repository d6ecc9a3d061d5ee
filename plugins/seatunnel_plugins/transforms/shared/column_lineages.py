"""Lineages of transforms that move columns, or put computed ones beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from seatunnel_py.api import ColumnLineage, ColumnUse, LineageKind, TableSchema

_NONE: Mapping[str, Iterable[str]] = MappingProxyType({})


def moved(output: TableSchema, sources: Mapping[str, str] = MappingProxyType({})) -> ColumnLineage:
    """Each output column equals the input column of its name, or the one in ``sources``."""
    return ColumnLineage({name: (ColumnUse(sources.get(name, name)),) for name in output.names})


def computed(
    output: TableSchema, added: Mapping[str, Iterable[str]] = _NONE, *, masking: bool = False, rows: Iterable[str] = ()
) -> ColumnLineage:
    """The output columns in ``added`` are made of these input columns, all others are unchanged. ``rows``: those that
    decide which rows come out."""
    columns = {
        name: tuple(ColumnUse(one, LineageKind.TRANSFORMATION, masking) for one in dict.fromkeys(added[name]))
        if name in added
        else (ColumnUse(name),)
        for name in output.names
    }
    return ColumnLineage(columns, tuple(ColumnUse(one, LineageKind.FILTER) for one in dict.fromkeys(rows)))
