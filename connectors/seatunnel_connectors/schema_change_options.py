"""Options of sources that follow changes of their tables' schemas."""

from __future__ import annotations

from typing import ClassVar

from seatunnel_py.api import Options, Rule, SchemaBehavior, SchemaEvent, SchemaPolicy, option

_FURTHER = ("schema_behavior", "schema_include", "schema_exclude")
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
        "rows have null in a dropped or renamed column; ignore: targets stay as they are, new columns are left out; "
        "exception: the table is ISOLATED",
    )
    schema_include: tuple[SchemaEvent, ...] = option(
        (), key="schema-changes.include", doc=f"only these changes reach the targets: some of {_KINDS}"
    )
    schema_exclude: tuple[SchemaEvent, ...] = option(
        (), key="schema-changes.exclude", doc=f"these changes do not reach the targets: some of {_KINDS}"
    )

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "{schema_behavior}, {schema_include} and {schema_exclude} need {schema_changes} = true",
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
        return SchemaPolicy(self.schema_behavior, frozenset(self.schema_include), frozenset(self.schema_exclude))


def _named(given: object, name: str) -> tuple[str, ...]:
    found = given.get(name, ()) if isinstance(given, dict) else ()
    return (found,) if isinstance(found, str) else tuple(str(one).lower() for one in found)
