"""Selects among the tables that a pattern matches, by kind and exclusion. A table that a job file names is always
read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableKind
from seatunnel_py.api import NamePattern, name_pattern

_WHY = {
    TableKind.TABLE: "tables",
    TableKind.VIEW: "views",
    TableKind.MATERIALIZED_VIEW: "materialized views",
    TableKind.FOREIGN: "foreign tables",
    TableKind.PARTITION: "partitions, whose rows come with their tables",
}


@dataclass(frozen=True, slots=True)
class TableChoice:
    """Values of the options ``kinds`` and ``exclude``."""

    kinds: frozenset[TableKind]
    excluded: tuple[NamePattern, ...]

    @classmethod
    def of(cls, options: JdbcSourceOptions) -> TableChoice:
        return cls(frozenset(options.kinds), tuple(map(name_pattern, options.exclude)))

    def excludes(self, names: Iterable[str]) -> bool:
        return any(pattern.fullmatch(name) for name in names for pattern in self.excluded)

    def why_not(self, kind: TableKind | None, names: Iterable[str]) -> str:
        """The reason why a table with these full names is not read; empty if it is read. ``kind`` None: a kind that no
        option can select, such as a sequence."""
        if self.excludes(names):
            return "excluded"
        if kind is None:
            return "neither tables nor views"
        return "" if kind in self.kinds else f"{_WHY[kind]}; kinds = {','.join([*sorted(self.kinds), kind])} reads them"
