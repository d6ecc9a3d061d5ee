"""Takes rules about changes of schemas down, removes them, and decides by them in place of a person.

Rules. (1) A rule is named after the request that asks for it, so a repeated request makes no second one. (2) A rule
that is removed stays removed, whatever comes in which order. (3) A decision of a rule is a journal line like that of a
person, durable before it has an effect: a later driver repeats it, also if the rule is removed meanwhile.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from seatunnel_py.api.text.java_regex import name_pattern
from seatunnel_py.errors import SeaTunnelError, worded
from seatunnel_py.plan.change_rules import ChangeRule
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind
from seatunnel_py.runtime.storage.journal import Journal, decision_line, removed_rule_line, rule_line
from seatunnel_py.runtime.targets.prepared_pipeline import held_in, tables_in
from seatunnel_py.runtime.targets.ruled_changes import decision_about

NAMED_MAX = 5


def asked(request: ControlRequest) -> ChangeRule:
    """The rule that a request asks for. Raises SeaTunnelError for one that another version has written."""
    try:
        return ChangeRule.of({**request.rule, "id": request.id, "table": request.tables[0], "by": request.by})
    except (ValueError, TypeError, LookupError) as error:
        raise SeaTunnelError(
            f"rule {request.id} is not known to this version: {worded(error)}", "use the version that runs the job"
        ) from error


def active(journal: Journal) -> tuple[ChangeRule, ...]:
    """The rules that decide, the oldest first."""
    found = (ChangeRule.of(plain) for name, plain in journal.rules.items() if name not in journal.removed_rules)
    return tuple(sorted(found, key=lambda one: one.at))


def taken_down(
    request: ControlRequest, journal: Journal, now: float
) -> tuple[ControlAnswer, tuple[Mapping[str, Any], ...]]:
    """The answer to a request about a rule, with the journal lines that must be durable before it is given."""
    if request.wish is RequestKind.ADD_RULE:
        try:
            rule = replace(asked(request), at=now)
        except SeaTunnelError as error:
            return ControlAnswer(request.id, False, error.message, error.remedy), ()
        known = request.id in journal.rules
        text = f"rule {rule.id}: it decides about changes from now on"
        return ControlAnswer(request.id, True, text, about=rule.to_plain()), () if known else (
            rule_line(rule.to_plain()),
        )
    rules = {one.id: one for one in active(journal)}
    removal = journal.removed_rules.get(request.name)
    if removal is None and request.name not in rules:
        unknown = unknown_rule(request.name, rules.values())
        return ControlAnswer(request.id, False, unknown.message, unknown.remedy), ()
    made = removal or {"rule": request.name, "by": request.by, "at": now}
    text = f"rule {request.name}: removed; changes of its kind wait for a person again"
    return ControlAnswer(request.id, True, text, about=dict(made)), () if removal else (removed_rule_line(made),)


def unknown_rule(name: str, rules: Iterable[ChangeRule]) -> SeaTunnelError:
    """The error for a rule that does not exist, with the nearest one."""
    known = [one.id for one in rules]
    near = difflib.get_close_matches(name, known, 1)
    others = (
        f"these exist: {', '.join(known[:NAMED_MAX])}" if known else "`seatunnel changes rule JOB list` shows rules"
    )
    return SeaTunnelError(f"there is no rule {name!r}", f"did you mean {near[0]}?" if near else others)


def require_tables(rule: ChangeRule, records: Mapping[str, CheckpointRecord]) -> None:
    """Raise SeaTunnelError for a rule about tables of which none is followed."""
    paths = [table.schema.path for record in records.values() for table in tables_in(record.plan)]
    if any(map(rule.matches, paths)):
        return
    if not paths:
        raise SeaTunnelError(
            "the job has not begun to follow a log", "add the rule when `seatunnel jobs show JOB` shows the log"
        )
    names = sorted({one.full_name for one in paths})
    remedy = f"the nearest table is {name_pattern(rule.table).nearest(names)}; a pattern is for full names"
    raise SeaTunnelError(f"no table whose log the job follows matches {rule.table!r}", remedy)


# ---------------------------------------------------------------- decisions


def of_waiting(
    journal: Journal, records: Mapping[str, CheckpointRecord], pipelines: Mapping[str, Pipeline], now: float
) -> list[Mapping[str, Any]]:
    """The journal lines of decisions about changes that wait since an earlier run."""
    rules, lines = active(journal), list[Mapping[str, Any]]()
    for key, pipeline in pipelines.items():
        record = records.get(key)
        if not rules or record is None or pipeline.log is None:
            continue
        known, ruled = journal.decisions.get(key, {}), replace(pipeline, rules=rules)
        for one in held_in(record.plan):
            if one.id in known or one.path not in pipeline.tables:
                continue
            found = decision_about(ruled, one.alteration, one.before, one.id, record.checkpoint, now)
            if found is not None:
                lines.append(decision_line(key, asdict(found[1])))
    return lines
