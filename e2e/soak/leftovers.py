"""What a job that has been stopped may leave, and what it may not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from e2e.crash_sweep.tables import MariadbTable
from e2e.soak.operator import JOB_ID
from e2e.soak.stream import Table
from e2e.soak.victims import Killer
from e2e.support import still_below

GONE_SECONDS = 30.0
KEPT = ("job.json", "plan.json", "receipt.json", "events.jsonl", "job.log", "lock", "control", "checkpoints")
"""What stays of a job that can be gone on with."""


def left_behind(home: Path, tables: Sequence[Table], killer: Killer) -> list[str]:
    """Looked for until it is gone, for what was killed last may take a moment to be noticed."""
    looks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _in_targets(tables),
        lambda: _processes(home, killer),
        lambda: _in_store(home),
        lambda: _temporary(home),
    )
    until = time.monotonic() + GONE_SECONDS
    while (found := [one for look in looks for one in look()]) and time.monotonic() < until:
        time.sleep(0.5)
    return found


def _in_targets(tables: Sequence[Table]) -> Iterator[str]:
    for table in tables:
        for target in table.targets:
            for one in target.left_behind(table.place):
                if isinstance(target, MariadbTable) and _waits_empty(table, one):
                    continue
                yield f"{table.topic}, {type(target).__name__}: {one}"


def _waits_empty(table: Table, left: str) -> bool:
    """A job that can be gone on with keeps its staging table, which holds nothing while it stands still."""
    name = left.rpartition(" ")[2]
    if "__st_" not in name:
        return False
    with closing(table.place.on_mariadb()) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT NOT EXISTS (SELECT 1 FROM `{name}`)")
        return bool(cursor.fetchone() == (1,))


def _processes(home: Path, killer: Killer) -> Iterator[str]:
    for pid, line in still_below(str(home / ".seatunnel"), 0):
        yield f"process {pid} {line}"
    for pid in killer.executors():
        yield f"executor {pid}"


def _in_store(home: Path) -> Iterator[str]:
    job = home / ".seatunnel" / "jobs" / JOB_ID
    for path in job.iterdir():
        if path.name not in KEPT:
            yield from (str(one.relative_to(home)) for one in path.rglob("*") if one.is_file())
    yield from of_the_dead(job / "checkpoints")


def of_the_dead(checkpoints: Path) -> Iterator[str]:
    """The newest driver may hold records of the one that it has gone on from, and a journal of its own only."""
    newest = max(int(path.name) for path in (checkpoints / "incarnations").iterdir())
    for folder, drivers in (("records", 2), ("journal", 1)):
        for path in (checkpoints / folder).iterdir():
            if int(path.name.partition("-")[0]) <= newest - drivers:
                yield f"{folder}/{path.name}, while the driver is {newest}"


def _temporary(home: Path) -> Iterator[str]:
    for directory in (home / "tmp", home / "java"):
        yield from (str(path.relative_to(home)) for path in directory.iterdir())
