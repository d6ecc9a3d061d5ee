"""Reads the target tables of a job from its plan, and their ends from its receipt. Needs no Dagster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DONE = "DONE"


@dataclass(frozen=True)
class TargetTable:
    """A target of a job with the source tables that go there. ``key``: the path of its asset, unique in the job;
    ``columns``: names with types, if the plan has them."""

    key: tuple[str, ...]
    target: str
    tables: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    guarantee: str = ""


def targets_of(plan: Mapping[str, Any]) -> Sequence[TargetTable]:
    """The targets of a plan, as `seatunnel plan --json` prints it. Raises ValueError for a plan that names none."""
    found: dict[str, list[tuple[str, str, Mapping[str, str]]]] = {}
    guarantees: dict[str, str] = {}
    for pipeline in plan.get("pipelines", ()):
        nodes = {node["id"]: node for vertex in pipeline["vertices"] for node in vertex["nodes"]}
        for sink in pipeline["sinks"]:
            columns = nodes.get(f"{sink['step']}[{sink['table']}]", {}).get("columns", {})
            found.setdefault(str(sink["target"]), []).append((sink["table"], sink["step"], columns))
        for one in pipeline["guarantees"]:
            node = nodes.get(one["to"])
            if node is not None and node.get("target"):
                guarantees[str(node["target"])] = one["guarantee"]
    if not found:
        problems = "; ".join(str(one.get("message", "")) for one in plan.get("problems", ()))
        raise ValueError(f"the plan names no target{': ' if problems else ''}{problems}")
    job, made = _word(str(plan["job"])), []
    for target, flows in sorted(found.items()):
        tables = tuple(sorted({table for table, _, _ in flows}))
        made.append(TargetTable((job, *_words(target)), target, tables, flows[0][2], guarantees.get(target, "")))
    if len({one.key for one in made}) < len(made):  # as `a-b` and `a_b`
        made = [
            TargetTable((*one.key, str(number)), one.target, one.tables, one.columns, one.guarantee)
            for number, one in enumerate(made, 1)
        ]
    return made


@dataclass(frozen=True)
class TargetEnd:
    """The end of a target: ``done`` if every table has arrived; ``causes``: of those that have not."""

    done: bool
    facts: Mapping[str, Any]
    causes: Sequence[str]


def end_of(target: TargetTable, receipt: Mapping[str, Any]) -> TargetEnd:
    """How the tables of a target have ended, with facts for the asset."""
    written, read, rejected, causes, states = 0, 0, 0, [], []
    for table in receipt.get("tables", ()):
        into = [one for one in table["targets"] if one["target"] == target.target]
        if not into and table["table"] not in target.tables:
            continue
        states.append(into[0]["state"] if into else table["state"])
        written += sum(one["rows_written"] or 0 for one in into)
        read += table["rows_read"]
        rejected += table["rows_rejected"]
        cause = (into[0]["cause"] if into else None) or table["cause"]
        if states[-1] != DONE:
            causes.append(f"{table['table']} is {states[-1]}: {cause['message'] if cause else 'it was not reached'}")
    facts = {
        "rows_written": written,
        "rows_read": read,
        "rows_rejected": rejected,
        "seconds": receipt.get("seconds", {}).get("total", 0.0),
        "target": target.target,
        "source_tables": list(target.tables),
        "job_id": receipt.get("job_id", ""),
    }
    return TargetEnd(bool(states) and all(state == DONE for state in states), facts, causes)


def _words(target: str) -> tuple[str, ...]:
    """The parts of a name of a table, or of a path."""
    return tuple(_word(part) for part in re.split(r"[./:]+", target) if part) or ("target",)


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "_"
