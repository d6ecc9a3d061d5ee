"""Decisions about changes of schemas that a log has met: those of persons, and those that rules make in their place.

A decision of a rule is a journal line, durable before it has an effect (``Performer``): a later driver repeats it, also
if the rule is removed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaPolicy
from seatunnel_py.api.source import SourceTable
from seatunnel_py.plan.change_rules import deciding, named
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.targets.held_change import change_id
from seatunnel_py.runtime.targets.target_alteration import place_of_log
from seatunnel_py.work.schema_alteration import SchemaAlteration

APPROVED, REJECTED = "approve", "reject"
"""Verdicts of decisions."""


@dataclass(frozen=True, slots=True)
class ChangeDecision:
    """``verdict``: approve or reject; ``by``: the person or the rule; ``at``: seconds since 1970; ``checkpoint``: the
    newest one of the log then."""

    change: str
    table: str
    statement: str
    verdict: str
    by: str
    at: float
    checkpoint: int


def decision_about(
    pipeline: Pipeline, one: SchemaAlteration, before: SourceTable, name: str, checkpoint: int, now: float
) -> tuple[SchemaAlteration, ChangeDecision] | None:
    """A change with the decision of the pipeline's rules; None: it waits for a person, or need not wait. ``name``: of
    the change; ``checkpoint``: the newest record of its log."""
    found = deciding(pipeline.rules, one, before, _policy(pipeline, one.path))
    if not found:
        return None
    verdict = APPROVED if found[0].approves else REJECTED
    made = ChangeDecision(name, str(one.path), one.statement, verdict, named(found), now, checkpoint)
    return replace(one, behavior=found[0].behavior), made


def of_met(
    pipeline: Pipeline,
    record: CheckpointRecord,
    log: str,
    pending: Iterable[SchemaAlteration],
    tables: Mapping[TablePath, SourceTable],
    now: float,
) -> tuple[tuple[SchemaAlteration, ...], tuple[dict[str, Any], ...]]:
    """The changes that a log has met, each with the decision about it if there is one, and those decisions of rules
    that are new. ``log``: the vertex that reads it."""
    place, changes, new = place_of_log(record, log), [], []
    for one in pending:
        name = change_id(one, place)
        behavior = pipeline.decisions.get(name)
        found = None
        if behavior is None and one.path in tables:
            found = decision_about(pipeline, one, tables[one.path], name, record.checkpoint, now)
        if found is not None:
            new.append(asdict(found[1]))
        changes.append(replace(one, behavior=behavior) if found is None else found[0])
    return tuple(changes), tuple(new)


def _policy(pipeline: Pipeline, table: TablePath) -> SchemaPolicy:
    log = pipeline.log
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    return log.source.schema_policy_of(table)
