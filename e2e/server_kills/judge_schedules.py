"""Checks that each time of a schedule has one run or a reason, and that runs overlap only where they may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from e2e.server_kills.twenty_jobs import KilledJob
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import Schedule
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.places.sqlite_file import database_file

if TYPE_CHECKING:
    from e2e.server_kills.judge import Judge


def schedule_faults(judge: Judge, job: KilledJob, asked: set[str]) -> list[str]:
    """``asked``: the runs of the definition that a client has started."""
    name = job.name
    fires = judge.rows("SELECT * FROM schedule_fire WHERE schedule = ? ORDER BY due", name)
    started = Counter(one["run"] for one in fires if one["outcome"] == "started")
    found = [f"{name}: {run} was started for {times} times" for run, times in started.items() if times > 1]
    found += [f"{name}: the time {one['due']} is {one['outcome']}, without a reason" for one in fires if not _told(one)]
    found += [
        f"{name}: the time {one['due']} is {one['outcome']}: {one['why']}"
        for one in fires
        if one["outcome"] == "refused"
    ]
    runs = {run for run, starts in judge.intents.items() if starts[0]["definition"] == name}
    found += [f"{name}: {run} was started by no time" for run in sorted(runs - started.keys() - asked)]
    found += [f"{name}: no start of {run}" for run in sorted(started.keys() - runs)]
    lines = Counter(
        one["object"]
        for one in judge.rows("SELECT * FROM audit WHERE actor = ? AND act = 'run.start'", f"schedule:{name}")
        if one["result"] == "done"
    )
    found += [f"{name}: {run} has {lines[run]} audit lines" for run in started.keys() | lines.keys() if lines[run] != 1]
    found += _undecided(judge, name, {one["due"]: one["outcome"] for one in fires})
    return found if job.overlaps else found + _overlaps(judge, runs)


def _told(fire: Mapping[str, Any]) -> bool:
    return bool(fire["run"]) if fire["outcome"] == "started" else bool(fire["why"])


def _overlaps(judge: Judge, runs: set[str]) -> list[str]:
    """A run begins after the end of the one before it."""
    spans = sorted(
        (judge.intents[run][0]["at"], max(one["ended_at"] or one["at"] for one in judge.intents[run]), run)
        for run in runs
    )
    return [
        f"{after[2]} was started before the end of {before[2]}"
        for before, after in pairwise(spans)
        if after[0] < before[1]
    ]


def _undecided(judge: Judge, name: str, outcomes: Mapping[float, str]) -> list[str]:
    """Times without a fire. A fire of missed times stands for those until the next fire."""
    schedule, paused = _schedule(judge, name), _paused(judge, name)
    found, covered = [], False
    moment = schedule.timing.after(schedule.created_at)
    last = max(outcomes, default=schedule.created_at)
    while moment is not None and moment <= last:
        covered = outcomes[moment] == "missed" if moment in outcomes else covered
        away = any(begin - 2 <= moment <= end + 2 for begin, end in paused)
        if moment not in outcomes and not covered and not away:
            found.append(f"{name}: the time {moment} has no fire")
        moment = schedule.timing.after(moment)
    return found


def _schedule(judge: Judge, name: str) -> Schedule:
    database = Database.open(database_file(judge.home.path), lambda: 0.0)
    try:
        with database.reading() as connection:
            return stored_schedules.found(connection, name)
    finally:
        database.close()


def _paused(judge: Judge, name: str) -> Sequence[tuple[float, float]]:
    """From each pause of the schedule to the next resume."""
    found, since = [], None
    query = "SELECT at, act FROM audit WHERE object = ? AND act IN ('schedule.pause', 'schedule.resume') ORDER BY id"
    for one in judge.rows(query, name):
        if one["act"] == "schedule.pause" and since is None:
            since = one["at"]
        elif one["act"] == "schedule.resume" and since is not None:
            found.append((since, one["at"]))
            since = None
    return found
