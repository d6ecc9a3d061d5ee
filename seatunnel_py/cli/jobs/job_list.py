"""Implements ``seatunnel jobs list|show``: lists jobs, their state, and their failures."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seatunnel_py.cli.jobs.checkpoint_view import history_text
from seatunnel_py.cli.jobs.failure_view import timeline_text
from seatunnel_py.cli.view.numbers import and_more, count, rows, seconds, size
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError, first_line
from seatunnel_py.jobs.driver_question import explained
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.jobs.job_rows import Selection, about_of, progress_of
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.control.job_removal import finish_local_removals
from seatunnel_py.runtime.observe import checkpoint_history, failure_timeline
from seatunnel_py.runtime.observe.receipt import stand_text
from seatunnel_py.runtime.storage.home import Home

STANDINGS_MAX = 10  # running tables that are explained on a terminal


def listing(where: JobLocation, chosen: Selection, *, as_json: bool) -> int:
    """Jobs of this home, or of a shared checkpoint.location."""
    home = Home.of_environment()
    finish_local_removals(home)
    found = list(map(about_of, _all(home, where)))
    jobs = chosen.of(found)
    if as_json:
        say_json(jobs)
        return ExitCode.SUCCESS
    if not found:
        say(f"no job has run in {where.file or home.path}; `seatunnel run JOB` starts one")
        return ExitCode.SUCCESS
    if not jobs:
        say(f"none of the {counted(len(found), 'job')} is chosen by these options")
        return ExitCode.SUCCESS
    lines = [_HEADER, *map(_cells, jobs)]
    wide = [max(len(line[at]) for line in lines) for at in range(len(_HEADER))]
    for line in lines:
        cells = [cell.rjust(width) if at in _NUMBERS else cell.ljust(width)
                 for at, (cell, width) in enumerate(zip(line, wide, strict=True))]  # fmt: skip
        say("  ".join(cells).rstrip())
    return ExitCode.SUCCESS


_HEADER = ("JOB", "STATE", "STARTED", "DURATION", "ROWS READ", "THIS RUN", "NAME", "FILE")
_NUMBERS = (3, 4, 5)


def _cells(job: Mapping[str, Any]) -> tuple[str, ...]:
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job["started"]))
    took = "–" if job["seconds"] is None else seconds(job["seconds"])
    rows = ("–" if number is None else count(number) for number in (job["rows_read"], job["rows_read_this_run"]))
    return (job["job_id"], job["state"], started, took, *rows, job["job_name"], job["job_file"])


def _all(home: Home, where: JobLocation) -> Iterable[KnownJob]:
    location = where.location()
    if location is None:
        return [KnownJob(place) for place in home.jobs()]
    from seatunnel_py.runtime.storage.open_storage import job_ids

    return [KnownJob(home.place(job_id), location) for job_id in job_ids(location)]


def show(job_id: str, where: JobLocation, last: int | None, *, as_json: bool) -> int:
    """Show one job: its state, the rows that arrived per table, and its failures, the ``last`` of them or all."""
    job = known(job_id, where)
    about, receipt = about_of(job), None if job.here else job.receipt
    standing, silence = (None, "") if receipt else explained(job)
    alive = job.here or standing is not None
    about["state"] = "RUNNING" if alive else about["state"]
    failures = failure_timeline.read(job.place.events, alive=alive, kept=last)
    history = checkpoint_history.read(job.place.checkpoint_history, kept=last)
    counters = None if receipt else progress_of(job, about["state"], alive=alive)
    if as_json:
        plain = {"job": job.about, "state": about["state"], "receipt": receipt, "standing": standing}
        plain |= {"counters": counters}
        plain |= {"checkpoints": checkpoint_history.plain(history)}
        plain |= {"timeline": failure_timeline.plain(failures), "store_away": job.away}
        say_json(plain)
        return ExitCode.SUCCESS
    say("  ".join([about["job_id"], about["state"], about["job_name"], about["job_file"], *_so_far(about)]))
    if job.away:
        say(f"only local state is shown: {job.away}")
    quiet = (silence,) if silence else ()
    now = (*_arrived(receipt or counters), *quiet, *standing_lines(standing or ()))
    for line in (*now, *history_text(history), *timeline_text(failures)):
        say(line)
    for what, path in (("events", job.place.events), ("log", job.place.log)):
        if path.exists():  # without Spark there is no log
            say(f"{what}: {path}")
    return ExitCode.SUCCESS


def show_plan(job_id: str, where: JobLocation, *, as_json: bool) -> int:
    """Show the plan of the last run on this machine: as it was run, also after the job file has changed."""
    from seatunnel_py.plan import plan_data
    from seatunnel_py.run_plan import stored_plan

    plan = stored_plan(known(job_id, where).place)
    if plan is None:
        why = f"no plan of the job {job_id!r} is stored here"
        raise SeaTunnelError(why, "it has not begun here, or an older release ran it; `seatunnel plan JOB` makes one")
    if as_json:
        say_json(plan, default=str)
    else:
        say(plan_data.text(plan))
    return ExitCode.SUCCESS


def _so_far(about: Mapping[str, Any]) -> Iterator[str]:
    if about["seconds"] is not None:
        yield seconds(about["seconds"])
    if about["rows_read"] is not None:
        yield f"{rows(about['rows_read'])} read{_now(about['rows_read'], about['rows_read_this_run'])}"


def _now(total: int, this_run: int | None) -> str:
    return "" if this_run in (None, total) else f", {count(this_run)} of them in this run"


def _arrived(receipt: dict[str, Any] | None) -> Iterator[str]:
    for table in receipt["tables"] if receipt is not None else ():
        took = ", kept as it was" if table.get("kept") else f" in {seconds(table['seconds'])}"
        yield f"  {table['state']:10} {table['table']}: {_read(table)}{took}"
        for into in table["targets"]:
            written = "" if into["rows_written"] is None else f": {count(into['rows_written'])} written"
            yield f"             -> {into['target']}{written}{_apart(into, table)}"
        if table.get("cause"):  # counters hold no causes
            yield f"             {table['cause']['message']}".replace("\n", "\n" + " " * 13)
            if table["cause"]["remedy"]:
                yield f"             remedy: {table['cause']['remedy']}"


def _apart(into: dict[str, Any], table: dict[str, Any]) -> str:
    """State of one target, if the targets of its table differ."""
    if not any(one.get("stands") for one in table["targets"]):
        return ""
    if not into.get("stands"):
        return f", {into['state']}"
    cause = f": {first_line(into['cause']['message'])}" if into.get("cause") else ""
    return f", {into['state']}{cause}; {stand_text(into['stands'])}"


def standing_lines(standing: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Current activity of a running job, table by table, as its driver has answered."""
    for table in standing[:STANDINGS_MAX]:
        checkpoint = "none yet" if table["checkpoint"] is None else table["checkpoint"]
        lag = f", {table['lag']} not committed yet" if table["lag"] else ""
        yield f"  {table['state']:10} {table['table']}: last checkpoint {checkpoint}{lag}"
        for line in (*table["blocked"], *_log_lag(table.get("log_lag")), *table["waits"]):
            yield f"             {line}"
    for line in and_more(len(standing), STANDINGS_MAX, "tables"):
        yield f"  {line}"


def _log_lag(lag: dict[str, Any] | None) -> Iterator[str]:
    """How far the log of a pipeline is ahead."""
    if lag is None:
        return
    keeps = "" if lag["retained"] is None else f"; the server keeps {size(lag['retained'])} of it for this job"
    yield f"its log is {size(lag['bytes'])} ahead of the last checkpoint{keeps}"
    if lag["warning"]:
        yield f"{lag['warning']}; remedy: {lag['remedy']}"


def _read(table: dict[str, Any]) -> str:
    before = table.get("rows_read_before", 0)
    now = _now(table["rows_read"], table["rows_read"] - before) if not table.get("kept") else ""
    parts = [f"{count(table['rows_read'])} read{now}"]
    for name in ("filtered", "rejected"):
        if table[f"rows_{name}"]:
            parts.append(f"{count(table[f'rows_{name}'])} {name}")
    if table["attempts"]:
        parts.append(counted(table["attempts"], "failed attempt"))
    return ", ".join(parts)
