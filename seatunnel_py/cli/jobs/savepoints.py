"""Implements ``seatunnel state savepoints|drop``: lists savepoints, and deletes one."""

from __future__ import annotations

import time

from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode
from seatunnel_py.jobs.job_lookup import JobLocation
from seatunnel_py.jobs.savepoint_rows import savepoint_rows
from seatunnel_py.nouns import counted


def listing(where: JobLocation, *, as_json: bool) -> int:
    """All savepoints of this machine, and of the checkpoint location of the job file; oldest first."""
    found = savepoint_rows(where.savepoints())
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


def drop(name: str, where: JobLocation) -> int:
    """Delete a savepoint."""
    with where.savepoints().holding(name) as (shelf, own_name):
        shelf.drop(own_name)
    say(f"savepoint {own_name} is forgotten")
    return ExitCode.SUCCESS
