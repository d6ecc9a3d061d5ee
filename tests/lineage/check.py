"""The property of a lineage: a change of a source column outside of it never changes the output.

Each random plan runs in this process, over its rows and over rows with one other column. An output column whose lineage
does not have the changed column must be equal, unless that decides about rows. ``Outcome`` also counts the output
columns that have changed, so that a lineage of everything would be noticed: most of those that may change should.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from seatunnel_py import app
from seatunnel_py.local.preview import first_rows
from seatunnel_py.plan.tables.column_lineage import SinkLineage, lineage_of
from tests.lineage.random_plans import ROWS, RandomPlan, random_plan


@dataclass(slots=True)
class Outcome:
    """``violations``: a sentence each; ``seen``: counters."""

    violations: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)


def check(seed: int, place: Path, outcome: Outcome) -> None:
    """Check the plan of this seed, for each column of its source."""
    random = Random(seed)
    plan = random_plan(random)
    lineages, before = _run(plan, place)
    outcome.seen.update(plugin for plugin, _, _ in plan.steps)
    outcome.seen["plans"] += 1
    for column in plan.columns.names:
        _, after = _run(plan.changed(column, random), place)
        for one in lineages:
            outcome.violations += [f"seed {seed}: {text}" for text in _compared(one, column, before, after, outcome)]


Tables = dict[str, dict[str, list[Any]]]
"""Values by table and column, as the sinks get them."""


def _run(plan: RandomPlan, place: Path) -> tuple[tuple[SinkLineage, ...], Tables]:
    file = place / "plan.json"
    file.write_text(plan.job())
    with app.planned(file, {}) as (planned, analyst):
        assert not planned.isolated, planned.isolated
        graph = planned.graph
        with patch("os.urandom", bytes):  # the same initial vectors each time
            rows = {(one.node, str(one.table.path)): one.rows for one in first_rows(graph, ROWS, analyst)}
        found = {
            str(edge.table): rows[edge.sender, str(edge.table)].to_pydict()
            for pipeline in planned.pipelines
            for node in pipeline.sinks
            for edge in graph.inputs(node.id)
        }
        return lineage_of(graph), found


def _compared(one: SinkLineage, column: str, before: Tables, after: Tables, outcome: Outcome) -> list[str]:
    table = str(one.table)
    if column in {use.column for use in one.stream.rows}:
        outcome.seen["decides about rows"] += 1
        return []
    found = []
    for name, uses in one.stream.columns.items():
        if name == "create_time":
            continue  # of an error table: the time of the run
        same = before[table][name] == after[table][name]
        if column not in {use.column for use in uses}:
            outcome.seen["independent"] += 1
            if not same:
                found.append(f"{table}.{name} changes with {column}, which is not in its lineage")
        else:
            outcome.seen["changed" if not same else "depends, and has not changed"] += 1
    return found
