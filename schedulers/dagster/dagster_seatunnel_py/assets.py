"""Makes assets of the target tables of a job."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import AssetsDefinition, AssetSpec, TableColumn, TableSchema, multi_asset

from dagster_seatunnel_py.command import JOB, TABLES, TARGET, VARIABLES
from dagster_seatunnel_py.planned_tables import TargetTable, targets_of

PLAN_SECONDS = 600


def seatunnel_assets(
    *,
    job: str,
    variables: Mapping[str, str] | None = None,
    plan: str = "",
    program: Sequence[str] = ("seatunnel",),
    name: str = "",
    group_name: str | None = None,
) -> Callable[[Callable[..., Any]], AssetsDefinition]:
    """A decorator like `multi_asset`, with an asset for each target table of a job file.

    ``plan``: a file with the output of `seatunnel plan JOB --json`. Without it the plan is made when the definitions
    are loaded, which asks the sources and targets each time. ``variables``: of the job file, never secrets.
    """
    given = dict(variables or {})
    text = Path(plan).read_text(encoding="utf-8") if plan else _planned(job, given, program)
    targets = targets_of(json.loads(text))

    def decorated(function: Callable[..., Any]) -> AssetsDefinition:
        specs = [_spec(one, job, given, group_name) for one in targets]
        made: AssetsDefinition = multi_asset(specs=specs, name=name or function.__name__)(function)
        return made

    return decorated


def _spec(target: TargetTable, job: str, variables: Mapping[str, str], group: str | None) -> AssetSpec:
    about: dict[str, Any] = {JOB: job, VARIABLES: dict(variables), TARGET: target.target, TABLES: list(target.tables)}
    if target.columns:
        about["dagster/column_schema"] = TableSchema([TableColumn(*one) for one in target.columns.items()])
    words = f"{target.target}, from {', '.join(target.tables)}"
    guarantee = f". {target.guarantee}" if target.guarantee else ""
    return AssetSpec(
        list(target.key),
        description=words + guarantee,
        metadata=about,
        group_name=group,
        kinds={"seatunnel"},
        skippable=True,  # a table that fails leaves the others
    )


def _planned(job: str, variables: Mapping[str, str], program: Sequence[str]) -> str:
    given = [f"--variable={key}={value}" for key, value in variables.items()]
    words = [*program, "plan", job, *given, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PLAN_SECONDS, check=False)
    if not done.stdout.strip():
        raise ValueError(f"`seatunnel plan {job} --json` has printed nothing: {done.stderr.strip()[-2000:]}")
    return done.stdout
