"""The split of a log: where it begins and ends, and for each table where its rows count and its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, cast

from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition
from seatunnel_py.api import Plain, Split, TablePath

LOG_ID = "log"
"""The id of the first split; those of later runs have a number."""


@dataclass(frozen=True, slots=True)
class BinlogPlace:
    """``begin``: the place to read from; ``server``: the identity of the server that places belong to; ``bound``: the
    place at which the run ends, if it does."""

    server: str
    begin: BinlogPosition
    starts: Mapping[Name, BinlogPosition]
    definitions: Mapping[Name, TableDefinition]
    bound: BinlogPosition | None = None

    def split(self, run: int = 1) -> Split:
        database, table = next(iter(self.starts))
        name = LOG_ID if run == 1 else f"{LOG_ID}~{run}"
        return Split(name, TablePath(database, "", table), self.to_plain())

    def to_plain(self) -> dict[str, Plain]:
        starts: list[Plain] = [[*name, place.to_plain()] for name, place in self.starts.items()]
        definitions: list[Plain] = [definition_plain(one) for one in self.definitions.values()]
        plain: dict[str, Plain] = {
            "server": self.server, "begin": self.begin.to_plain(), "starts": starts, "definitions": definitions,
        }  # fmt: skip
        return plain if self.bound is None else {**plain, "bound": self.bound.to_plain()}

    @staticmethod
    def of(payload: Mapping[str, Plain]) -> BinlogPlace:
        """The inverse of ``to_plain``."""
        plain = cast("dict[str, Any]", dict(payload))
        starts = {(database, table): BinlogPosition.of(place) for database, table, place in plain["starts"]}
        definitions = [definition_of(one) for one in plain["definitions"]]
        begin = BinlogPosition.of(plain["begin"])
        bound = BinlogPosition.of(plain["bound"]) if "bound" in plain else None
        return BinlogPlace(plain["server"], begin, starts, {one.name: one for one in definitions}, bound)


def definition_plain(definition: TableDefinition) -> Plain:
    """Convert a definition to plain data."""
    columns: list[Plain] = [list(astuple(one)) for one in definition.columns]
    return [
        definition.database, definition.table, columns, list(definition.key), definition.charset, definition.comment
    ]  # fmt: skip


def definition_of(plain: Any) -> TableDefinition:
    """The inverse of ``definition_plain``."""
    database, table, columns, key, charset, comment = plain
    found = [
        ColumnDefinition(name, data_type, column_type, nullable, own, tuple(words), *rest)
        for name, data_type, column_type, nullable, own, words, *rest in columns
    ]
    return TableDefinition(database, table, tuple(found), tuple(key), charset, comment)
