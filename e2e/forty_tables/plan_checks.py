"""Every sentence of a plan and of `jobs`, beside what the run did and the databases hold."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from e2e.forty_tables.checks import bare, check_before
from e2e.forty_tables.plan_text import PlanText
from e2e.forty_tables.trial import Place, Run

ABOUT = 0.2
"""How far statistics may be off."""


def check_plan(place: Place, run: Run, *, replaces: bool = False) -> None:
    """What the plan has said is what has happened."""
    if run.plan:
        check_plain(run)
    check_head(place, run, run.said)
    for name in run.said.tables:
        check_table(place, run, name, replaces=replaces)


def check_plain(run: Run) -> None:
    """The plan as JSON."""
    sinks = {sink["table"]: sink for line in run.plan["pipelines"] for sink in line["sinks"]}
    isolated = {one["table"]: one["problem"] for one in run.plan["isolated"]}
    assert isolated == {name: table.isolated for name, table in run.source.items() if table.isolated}
    assert sinks.keys() == run.source.keys() - isolated.keys()
    for one in run.json["tables"]:
        if (table := one["table"]) in isolated:
            continue
        sink, (into,) = sinks[table], one["targets"]
        if "problem" in sink:
            assert one["state"] == "ISOLATED" and one["cause"]["message"] == sink["problem"]
            assert one["cause"]["remedy"] == sink["remedy"]
            continue
        assert sink["present"]["text"] == into["present"]["text"]
        assert sink["conversions"] == into["conversions"]
        left = [{key: x[key] for key in ("kind", "name", "columns", "definition")} for x in into["not_carried_over"]]
        assert sink.get("not_carried_over", []) == left


def check_head(place: Place, run: Run, plan: PlanText) -> None:
    """The totals are those of the tables below, and these are all that there are."""
    readable = {name: table for name, table in run.source.items() if not table.isolated}
    assert plan.job == run.receipt.job_name
    assert (plan.pipelines, plan.tables_count, plan.tables.keys()) == (len(readable), len(readable), readable.keys())
    assert plan.isolated_count == len(plan.isolated) == len(run.source) - len(readable)
    for name, (problem, remedy) in plan.isolated.items():
        assert run.receipt.causes[name] == (f"Jdbc-source-1: {problem}", remedy)
    assert about(plan.rows, sum(table.count for table in readable.values()))
    assert plan.rows is None or plan.rows == sum(table.rows or 0 for table in plan.tables.values())
    words = (table.before.partition(" ")[0] if not table.problem[0] else "PROBLEM" for table in plan.tables.values())
    assert plan.becomes == Counter(words)
    assert {why.partition("; kinds")[0]: found for why, found in run.receipt.left_out.items()} == plan.left_out
    columns = [how for table in plan.tables.values() for how in table.converts.values()]
    tables = sum(bool(table.converts) for table in plan.tables.values())
    assert plan.converted == (len(columns), tables, sum("(checked: " in how for how in columns))
    paths = [*plan.guarantees, *(one.guarantee for one in plan.tables.values() if one.guarantee)]
    assert paths and all("exactly-once (two-phase commit)" in path for path in paths), paths
    if place.kind == "postgres":
        schemas = Counter(place.schema(table) for table in readable.values())
        made = {what.split(" ", 2)[2]: times for what, times in plan.shared.items() if what.startswith("create schema")}
        assert all(schemas[schema] == times and schema != "public" for schema, times in made.items())


def check_table(place: Place, run: Run, name: str, *, replaces: bool) -> None:
    plan, table, receipt = run.said.tables[name], run.source[name], run.receipt
    assert plan.columns == list(table.types), (name, plan.columns)
    assert about(plan.rows, table.count) and plan.splits > 0
    home = f"{place.trial.home}/"
    if plan.problem[0]:
        assert receipt.causes[name] == (f"{plan.problem[0]}", plan.problem[1])
        assert not plan.effects and not plan.before
        return
    assert plan.into.removeprefix(home) == place.shown(table)
    check_before(place, run, table, bare(plan.before), replaces=replaces)
    new = plan.before == "new"
    assert [what for what, _, destroys in plan.effects if destroys] == [] or (replaces and not new)
    made = [statement for what, statement, _ in plan.effects if what.startswith("create table ")]
    assert len(made) == (new and place.kind != "files"), plan.effects
    assert all(column in "".join(made).replace('""', '"') for column in table.types if made), made
    lacking = plan.lacking.copy()
    del lacking["unique key"]  # MariaDB has none over texts without a length
    assert lacking == (table.lacks(place.kind) if made else Counter()), name
    assert plan.converts.keys() <= table.types.keys()


def check_shown(place: Place, run: Run) -> None:
    """`jobs show` says what the receipt says, table by table."""
    job, told, home = run.shown, run.json, f"{place.trial.home}/"
    assert (job.job_id, job.state, job.name) == (run.receipt.job_id, told["state"], run.receipt.job_name)
    assert Path(job.file).exists() and all(Path(path).exists() for path in job.files.values()), job.files
    assert job.read == job.this_run == told["totals"]["rows_read"]
    assert job.tables.keys() == run.source.keys()
    assert job.checkpoints >= sum(one.state == "DONE" for one in job.tables.values())
    assert bool(job.newest) == bool(job.checkpoints) and set(job.newest) <= job.tables.keys()
    failed = {name for name, line in run.receipt.lines.items() if line.state != "done"}
    for name, one in job.tables.items():
        line = run.receipt.lines[name]
        assert (one.state.lower(), f"{one.read:,}", one.this_run) == (line.state, line.read, one.read)
        assert one.into.removeprefix(home) == (place.shown(run.source[name]) if line.into else "")
        assert f"{one.written or 0:,}" == (line.written or "0")
        cause, remedy = run.receipt.causes.get(name, ("", ""))
        assert bool(one.said) == (name in failed) and (not one.said or one.said[0] in cause)
        assert not remedy or one.said[-1] == f"remedy: {remedy}"
    counts = [line for line in job.failures if line.startswith("  ") and line[2] != " " and not line[2:6].isdigit()]
    more = sum(
        int(found[1]) for line in counts if (found := re.fullmatch("  and (\\d+) more tables: --json shows them", line))
    )
    named = {line.strip().rpartition(": ")[0] for line in counts if not line.startswith("  and ")}
    assert named <= failed and len(named) + more == len(failed)


def about(said: int | None, counted: int) -> bool:
    return said is None or abs(said - counted) <= max(10, ABOUT * counted)
