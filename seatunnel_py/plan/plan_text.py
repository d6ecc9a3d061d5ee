"""Renders the plan for a terminal: a summary of all tables, their common parts once, and each pipeline.

Rules. (1) Text that is equal for several pipelines (a guarantee with its reason, the creation of one ledger) is printed
once, above them. (2) Text about one table is printed with it. (3) A plan of one pipeline has no summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from seatunnel_py.nouns import counted
from seatunnel_py.plan.tables import conversions
from seatunnel_py.plan.tables.not_carried_over import folded

SPLITS_SHOWN_MAX = 8
SHARED = frozenset({"create ledger", "create schema", "create database", "create topic"})
"""Effects that several tables may have in common."""


def text(plan: dict[str, Any]) -> str:
    """Format a plan document for a terminal."""
    return "\n".join(_lines(plan))


def _lines(plan: dict[str, Any]) -> Iterable[str]:
    pipelines = plan["pipelines"]
    vertices = sum(len(line["vertices"]) for line in pipelines)
    shape = f"{counted(len(pipelines), 'pipeline')}, {counted(vertices, 'vertex')}"
    if plan["isolated"]:
        shape += f", {counted(len(plan['isolated']), 'table')} isolated"
    yield f"{plan['job']} ({plan['mode'].lower()}): {shape}"
    guarantees, effects = _common(pipelines)
    if len(pipelines) > 1:
        yield from _summary_lines(plan, guarantees, effects)
    for note in plan["notes"]:
        yield f"note: {note}"
    sinks = [sink for line in pipelines for sink in line["sinks"]]
    changed = ((sink["table"], bool(one["checked"])) for sink in sinks for one in sink.get("conversions", ()))
    if converted := conversions.total(changed):
        yield converted
    for line in pipelines:
        yield from _pipeline_lines(line, guarantees, effects)
    for one in plan["isolated"]:
        yield ""
        yield f"ISOLATED: {one['table']} ({one['step']})"
        yield from _problem_lines(one)
    for one in plan.get("column_lineage", ()):
        yield from _lineage_lines(one)


def _lineage_lines(one: dict[str, Any]) -> Iterable[str]:
    """The columns of one target, each with the columns that it is made of, and those that decide about its rows."""
    yield ""
    yield f"column lineage of {one['step']}: {one['target']}"
    for name, uses in one["columns"].items():
        note = " (a step on the way does not declare it)" if name in one["unknown"] else ""
        yield f"  {name} <- {', '.join(map(_use, uses)) or 'no column'}{note}"
    if one["rows"]:
        yield f"  rows <- {', '.join(map(_use, one['rows']))}"


def _use(one: dict[str, Any]) -> str:
    how = (
        ""
        if one["kind"] == "IDENTITY"
        else f" ({one['kind'].lower().replace('_', ' ')}{', masked' * one.get('masking', False)})"
    )
    return f"{one['step']}:{one['table']}.{one['column']}{how}"


def _pipeline_lines(
    line: dict[str, Any], guarantees: dict[tuple[str, str], int], effects: dict[tuple[str, str], int]
) -> Iterable[str]:
    yield ""
    yield f"pipeline {line['id']}: {line['name']}"
    for vertex in line["vertices"]:
        yield from _vertex_lines(vertex)
    for sink in line["sinks"]:
        yield from _sink_lines(sink, effects)
    for path in line["guarantees"]:
        if (path["guarantee"], path["why"]) not in guarantees:
            why = f": {path['why']}" if path["why"] else ""
            yield f"  guarantee  {path['from']} to {path['to']}: {path['guarantee']}{why}"


def _common(pipelines: list[dict[str, Any]]) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """Guarantees with their reason, and effects on one target, that several pipelines share, with their number."""
    if len(pipelines) < 2:
        return {}, {}
    guarantees = Counter((path["guarantee"], path["why"]) for line in pipelines for path in line["guarantees"])
    effects = Counter(
        (effect["action"], effect["target"])
        for line in pipelines for sink in line["sinks"] for effect in sink["effects"] if effect["action"] in SHARED
    )  # fmt: skip
    return tuple({one: times for one, times in found.items() if times > 1} for found in (guarantees, effects))  # type: ignore[return-value]


def _summary_lines(
    plan: dict[str, Any], guarantees: dict[tuple[str, str], int], effects: dict[tuple[str, str], int]
) -> Iterable[str]:
    summary = plan["summary"]
    rows = "" if summary["rows_estimate"] is None else f", about {counted(summary['rows_estimate'], 'row')}"
    yield f"{counted(summary['tables'], 'table')}{rows}"
    sinks = [sink for line in plan["pipelines"] for sink in line["sinks"]]
    becomes = Counter(sink["present"]["treatment"] for sink in sinks if "present" in sink and "problem" not in sink)
    problems = sum("problem" in part for line in plan["pipelines"] for part in (*line["vertices"], *line["sinks"]))
    words = [f"{times} {treatment}" for treatment, times in becomes.items()] + [f"{problems} PROBLEM"] * bool(problems)
    if words:
        yield f"  targets    {', '.join(words)}"
    paths = sum(len(line["guarantees"]) for line in plan["pipelines"])
    for (guarantee, why), times in guarantees.items():
        of = "all" if times == paths else f"{times} of {paths}"
        yield f"  guarantee  {of}: {guarantee}{f': {why}' if why else ''}"
    for (action, target), times in effects.items():
        yield f"  effect     {action} {target} (for {counted(times, 'table')})"


def _vertex_lines(vertex: dict[str, Any]) -> Iterable[str]:
    chain = " -> ".join(node["id"] for node in vertex["nodes"])
    before = f"{', '.join(vertex['inputs'])} => " if vertex["inputs"] else ""
    yield f"  vertex     {before}{chain}  (parallelism {vertex['parallelism']})"
    first = vertex["nodes"][0]
    columns = ", ".join(f"{name} {dtype}" for name, dtype in first["columns"].items())
    yield f"    columns  {columns}"
    if first.get("rows_estimate") is not None:
        yield f"    rows     about {first['rows_estimate']:,}"
    if "ends" in first:
        yield f"    reads    {first['ends']}"
    if "schema_changes" in first:
        yield f"    changes  of schemas: {_policy_text(first['schema_changes']['default'])}"
        for table, policy in first["schema_changes"]["tables"].items():
            yield f"             {table}: {_policy_text(policy)}"
    for node in vertex["nodes"]:
        for one in node.get("conversions", ()):
            yield f"    converts {one['column']}: {conversions.words(one)}, for {node['step']}"
    if "retry_rejected" in vertex:
        times = counted(vertex["retry_rejected"], "time")
        yield f"    retry    rows that it rejects come back to it, at most {times}"
    if "splits_total" in vertex:
        shown = ", ".join(vertex["splits"][:SPLITS_SHOWN_MAX])
        more = vertex["splits_total"] - len(vertex["splits"])
        yield f"    splits   {vertex['splits_total']}: {shown}" + (f" … and {more} more" if more else "")
    if "problem" in vertex:
        yield from _problem_lines(vertex)


def _policy_text(policy: dict[str, Any]) -> str:
    kinds = (f"{name} {', '.join(policy[name])}" for name in ("include", "exclude") if name in policy)
    return "; ".join((policy["behavior"], *kinds))


def _sink_lines(sink: dict[str, Any], common: dict[tuple[str, str], int]) -> Iterable[str]:
    there = f": {sink['present']['text']}" if "present" in sink and "problem" not in sink else ""  # in the problem
    yield f"  into       {sink['target']}{there}"
    for effect in sink["effects"]:
        if (effect["action"], effect["target"]) in common:
            continue
        mark = "DESTROYS" if effect["destructive"] else "effect  "
        yield f"    {mark} {effect['action']} {effect['target']}"
        for statement in effect["statement"].splitlines():
            yield f"             {statement}"
    if "not_carried_over" in sink:
        yield f"    not carried over: {folded(sink['not_carried_over'])}"
    for one in sink.get("conversions", ()):
        yield f"    converts {one['column']}: {conversions.words(one)}"
    if "problem" in sink:
        yield from _problem_lines(sink)


def _problem_lines(part: dict[str, Any]) -> Iterable[str]:
    yield f"    PROBLEM  {part['problem']}"
    if part["remedy"]:
        yield f"             remedy: {part['remedy']}"
