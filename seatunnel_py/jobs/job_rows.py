"""The rows of a list of jobs, their selection and order; and the progress of one job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.observe.run_summary import RUN_STATES, summary, unreadable

STATES = RUN_STATES


@dataclass(frozen=True, slots=True)
class Selection:
    """Which jobs are listed. ``states``: all if empty; ``text``: a part of id, name or file; ``sort``: a key of
    ``SORTS``; ``limit``: None: no limit."""

    states: frozenset[str] = frozenset()
    text: str = ""
    sort: str = "started"
    limit: int | None = None

    def of(self, jobs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The chosen jobs, in order."""
        text = self.text.lower()
        chosen = [
            job
            for job in jobs
            if (not self.states or job["state"] in self.states)
            and any(text in job[key].lower() for key in ("job_id", "job_name", "job_file"))
        ]
        key, falls = SORTS[self.sort]
        return sorted(chosen, key=key, reverse=falls)[: self.limit]


def selection(states: Iterable[str], text: str, sort: str, limit: int | None) -> Selection:
    """Check the options of a list. Raises SeaTunnelError with the nearest valid names."""
    chosen = states_of(states)
    _require(sort, tuple(SORTS), "order")
    return Selection(chosen, text, sort, limit)


def states_of(given: Iterable[str]) -> frozenset[str]:
    """The states in these texts, which may be lists with commas; ``done`` means SUCCESS. Raises SeaTunnelError."""
    names = [name.strip().upper().replace("-", "_") for text in given for name in text.split(",")]
    names = [_OTHER_NAMES.get(name, name) for name in names]
    for name in names:
        _require(name, STATES, "state of a job")
    return frozenset(names)


_OTHER_NAMES = {"NOT_ENDED": "NOT ENDED", "DONE": "SUCCESS"}


def _require(given: str, valid: tuple[str, ...], what: str) -> None:
    if given not in valid:
        meant = did_you_mean(given, valid)
        raise SeaTunnelError(f"{given!r} is not a valid {what}", f"{meant}valid: {', '.join(valid)}")


def _number(name: str) -> Callable[[Mapping[str, Any]], float]:
    return lambda job: float(job[name] or 0)


SORTS: Mapping[str, tuple[Callable[[Mapping[str, Any]], Any], bool]] = {
    "started": (_number("started"), True),
    "duration": (_number("seconds"), True),
    "rows": (_number("rows_read"), True),
    "state": (lambda job: (job["state"], -float(job["started"])), False),
    "name": (lambda job: (job["job_name"], -float(job["started"])), False),
}
"""Orders of a list: the key, and whether it falls."""


def about_of(job: KnownJob) -> dict[str, Any]:
    """Content of one line; a job with an unreadable record must not hide the others."""
    try:
        about, state, alive = job.about or {}, job.state, job.here
        # A driver of an older version reports no progress.
        told = (None if alive else job.receipt) or job.counters
    except SeaTunnelError:
        return unreadable(job.job_id)
    return summary(job.job_id, state, about, told, alive=alive, now=time.time())


def progress_of(job: KnownJob, state: str, *, alive: bool) -> dict[str, Any] | None:
    """Progress of its driver. A table that was running when the driver died does not run any more."""
    counters = job.counters
    if counters is None or alive:
        return counters
    ended = {one.value for one in TableState if one.ended}
    tables = [table if table["state"] in ended else {**table, "state": state} for table in counters["tables"]]
    return {**counters, "tables": tables}
