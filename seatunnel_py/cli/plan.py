"""``seatunnel plan``: what a run would do, as text, JSON and a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import typer

from seatunnel_py import app
from seatunnel_py.cli.files import writing
from seatunnel_py.plan import explain
from seatunnel_py.plan.picture import svg as draw
from seatunnel_py.runtime.receipt import ExitCode


def plan(path: Path, variables: Mapping[str, str], *, as_json: bool, svg: Path | None) -> int:
    """Plan the job, look at both ends, print. A table that would fail makes the exit code 3."""
    planned = app.plan(path, variables)
    described = explain.describe(planned.job, planned.graph, planned.pipelines, look=True)
    typer.echo(json.dumps(described, indent=1, default=str) if as_json else explain.text(described))
    if svg is not None:
        with writing(svg):
            svg.write_text(draw(described), encoding="utf-8")
        typer.echo(f"picture: {svg}", err=True)
    return ExitCode.SOME_TABLES_FAILED if explain.has_problem(described) else ExitCode.SUCCESS
