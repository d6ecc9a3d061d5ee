"""Options of sources that follow changes of their tables' schemas."""

from __future__ import annotations

from typing import ClassVar

from seatunnel_py.api import Options, Rule, SchemaBehavior, SchemaEvent, SchemaPolicy, option

_FURTHER = ("schema_behavior", "schema_include", "schema_exclude", "schema_log_bytes")
_KINDS = ", ".join(SchemaEvent)


class SchemaChangeOptions(Options):
    """Whether changes of schemas are followed, and which of them reach the targets."""

    schema_changes: bool = option(
        False,
        key="schema-changes.enabled",
        doc="follow changes of columns and truncations; false: a table that changes is ISOLATED with the difference, "
        "and the others are followed",
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

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "{schema_behavior}, {schema_include}, {schema_exclude} and {schema_log_bytes} need {schema_changes} = true",
            lambda given, known: known.get("schema_changes") is True or not any(name in given for name in _FURTHER),
        ),
        Rule(
            "{schema_include} and {schema_exclude} name the same change",
            lambda given, _: set(_named(given, "schema_include")).isdisjoint(_named(given, "schema_exclude")),
        ),
    )

    @property
    def schema_policy(self) -> SchemaPolicy | None:
        """The policy of the changes that are followed; None: none is."""
        if not self.schema_changes or self.schema_behavior is SchemaBehavior.EXCEPTION:
            return None
        include, exclude = frozenset(self.schema_include), frozenset(self.schema_exclude)
        return SchemaPolicy(self.schema_behavior, include, exclude, self.schema_log_bytes)


def _named(given: object, name: str) -> tuple[str, ...]:
    found = given.get(name, ()) if isinstance(given, dict) else ()
    return (found,) if isinstance(found, str) else tuple(str(one).lower() for one in found)
