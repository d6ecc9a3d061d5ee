"""``seatunnel state show``: what the checkpoints of a job hold, table by table and split by split."""

from __future__ import annotations

import json
from typing import Any

import typer

from seatunnel_py.cli.numbers import count
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.home import Home, JobPlace
from seatunnel_py.runtime.receipt import ExitCode

SPLITS_SHOWN_MAX = 10


def show(job_id: str, *, as_json: bool) -> int:
    """All records that count; on a terminal the positions of each table's newest one."""
    found = _read(Home.of_environment().job(job_id))
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return ExitCode.SUCCESS
    for pipeline, records in found.items():
        typer.echo(pipeline)
        for record in records:
            name = f" {record['name']}" if record.get("name") else ""
            typer.echo(f"  checkpoint {record['checkpoint']}  {record['kind']}{name}  of driver {record['driver']}")
        _tell_newest(records[-1])
    return ExitCode.SUCCESS


def _read(place: JobPlace) -> dict[str, list[dict[str, Any]]]:
    """By pipeline. SeaTunnelError where the job keeps nothing under its place."""
    from seatunnel_py.runtime.checkpoint_store import CheckpointStore
    from seatunnel_py.runtime.local_storage import LocalStorage
    from seatunnel_py.runtime.states import described

    if not (place.checkpoints / "records").is_dir():
        raise SeaTunnelError(
            f"there are no checkpoints in {place.checkpoints}",
            "a job that has finished needs none; one with a checkpoint.location has them there",
        )
    contents = CheckpointStore(LocalStorage(place.checkpoints)).read()
    found = {key: described(contents.claims.get(key, ()), records) for key, records in contents.records.items()}
    return {key: records for key, records in found.items() if records}


def _tell_newest(record: dict[str, Any]) -> None:
    for vertex in record.get("vertices", ()):
        if "splits" not in vertex:
            continue
        read = f"{count(vertex['rows_read'])} rows, {vertex['finished']} of {vertex['splits']} splits to their ends"
        typer.echo(f"    {vertex['vertex']}: {read}, {vertex['subtasks']} subtasks, epoch {vertex['epoch']}")
        for split, position in list(vertex["at"].items())[:SPLITS_SHOWN_MAX]:
            typer.echo(f"      {split} at {', '.join(f'{key} {value}' for key, value in position.items())}")
        if (more := len(vertex["at"]) - SPLITS_SHOWN_MAX) > 0:
            typer.echo(f"      and {more} more: --json shows them")
    for commit in record.get("uncommitted", ()):
        typer.echo(f"    not committed yet: {commit['scope']}, checkpoint {commit['checkpoint']}")
