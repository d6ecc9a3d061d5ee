"""Implements ``seatunnel jobs watch``: shows a running job until it ends.

Rules. (1) It only reads the files that the driver writes, so any number of viewers costs the driver nothing. (2) Only
the lock shows that the driver is alive; a driver without a heartbeat is reported as such, never with old numbers as
if they were new. (3) Rates are differences of two readings of the same run.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.cli.jobs import job_list
from seatunnel_py.cli.jobs.checkpoint_view import attempt_text
from seatunnel_py.cli.view.numbers import and_more, count, rows, seconds
from seatunnel_py.cli.view.terminal import say, say_document
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.runtime.diagnosis.live_counters import BEAT_SECONDS
from seatunnel_py.runtime.observe import checkpoint_history
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointAttempt
from seatunnel_py.runtime.observe.receipt import TableState

EVERY_SECONDS = 1.0
PLAIN_EVERY_SECONDS = 5.0
SILENT_SECONDS = 3 * BEAT_SECONDS
WINDOW_SECONDS = 10.0  # of rates
SHOWN_MAX = 8
_ORDER = {state.value: at for at, state in enumerate(TableState)}


@dataclass(frozen=True, slots=True)
class Reading:
    """The files of a job at one moment. ``counters``: None: its driver has written none yet."""

    at: float
    started: float
    run: str
    counters: Mapping[str, Any] | None
    checkpoint: CheckpointAttempt | None

    @property
    def silent(self) -> float:
        """Seconds since the driver's last heartbeat."""
        return self.at - (self.started if self.counters is None else self.counters["at"])


_Seen = tuple[float, int, dict[str, int]]
"""Time, rows that were read then, and those of each table."""


class Rates:
    """Rows per second, over the last readings of one run."""

    def __init__(self) -> None:
        self._seen: deque[_Seen] = deque()
        self._run = ""

    def add(self, reading: Reading) -> None:
        """Take a reading into account."""
        if reading.counters is None:
            return
        if reading.run != self._run:
            self._seen.clear()
            self._run = reading.run
        at, tables = reading.counters["at"], reading.counters["tables"]
        if self._seen and self._seen[-1][0] >= at:
            return
        read = {table["table"]: table["rows_read"] for table in tables}
        self._seen.append((at, reading.counters["totals"]["rows_read"], read))
        while len(self._seen) > 2 and self._seen[1][0] <= at - WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def total(self) -> float | None:
        """None: there is no second reading yet."""
        return self._between(lambda seen: seen[1])

    def of(self, table: str) -> float | None:
        """The rate of one table."""
        return self._between(lambda seen: seen[2].get(table, 0))

    def _between(self, rows: Callable[[_Seen], int]) -> float | None:
        if len(self._seen) < 2:
            return None
        first, last = self._seen[0], self._seen[-1]
        return max(0.0, (rows(last) - rows(first)) / (last[0] - first[0]))


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


def _read(job: KnownJob) -> Reading:
    place, about = job.place, job.place.last_claim or {}
    newest = checkpoint_history.newest(place.checkpoint_history)
    return Reading(time.time(), about.get("started", 0.0), about.get("driver", ""), place.counters, newest)


def _readings(job: KnownJob) -> Iterator[Reading]:
    """A reading every second, as long as the driver is alive."""
    while job.here:
        yield _read(job)
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


def plain(reading: Reading, rates: Rates) -> dict[str, Any]:
    """The document for machines; ``tables`` holds those that have begun and not ended."""
    counters = reading.counters or {"totals": None, "tables": []}
    ended = {one.value for one in TableState if one.ended}
    running = [table for table in counters["tables"] if table["state"] not in ended | {"PENDING"}]
    return {
        "at": reading.at,
        "started": reading.started,
        "silent_seconds": round(reading.silent) if reading.silent > SILENT_SECONDS else 0,
        "totals": counters["totals"],
        "rows_per_second": rates.total,
        "states": dict(Counter(table["state"] for table in counters["tables"])),
        "tables": [{**table, "rows_per_second": rates.of(table["table"])} for table in running],
        "checkpoint": None if reading.checkpoint is None else reading.checkpoint.checkpoint,
    }


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
