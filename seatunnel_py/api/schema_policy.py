"""Decides which changes of a followed table's schema reach its targets. The words are those of Flink CDC."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class SchemaEvent(StrEnum):
    """A kind of change of a followed table."""

    ADD_COLUMN = "add.column"
    DROP_COLUMN = "drop.column"
    RENAME_COLUMN = "rename.column"
    ALTER_COLUMN_TYPE = "alter.column.type"
    TRUNCATE_TABLE = "truncate.table"


class SchemaBehavior(StrEnum):
    """EVOLVE: targets follow every change. LENIENT: targets only get more columns and wider types: a dropped or renamed
    column stays, and later rows have null in it. IGNORE: targets stay as they are. TRY: targets follow each change
    that they can, and any other counts as under IGNORE. INBOX: a table waits at each change until a person decides.
    EXCEPTION: the table stops."""

    EVOLVE = "evolve"
    LENIENT = "lenient"
    TRY = "try"
    IGNORE = "ignore"
    INBOX = "inbox"
    EXCEPTION = "exception"


_APPLIED = {
    SchemaBehavior.EVOLVE: frozenset(SchemaEvent),
    SchemaBehavior.LENIENT: frozenset({SchemaEvent.ADD_COLUMN, SchemaEvent.ALTER_COLUMN_TYPE}),
    SchemaBehavior.TRY: frozenset(SchemaEvent),
    SchemaBehavior.IGNORE: frozenset[SchemaEvent](),
    SchemaBehavior.INBOX: frozenset(SchemaEvent),
    SchemaBehavior.EXCEPTION: frozenset[SchemaEvent](),
}


@dataclass(frozen=True, slots=True)
class SchemaPolicy:
    """``include``: only these changes are applied, under every behavior; empty: the behavior decides.
    ``exclude``: these are not applied. ``log_bytes_max``: so much of the log is kept for tables that wait."""

    behavior: SchemaBehavior = SchemaBehavior.EVOLVE
    include: Collection[SchemaEvent] = frozenset()
    exclude: Collection[SchemaEvent] = frozenset()
    log_bytes_max: int = 2**30

    def applies(self, event: SchemaEvent) -> bool:
        """Whether targets follow a change of this kind."""
        chosen = self.include or _APPLIED[self.behavior]
        return event in chosen and event not in self.exclude

    @property
    def stops(self) -> bool:
        """Whether a table stops at any change."""
        return self.behavior is SchemaBehavior.EXCEPTION

    @property
    def fills_added(self) -> bool:
        """Whether earlier rows have the source's value in an added column, and not null."""
        fills = self.behavior in (SchemaBehavior.EVOLVE, SchemaBehavior.INBOX)
        return fills and self.applies(SchemaEvent.ADD_COLUMN)

    @property
    def keeps_names(self) -> bool:
        """Whether the new name of a renamed column is added as a column of its own, beside the earlier one."""
        return self.behavior is SchemaBehavior.LENIENT and not self.applies(SchemaEvent.RENAME_COLUMN)
