"""Implements ``seatunnel jobs watch``: shows a running job until it ends.

Rules. (1) It only reads the files that the driver writes, so any number of viewers costs the driver nothing. (2) Only
the lock shows that the driver is alive; a driver without a heartbeat is reported as such, never with old numbers as
if they were new. (3) Rates are differences of two readings of the same run.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from seatunnel_py.cli.jobs import job_list
from seatunnel_py.cli.jobs.checkpoint_view import attempt_text
from seatunnel_py.cli.view.numbers import and_more, count, rows, seconds
from seatunnel_py.cli.view.terminal import say, say_document
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.jobs.job_reading import SILENT_SECONDS, Rates, Reading, plain, read
from seatunnel_py.runtime.observe.receipt import TableState

EVERY_SECONDS = 1.0
PLAIN_EVERY_SECONDS = 5.0
SHOWN_MAX = 8
_ORDER = {state.value: at for at, state in enumerate(TableState)}


def watch(job_id: str, where: JobLocation, *, as_json: bool) -> int:
    """Show a running job until it ends, then how it ended. Returns the exit code of its run."""
    job = known(job_id, where)
    if not job.here and job.location is not None and job.receipt is None:
        raise SeaTunnelError(
            f"the driver of {job_id!r} does not run on this machine, and its live counts are there",
            "run the command on that machine; `seatunnel jobs show` shows the state of its checkpoints here",
        )
    if as_json:
        _follow_as_json(job)
    else:
        _follow(job)
        job_list.show(job_id, where, 1, as_json=False)
    receipt = KnownJob(job.place, job.location).receipt
    return ExitCode.FAILED if receipt is None else int(receipt["exit_code"])


def _readings(job: KnownJob) -> Iterator[Reading]:
    """A reading every second, as long as the driver is alive."""
    while job.here:
        yield read(job.place)
        time.sleep(EVERY_SECONDS)


def _follow(job: KnownJob) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from seatunnel_py.cli.view.safe_console import make_safe

    console, rates = Console(highlight=False, markup=False), Rates()
    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            make_safe(console)
            for reading in _readings(job):
                rates.add(reading)
                live.update(Text("\n".join(view(job.job_id, reading, rates))), refresh=True)
        return
    last, shown_at = "", 0.0
    for reading in _readings(job):
        rates.add(reading)
        line = summary(reading, rates)
        if line != last and reading.at - shown_at >= PLAIN_EVERY_SECONDS:
            say(line)
            last, shown_at = line, reading.at


def _follow_as_json(job: KnownJob) -> None:
    """Print one document per line, after each change."""
    rates, last = Rates(), None
    for reading in _readings(job):
        rates.add(reading)
        found = plain(reading, rates)
        if {**found, "at": 0.0} != last:
            say_document(json.dumps({"job_id": job.job_id, **found}))
            last = {**found, "at": 0.0}


# ---------------------------------------------------------------- text and data of one reading


def view(job_id: str, reading: Reading, rates: Rates) -> list[str]:
    """The lines on a terminal."""
    head = f"{job_id}  RUNNING for {seconds(reading.at - reading.started)}"
    if reading.counters is None:
        return [head, *_silence(reading), "no row yet"]
    tables = reading.counters["tables"]
    moving = [table for table in tables if table["state"] not in ("PENDING", "DONE")]
    moving.sort(key=lambda table: (-_ORDER[table["state"]], table["table"]))
    lines = [head, *_silence(reading), _counts(reading.counters, rates), _states(tables)]
    for table in moving[:SHOWN_MAX]:
        rejected = f", {count(table['rows_rejected'])} rejected" if table["rows_rejected"] else ""
        rate = _rate(rates.of(table["table"]))
        lines.append(f"  {table['state']:10} {table['table']}: {count(table['rows_read'])} read{rejected}{rate}")
    lines += (f"  {line}" for line in and_more(len(moving), SHOWN_MAX, "tables"))
    if reading.checkpoint is not None:
        ago = seconds(max(0.0, reading.at - reading.checkpoint.ended))
        lines.append(f"last checkpoint {ago} ago: {attempt_text(reading.checkpoint)}")
    return lines


def summary(reading: Reading, rates: Rates) -> str:
    """The line in a log."""
    if reading.counters is None:
        return "; ".join([*_silence(reading), "no row yet"])
    return "; ".join([*_silence(reading), _counts(reading.counters, rates), _states(reading.counters["tables"])])


def _silence(reading: Reading) -> Iterator[str]:
    if reading.silent > SILENT_SECONDS:
        yield f"STALLED: its driver has given no heartbeat for {seconds(reading.silent)}; the numbers are that old"


def _counts(counters: Mapping[str, Any], rates: Rates) -> str:
    totals = counters["totals"]
    text = f"{rows(totals['rows_read'])} read{_rate(rates.total)}, {count(totals['rows_written'])} written"
    more = [f"{count(totals[f'rows_{name}'])} {name}" for name in ("filtered", "rejected") if totals[f"rows_{name}"]]
    return ", ".join([text, *more])


def _states(tables: list[Mapping[str, Any]]) -> str:
    numbers = Counter(table["state"] for table in tables)
    shown = ", ".join(f"{count(numbers[state])} {state}" for state in sorted(numbers, key=_ORDER.__getitem__))
    return f"tables: {shown}"


def _rate(rate: float | None) -> str:
    return "" if rate is None else f", {count(rate)} rows/s"
