"""Implements ``--only``: selects the pipelines of some tables."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from seatunnel_py.errors import PlanError, Problem
from seatunnel_py.plan.graph_nodes import IsolatedTable
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.tables.isolated_tables import require_some

TABLES_NAMED_MAX = 20  # in a message; a job may have thousands


def only(
    pipelines: tuple[Pipeline, ...], isolated: tuple[IsolatedTable, ...], wanted: Sequence[str]
) -> tuple[tuple[Pipeline, ...], tuple[IsolatedTable, ...]]:
    """Return the pipelines that read one of the wanted tables, and the wanted tables that are isolated; all if none is
    named. The end of a name (for example without its database) is enough if it matches one table. Raises PlanError with
    every missing name, and TablesFailedError if none of the tables can run."""
    if not wanted:
        return pipelines, isolated
    known = list(dict.fromkeys(str(path) for pipeline in pipelines for path in pipeline.tables))
    known += [str(one.table) for one in isolated]
    tables = matching(known, wanted, "--only")
    kept = tuple(pipeline for pipeline in pipelines if any(str(path) in tables for path in pipeline.tables))
    failed = tuple(one for one in isolated if str(one.table) in tables)
    require_some(kept, failed, fail_fast=False)
    return kept, failed


def matching(known: Sequence[str], wanted: Sequence[str], option: str) -> set[str]:
    """The known tables that these names mean, each by its whole name or by an end of it. Raises PlanError with every
    name that means none or several."""
    tables: set[str] = set()
    problems = []
    for name in wanted:
        found = [table for table in known if table == name] or [table for table in known if table.endswith(f".{name}")]
        if len(found) == 1:
            tables.add(found[0])
        else:
            problems.append(_not_one(name, found, known, option))
    if problems:
        raise PlanError(tuple(problems))
    return tables


def _not_one(name: str, found: Sequence[str], known: Sequence[str], option: str) -> Problem:
    if found:
        remedy = f"one of {named(found)}"
        return Problem(f"{name!r} is the end of {len(found)} names", option, remedy=remedy)
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"its tables: {named(known)}"
    return Problem(f"the job has no table {name!r}", option, remedy=remedy, suggestion=near[0] if near else "")


def named(tables: Sequence[str]) -> str:
    """Some of them, for a message."""
    return ", ".join(tables[:TABLES_NAMED_MAX]) + (", …" if len(tables) > TABLES_NAMED_MAX else "")
