"""``seatunnel jobs``: what ran, and why tables failed."""

from __future__ import annotations

import json
import time
from typing import Any

import typer

from seatunnel_py.cli.numbers import count, seconds
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.home import Home, JobPlace
from seatunnel_py.runtime.receipt import ExitCode


def listing(*, as_json: bool) -> int:
    """All jobs of this home, oldest first."""
    home = Home.of_environment()
    jobs = [_about(place) for place in home.jobs()]
    if as_json:
        typer.echo(json.dumps(jobs, indent=1))
        return ExitCode.SUCCESS
    if not jobs:
        typer.echo(f"no job has run in {home.path}; `seatunnel run JOB` starts one")
    for job in jobs:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job["started"]))
        line = f"{job['job_id']:32} {job['state']:18} {started}  {count(job['rows_read']):>12} rows  {job['job_file']}"
        typer.echo(line)
    return ExitCode.SUCCESS


def _about(place: JobPlace) -> dict[str, Any]:
    """What stands in a line; a job whose record cannot be read must not hide the others."""
    try:
        job, receipt = place.read("job") or {}, place.read("receipt")
    except SeaTunnelError:
        return {
            "job_id": place.job_id,
            "job_name": "",
            "job_file": "",
            "started": 0.0,
            "state": "UNREADABLE",
            "rows_read": 0,
        }
    return {
        "job_id": place.job_id,
        "job_name": job.get("job_name", ""),
        "job_file": job.get("job_file", ""),
        "started": job.get("started", 0.0),
        "state": "RUNNING" if place.running else receipt["state"] if receipt else "KILLED",
        "rows_read": receipt["totals"]["rows_read"] if receipt else 0,
    }


def show(job_id: str, *, as_json: bool) -> int:
    """One job, table by table, with the cause of every failure."""
    place = Home.of_environment().job(job_id)
    receipt = place.read("receipt")
    if as_json:
        typer.echo(json.dumps({"job": place.read("job"), "receipt": receipt}, indent=1))
        return ExitCode.SUCCESS
    about = _about(place)
    typer.echo(f"{about['job_id']}  {about['state']}  {about['job_file']}")
    if receipt is None:
        typer.echo("it is running" if about["state"] == "RUNNING" else "its driver was killed before it ended")
        _tell_logs(place)
        return ExitCode.SUCCESS
    for table in receipt["tables"]:
        typer.echo(f"  {table['state']:10} {table['table']}: {_read(table)} in {seconds(table['seconds'])}")
        for into in table["targets"]:
            written = "" if into["rows_written"] is None else f": {count(into['rows_written'])} written"
            typer.echo(f"             -> {into['target']}{written}")
        if table["cause"]:
            typer.echo(f"             {table['cause']['message']}")
            if table["cause"]["remedy"]:
                typer.echo(f"             remedy: {table['cause']['remedy']}")
    _tell_logs(place)
    return ExitCode.SUCCESS


def _read(table: dict[str, Any]) -> str:
    parts = [f"{count(table['rows_read'])} read"]
    for name in ("filtered", "rejected"):
        if table[f"rows_{name}"]:
            parts.append(f"{count(table[f'rows_{name}'])} {name}")
    if table["attempts"]:
        parts.append(f"{count(table['attempts'])} failed attempts")
    return ", ".join(parts)


def _tell_logs(place: JobPlace) -> None:
    typer.echo(f"events: {place.events}")
    typer.echo(f"log: {place.log}")
