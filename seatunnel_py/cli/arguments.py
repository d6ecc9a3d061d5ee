"""Defines arguments and options shared by several commands. Every start imports this module, so it imports almost
nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seatunnel_py.jobs.job_lookup import JobLocation

JobArgument = Annotated[Path, typer.Argument(help="job file: HOCON, or JSON when it ends in .json")]
Variables = Annotated[
    list[str] | None,
    typer.Option("-i", "--variable", metavar="K=V", help="a variable of the job file; may be repeated"),
]
Resets = Annotated[
    list[str] | None,
    typer.Option(
        "--reset", metavar="TABLE", help="with --restore latest: empty a followed table's target, copy it again"
    ),
]
SomeTables = Annotated[
    list[str] | None,
    typer.Option(metavar="TABLE", help="only this source table, or the end of its name; may be repeated"),
]
Where = Annotated[
    str, typer.Option(metavar="CONDITION", help="only rows with this SQL condition, which both sides must take")
]
Settle = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="how long a followed change may take to arrive")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines")]
JobId = Annotated[str, typer.Argument(help="as `seatunnel jobs list` names it")]
StoreOf = Annotated[
    Path | None,
    typer.Option("--file", metavar="JOB", help="of a job on another machine: the job file that names its store"),
]
ColumnLineage = Annotated[bool, typer.Option("--column-lineage", help="show the source columns of every target column")]
Wait = Annotated[bool, typer.Option("--wait", help="while a driver has the job, wait; do not take it over")]
WaitTimeout = Annotated[
    float | None,
    typer.Option("--timeout", min=0, metavar="SECONDS", help="with --wait: at most so long, then exit code 4"),
]
Timeout = Annotated[float, typer.Option("--timeout", min=1, metavar="SECONDS", help="how long the job may take")]


def variables_of(given: list[str] | None) -> dict[str, str]:
    """Parse the variables given with ``-i``."""
    from seatunnel_py.config.variables import parse_arguments

    return parse_arguments(given or [])


def where_of(file: Path | None, variables: list[str] | None) -> JobLocation:
    """Locate the store of a job: on this machine, or where a job file names it."""
    from seatunnel_py.jobs.job_lookup import JobLocation

    return JobLocation(file, variables_of(variables))
