"""``seatunnel jobs list|show``: what ran, what it is at, and what went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from seatunnel_py.cli.control import explained
from seatunnel_py.cli.known import KnownJob, Where, known
from seatunnel_py.cli.numbers import and_more, count, seconds
from seatunnel_py.cli.terminal import say, say_json
from seatunnel_py.cli.timeline_view import timeline_plain, timeline_text
from seatunnel_py.errors import ExitCode, SeaTunnelError, first_line
from seatunnel_py.runtime import timeline
from seatunnel_py.runtime.home import Home
from seatunnel_py.runtime.receipt import stand_text

STANDINGS_MAX = 10  # tables under way that are explained on a terminal


def listing(where: Where, *, as_json: bool) -> int:
    """All jobs of this home, or of a shared checkpoint.location, oldest first."""
    home = Home.of_environment()
    jobs = sorted(map(_about, _all(home, where)), key=lambda job: float(job["started"]))
    if as_json:
        say_json(jobs)
        return ExitCode.SUCCESS
    if not jobs:
        say(f"no job has run in {where.file or home.path}; `seatunnel run JOB` starts one")
    for job in jobs:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job["started"]))
        line = f"{job['job_id']:32} {job['state']:18} {started}  {count(job['rows_read']):>12} rows  {job['job_file']}"
        say(line)
    return ExitCode.SUCCESS


def _all(home: Home, where: Where) -> Iterable[KnownJob]:
    location = where.location()
    if location is None:
        return [KnownJob(place) for place in home.jobs()]
    from seatunnel_py.runtime.storages import job_ids

    return [KnownJob(home.place(job_id), location) for job_id in job_ids(location)]


def _about(job: KnownJob) -> dict[str, Any]:
    """What stands in a line; a job whose record cannot be read must not hide the others."""
    nothing = {"job_id": job.job_id, "job_name": "", "job_file": "", "started": 0.0, "state": "UNREADABLE"}
    try:
        about, receipt, state = job.about or {}, job.receipt, job.state
    except SeaTunnelError:
        return {**nothing, "rows_read": 0}
    return {
        "job_id": job.job_id,
        "job_name": about.get("job_name", ""),
        "job_file": about.get("job_file", ""),
        "started": about.get("started", 0.0),
        "state": state,
        "rows_read": receipt["totals"]["rows_read"] if receipt else 0,
    }


def show(job_id: str, where: Where, last: int | None, *, as_json: bool) -> int:
    """One job: where it is, table by table what arrived, and the failures on the way, the ``last`` of them or all."""
    job = known(job_id, where)
    about, receipt = _about(job), None if job.here else job.receipt
    standing, silence = (None, "") if receipt else explained(job)
    alive = job.here or standing is not None
    about["state"] = "RUNNING" if alive else about["state"]
    failures = timeline.read(job.place.events, alive=alive, kept=last)
    if as_json:
        plain = {"job": job.about, "state": about["state"], "receipt": receipt, "standing": standing}
        plain |= {"timeline": timeline_plain(failures), "store_away": job.away}
        say_json(plain)
        return ExitCode.SUCCESS
    say(f"{about['job_id']}  {about['state']}  {about['job_file']}")
    if job.away:
        say(f"only what this machine knows: {job.away}")
    for line in (*_arrived(receipt), *_stands(job, standing, silence), *timeline_text(failures)):
        say(line)
    if job.place.events.exists():
        say(f"events: {job.place.events}")
        say(f"log: {job.place.log}")
    return ExitCode.SUCCESS


def _arrived(receipt: dict[str, Any] | None) -> Iterator[str]:
    for table in receipt["tables"] if receipt is not None else ():
        yield f"  {table['state']:10} {table['table']}: {_read(table)} in {seconds(table['seconds'])}"
        for into in table["targets"]:
            written = "" if into["rows_written"] is None else f": {count(into['rows_written'])} written"
            yield f"             -> {into['target']}{written}{_apart(into, table)}"
        if table["cause"]:
            yield f"             {table['cause']['message']}".replace("\n", "\n" + " " * 13)
            if table["cause"]["remedy"]:
                yield f"             remedy: {table['cause']['remedy']}"


def _apart(into: dict[str, Any], table: dict[str, Any]) -> str:
    """What became of one target, where its table's targets differ."""
    if not any(one.get("stands") for one in table["targets"]):
        return ""
    if not into["stands"]:
        return f", {into['state']}"
    return f", {into['state']}: {first_line(into['cause']['message'])}; {stand_text(into['stands'])}"


def _stands(job: KnownJob, standing: list[dict[str, Any]] | None, silence: str) -> Iterator[str]:
    """What a running job is at; of one whose driver says nothing, what that means."""
    if silence:
        yield silence
    for table in (standing or [])[:STANDINGS_MAX]:
        checkpoint = "none yet" if table["checkpoint"] is None else table["checkpoint"]
        lag = f", {table['lag']} not committed yet" if table["lag"] else ""
        yield f"  {table['state']:10} {table['table']}: last checkpoint {checkpoint}{lag}"
        for line in (*table["blocked"], *table["waits"]):
            yield f"             {line}"
    for line in and_more(len(standing or ()), STANDINGS_MAX, "tables"):
        yield f"  {line}"


def _read(table: dict[str, Any]) -> str:
    parts = [f"{count(table['rows_read'])} read"]
    for name in ("filtered", "rejected"):
        if table[f"rows_{name}"]:
            parts.append(f"{count(table[f'rows_{name}'])} {name}")
    if table["attempts"]:
        parts.append(f"{count(table['attempts'])} failed attempts")
    return ", ".join(parts)
