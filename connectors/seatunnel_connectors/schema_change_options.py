"""Options of sources that follow changes of their tables' schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import field_validator, model_validator

from seatunnel_py.api import (
    FatalError,
    Options,
    Rule,
    SchemaBehavior,
    SchemaEvent,
    SchemaPolicy,
    SourceTable,
    TableFailure,
    TableLeftOut,
    TablePath,
    at_least_one,
    name_pattern,
    option,
)

OLDER_NAME = "include.schema.changes"
_FURTHER = ("schema_behavior", "schema_include", "schema_exclude", "schema_log_bytes", "schema_tables")
_KINDS = ", ".join(SchemaEvent)
_ONCE = "{include} and {exclude} name the same change"


class TableSchemaChanges(Options):
    """One entry of ``schema-changes.tables``. Options that it lacks are those of the source."""

    table_pattern: str = option(
        key="table-pattern", doc="regular expression for full names of tables that the source reads"
    )
    behavior: SchemaBehavior | None = option(None, doc="schema-changes.behavior of these tables")
    include: tuple[SchemaEvent, ...] | None = option(
        None, doc="schema-changes.include of these tables; quote the key, HOCON reserves this word"
    )
    exclude: tuple[SchemaEvent, ...] | None = option(None, doc="schema-changes.exclude of these tables")

    rules: ClassVar[tuple[Rule, ...]] = (
        at_least_one("behavior", "include", "exclude"),
        Rule(_ONCE, lambda given, _: set(_named(given, "include")).isdisjoint(_named(given, "exclude"))),
    )

    @field_validator("table_pattern")
    @classmethod
    def _pattern_is_one(cls, pattern: str) -> str:
        name_pattern(pattern)
        return pattern

    def matches(self, table: TablePath) -> bool:
        """Whether the entry is about this table."""
        return name_pattern(self.table_pattern).fullmatch(table.full_name)


class SchemaChangeOptions(Options):
    """Whether changes of schemas are followed, and which of them reach the targets."""

    schema_changes: bool = option(
        False,
        key="schema-changes.enabled",
        doc="follow changes of columns and truncations; false: a table that changes is ISOLATED with the difference, "
        "and the others are followed. Older name: include.schema.changes in debezium",
    )
    schema_behavior: SchemaBehavior = option(
        SchemaBehavior.EVOLVE,
        key="schema-changes.behavior",
        doc="evolve: targets follow each change; lenient: targets only get more columns and wider types, and later "
        "rows have null in a dropped or renamed column; try: targets follow each change that they can, any other "
        "counts as under ignore; ignore: targets stay as they are, later steps see no new column; inbox: the table "
        "waits until `seatunnel changes approve` or `reject` decides; exception: the table is ISOLATED",
    )
    schema_include: tuple[SchemaEvent, ...] = option(
        (), key="schema-changes.include", doc=f"only these changes reach the targets: some of {_KINDS}"
    )
    schema_exclude: tuple[SchemaEvent, ...] = option(
        (), key="schema-changes.exclude", doc=f"these changes do not reach the targets: some of {_KINDS}"
    )

    schema_log_bytes: int = option(
        2**30,
        key="schema-changes.log.max-bytes",
        ge=0,
        doc="bytes of log that the source's server keeps for tables that wait for a decision, or whose target has "
        "refused a change; beyond them such a table must be copied again. A binary log is kept for the server's "
        "own time",
    )
    schema_tables: tuple[TableSchemaChanges, ...] = option(
        (),
        key="schema-changes.tables",
        doc="behavior, include and exclude of single tables; the first entry that matches a table counts for it",
    )

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "{schema_behavior}, {schema_include}, {schema_exclude}, {schema_log_bytes} and {schema_tables} need "
            "{schema_changes} = true",
            lambda given, known: known.get("schema_changes") is True or not any(name in given for name in _FURTHER),
        ),
        Rule(
            "{schema_include} and {schema_exclude} name the same change",
            lambda given, _: set(_named(given, "schema_include")).isdisjoint(_named(given, "schema_exclude")),
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _older_name(cls, data: Any) -> Any:
        """``include.schema.changes`` in the block ``debezium`` is the older name of ``schema-changes.enabled``, which
        counts where both are given."""
        settings = data.get("debezium") if isinstance(data, Mapping) else None
        if isinstance(settings, Mapping) and str(settings.get(OLDER_NAME)).lower() == "true":
            return {"schema_changes": True, **data}
        return data

    @property
    def schema_policy(self) -> SchemaPolicy:
        """The policy of tables without an entry of their own."""
        behavior = self.schema_behavior if self.schema_changes else SchemaBehavior.EXCEPTION
        include, exclude = frozenset(self.schema_include), frozenset(self.schema_exclude)
        return SchemaPolicy(behavior, include, exclude, self.schema_log_bytes)

    def schema_policy_of(self, table: TablePath) -> SchemaPolicy:
        """The policy of this table."""
        usual, own = self.schema_policy, next((one for one in self.schema_tables if one.matches(table)), None)
        if own is None:
            return usual
        return SchemaPolicy(
            usual.behavior if own.behavior is None else own.behavior,
            usual.include if own.include is None else frozenset(own.include),
            usual.exclude if own.exclude is None else frozenset(own.exclude),
            self.schema_log_bytes,
        )

    def require_schema_tables(self, found: Iterable[SourceTable | TableFailure | TableLeftOut]) -> None:
        """Raise FatalError for entries of ``schema-changes.tables`` that match no table which is read."""
        paths = [one.schema.path if isinstance(one, SourceTable) else one.path
                 for one in found if not isinstance(one, TableLeftOut)]  # fmt: skip
        names = [path.full_name for path in paths]
        idle = [one.table_pattern for one in self.schema_tables if not any(map(one.matches, paths))]
        if idle and names:
            near = (name_pattern(pattern).nearest(names) for pattern in idle)
            raise FatalError(
                f"schema-changes.tables: no table that is read matches {', '.join(map(repr, idle))}",
                f"the nearest table is {', '.join(near)}; patterns are for full names",
            )


def _named(given: object, name: str) -> tuple[str, ...]:
    found = given.get(name, ()) if isinstance(given, dict) else ()
    return (found,) if isinstance(found, str) else tuple(str(one).lower() for one in found)
