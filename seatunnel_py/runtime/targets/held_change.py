"""A change of a followed table's schema that waits for a person: the policy asks for that, or a step refuses the
change.

The table stops at the place of the change. The target has all earlier rows. Once a person has decided, the log is read
again from there for this table alone (``log_growth.py``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.api.batch import Position
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaBehavior
from seatunnel_py.api.sink import Setup
from seatunnel_py.api.source import SourceTable
from seatunnel_py.runtime.targets.plain_setup import setup_of, setup_plain
from seatunnel_py.work.plain_schema import table_of, table_plain
from seatunnel_py.work.schema_alteration import SchemaAlteration

DIGITS = 6
APPROVE = "seatunnel changes approve JOB"
"""In the remedy of a table that waits, before the id of its change."""


@dataclass(frozen=True, slots=True)
class HeldChange:
    """``before``: the table as its target has it; ``position``: the place in the log; ``setups``: of its sinks, by
    node; ``why``: cause and remedy; ``checkpoint``: the record from which it waits."""

    before: SourceTable
    alteration: SchemaAlteration
    position: Position
    why: tuple[str, str]
    checkpoint: int
    setups: Mapping[str, Setup] = field(default_factory=dict)

    @property
    def path(self) -> TablePath:
        return self.before.schema.path

    @property
    def id(self) -> str:
        return change_id(self.alteration, self.position)

    def by(self, behavior: SchemaBehavior) -> HeldChange:
        """The change with a decision about it."""
        return replace(self, alteration=replace(self.alteration, behavior=behavior))

    def to_plain(self) -> dict[str, Any]:
        return {
            "before": table_plain(self.before), "alteration": self.alteration.to_plain(),
            "position": self.position.to_plain(), "why": list(self.why), "checkpoint": self.checkpoint,
            "setups": {node: setup_plain(one) for node, one in self.setups.items()},
        }  # fmt: skip

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> HeldChange:
        """The inverse of ``to_plain``."""
        return HeldChange(
            table_of(plain["before"]), SchemaAlteration.from_plain(plain["alteration"]), Position.of(plain["position"]),
            (plain["why"][0], plain["why"][1]), plain["checkpoint"],
            {node: setup_of(one) for node, one in plain["setups"].items()},
        )  # fmt: skip


def change_id(alteration: SchemaAlteration, position: Position | None) -> str:
    """The name of a change for persons: the table, and digits that follow from the change and its place."""
    place = None if position is None else position.to_plain()
    text = json.dumps([alteration.to_plain(), place], sort_keys=True, default=str)
    return f"{alteration.path.table}-{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def waiting(held: Iterable[HeldChange]) -> dict[str, HeldChange]:
    """The changes by their ids."""
    return {one.id: one for one in held}
