"""Implements ``seatunnel changes rule JOB add|list|remove``: rules that decide about changes in place of a person."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.schema_policy import SchemaEvent
from seatunnel_py.cli.jobs import changes, job_control
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.config.resolve import nearest
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind, request_id

if TYPE_CHECKING:
    from seatunnel_py.plan.change_rules import ChangeRule

_LATER = "at the next start of the job"


def add(
    job_id: str,
    table: str,
    kinds: Sequence[str],
    where: JobLocation,
    *,
    approves: bool | None,
    by: str | None,
    seconds: float,
    as_json: bool,
) -> int:
    """Add a rule: now if the job runs, else at its next start."""
    from seatunnel_py.api.text.java_regex import name_pattern
    from seatunnel_py.runtime.control import rule_decisions

    if approves is None:
        raise SeaTunnelError("a rule needs its decision", "add --approve or --reject")
    try:
        name_pattern(table)
    except ValueError as error:
        raise SeaTunnelError(f"--table {table}: {error}", "correct the regular expression") from None
    job = known(job_id, where, stored=True)
    plain = {"kinds": [_kind(one).value for one in dict.fromkeys(kinds)], "approves": approves}
    request = ControlRequest(
        request_id(), RequestKind.ADD_RULE, "", "", (table,), seconds, by=by or changes.person(), rule=plain
    )
    rule_decisions.require_tables(rule_decisions.asked(request), changes.records(job))
    return job_control.at_next_start(job, request, f"rule {request.id}: it decides {_LATER}", as_json=as_json)


def listing(job_id: str, where: JobLocation, *, as_json: bool) -> int:
    """The rules of a job, those that its next start adds included."""
    found = [_plain(rule, later=later) for rule, later in _rules(known(job_id, where, stored=True))]
    if as_json:
        say_json(found)
        return ExitCode.SUCCESS
    if not found:
        say(f"no rule decides about changes of schemas in the job {job_id!r}")
    for one in found:
        verb = "approves" if one["verdict"] == "approve" else "rejects"
        say(f"{one['rule']}  {verb} {', '.join(one['kinds'])} of {one['table']}")
        since = _LATER if one["at"] is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one["at"]))
        say(f"  by {one['by']}, {'' if one['at'] is None else 'since '}{since}")
    return ExitCode.SUCCESS


def remove(job_id: str, rule: str, where: JobLocation, *, by: str | None, seconds: float, as_json: bool) -> int:
    """Remove a rule: now if the job runs, else at its next start."""
    from seatunnel_py.runtime.control import rule_decisions

    job = known(job_id, where, stored=True)
    rules = [one for one, _ in _rules(job)]
    if all(rule != one.id for one in rules):
        raise rule_decisions.unknown_rule(rule, rules)
    who = by or changes.person()
    request = ControlRequest(request_id(), RequestKind.REMOVE_RULE, "", rule, (), seconds, by=who)
    return job_control.at_next_start(job, request, f"rule {rule}: removed {_LATER}", as_json=as_json)


def _kind(name: str) -> SchemaEvent:
    try:
        return SchemaEvent(name.lower())
    except ValueError:
        near = nearest(name, SchemaEvent)
        remedy = f"did you mean {near}?" if near else f"use {', '.join(SchemaEvent)}"
        raise SeaTunnelError(f"there is no kind of change {name!r}", remedy) from None


def _rules(job: KnownJob) -> list[tuple[ChangeRule, bool]]:
    """The rules that are not removed, each with whether it is added at the next start."""
    from seatunnel_py.runtime.control import rule_decisions

    active = rule_decisions.active(changes.kept(job))
    waiting = job.control().open()
    known_ids = {one.id for one in active}
    later = [rule_decisions.asked(one) for one in waiting if one.wish is RequestKind.ADD_RULE]
    removed = {one.name for one in waiting if one.wish is RequestKind.REMOVE_RULE}
    found = [*((one, False) for one in active), *((one, True) for one in later if one.id not in known_ids)]
    return [(rule, is_later) for rule, is_later in found if rule.id not in removed]


def _plain(rule: ChangeRule, *, later: bool) -> dict[str, Any]:
    plain = rule.to_plain()
    verdict = RequestKind.APPROVE if rule.approves else RequestKind.REJECT
    return {
        "rule": rule.id, "table": rule.table, "kinds": plain["kinds"], "verdict": verdict.value, "by": rule.by,
        "at": None if later else rule.at,
    }  # fmt: skip
