"""Rules that decide about changes of schemas in place of a person. Pure.

Rules. (1) They count for tables whose changes wait for a decision, and for no change about which a person has decided.
(2) Each part of a change must be of a kind that a rule names, and all of these rules must agree; else the change waits
for a person. So the order of the rules has no effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaBehavior, SchemaEvent, SchemaPolicy
from seatunnel_py.api.source import SourceTable
from seatunnel_py.api.text.java_regex import name_pattern
from seatunnel_py.plan.followed_schema import kinds_of, waits
from seatunnel_py.work.schema_alteration import SchemaAlteration


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """``table``: pattern for full names of tables; ``approves``: else it rejects; ``by``: the person who made it, at
    ``at``, in seconds since 1970."""

    id: str
    table: str
    kinds: tuple[SchemaEvent, ...]
    approves: bool
    by: str
    at: float = 0.0

    def matches(self, table: TablePath) -> bool:
        """Whether the rule is about this table."""
        return name_pattern(self.table).fullmatch(table.full_name)

    @property
    def behavior(self) -> SchemaBehavior:
        """The behavior that its decision stands for."""
        return SchemaBehavior.EVOLVE if self.approves else SchemaBehavior.IGNORE

    def to_plain(self) -> dict[str, Any]:
        return {**asdict(self), "kinds": [one.value for one in self.kinds]}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> ChangeRule:
        """The inverse of ``to_plain``."""
        return ChangeRule(**{**plain, "kinds": tuple(map(SchemaEvent, plain["kinds"]))})


def deciding(
    rules: Iterable[ChangeRule], one: SchemaAlteration, before: SourceTable, policy: SchemaPolicy
) -> tuple[ChangeRule, ...]:
    """The rules that decide about a change, all in the same way; empty: it waits for a person, or need not wait."""
    if one.stops is not None or policy.behavior is not SchemaBehavior.INBOX or not waits(one, before, policy):
        return ()
    kinds = kinds_of(one, before.schema)
    found = tuple(rule for rule in rules if rule.matches(one.path) and not kinds.isdisjoint(rule.kinds))
    covered = frozenset(kind for rule in found for kind in rule.kinds)
    agree = len({rule.approves for rule in found}) == 1
    return found if kinds and kinds <= covered and agree else ()


def named(rules: Collection[ChangeRule]) -> str:
    """The rules as the decider of a change, with the persons who made them."""
    names = ", ".join(f"{rule.id} of {rule.by}" for rule in rules)
    return f"rule{'s' * (len(rules) > 1)} {names}"
