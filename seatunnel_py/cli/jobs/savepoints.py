"""Implements ``seatunnel state savepoints|drop``: lists savepoints, and deletes one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.jobs.job_lookup import JobLocation
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.nouns import counted

if TYPE_CHECKING:
    from seatunnel_py.runtime.storage.savepoint_store import SavepointStore


def listing(where: JobLocation, *, as_json: bool) -> int:
    """All savepoints of this machine, and of the checkpoint location of the job file; oldest first."""
    found = [_about(shelf, name) for shelf in where.savepoints().all() for name in shelf.names()]
    found.sort(key=lambda one: one["taken"])
    if as_json:
        say_json(found)
        return ExitCode.SUCCESS
    if not found:
        say("there is no savepoint; `seatunnel jobs savepoint JOB` takes one of a running job")
    for one in found:
        taken = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one["taken"]))
        tables = counted(one["tables"], "table")
        say(f"{one['name']:40} {taken}  job {one['job_id']}, {tables}  {one['damaged']}".rstrip())
    return ExitCode.SUCCESS


def _about(shelf: SavepointStore, name: str) -> dict[str, Any]:
    """A damaged savepoint must not hide the others."""
    try:
        plain = shelf.manifest(name)
    except SeaTunnelError as error:
        return {"name": name, "taken": 0.0, "job_id": "", "job_file": "", "tables": 0, "damaged": error.message}
    job = plain["job"]
    of = {"job_id": job["job_id"], "job_file": job["job_file"], "tables": len(plain["records"])}
    return {"name": name, "taken": plain["taken"], **of, "damaged": ""}


def drop(name: str, where: JobLocation) -> int:
    """Delete a savepoint."""
    with where.savepoints().holding(name) as (shelf, own_name):
        shelf.drop(own_name)
    say(f"savepoint {own_name} is forgotten")
    return ExitCode.SUCCESS
