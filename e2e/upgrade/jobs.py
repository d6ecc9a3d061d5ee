"""The jobs that an older commit leaves behind, in one directory. Its name is fixed: a job whose targets have moved is
refused."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACE = Path("/tmp/seatunnel-upgrade")
FILES, OF_FILE = 12, 100
ROWS = [
    (number, split, seq) for number, (split, seq) in enumerate((s, q) for s in range(FILES) for q in range(OF_FILE))
]
BAD = 5
WRITTEN_AT = 1_764_000_000
STREAM_ROWS = 4_000

_IN = """LocalFile { plugin_output = read, path = "in", file_format_type = csv,
    schema { table = big, fields { id = bigint, split = int, seq = int } } }"""
_STREAM = f"""FakeSource {{ plugin_output = read, row.num = {STREAM_ROWS}, split.num = 40, split.read-interval = 100,
    schema {{ table = big, fields {{ id = bigint }} }}, bigint.fake.mode = range, auto.increment.enabled = true }}"""
_PACE = "checkpoint.interval = 50, parallelism = 1, unit.rows = 50, read_limit.rows_per_second = 400"


def _to_files(job: str) -> str:
    return f'LocalFile {{ plugin_input = read, path = "{job}.out", file_format_type = json }}'


def _to_sqlite(job: str, more: str = "") -> str:
    return f"""Jdbc {{ plugin_input = read, url = "jdbc:sqlite:{job}.db", database = main, table = big,
        generate_sink_sql = true{more} }}"""


@dataclass(frozen=True, slots=True)
class Left:
    """A job and how it was left: ``killed`` at that failpoint, or (empty) stopped by a signal as soon as rows are seen.
    ``targets``: the endings of what it writes to."""

    name: str
    source: str
    env: str
    targets: tuple[str, ...]
    killed: str = ""
    more: str = ""

    @property
    def streams(self) -> bool:
        return self.source is _STREAM

    @property
    def text(self) -> str:
        sinks = [
            _to_files(self.name) if target == "out" else _to_sqlite(self.name, self.more) for target in self.targets
        ]
        mode = "job.mode = STREAMING, " if self.streams else ""
        sink = "\n".join(sinks)
        return f"env {{ {mode}{self.env} }}\nsource {{ {self.source} }}\nsink {{ {sink} }}\n"

    @property
    def wanted(self) -> list[Any]:
        """The rows of each target in the end."""
        if self.streams:
            return [*range(1, STREAM_ROWS + 1)]
        return ROWS

    def rows(self, home: Path, target: str) -> list[Any]:
        """What is visible in a target, in any order."""
        found = _rows_of_files(home / f"{self.name}.out") if target == "out" else _rows_of(home / f"{self.name}.db")
        return sorted(row[0] for row in found) if self.streams else sorted(found)


def _rows_of_files(place: Path) -> list[tuple[int, ...]]:
    """A walk that passes over directories of the driver, which may be gone before it gets there."""
    walked = (Path(at) / name for at, _, names in os.walk(place) for name in names)
    visible = [path for path in walked if path.suffix == ".json" and not path.name.startswith(".")]
    lines = [line for path in visible for line in path.read_text().splitlines()]
    return [tuple(json.loads(line).values()) for line in lines]


def _rows_of(database: Path) -> list[tuple[int, ...]]:
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as connection:
        there = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'big'").fetchone() == (1,)
        return connection.execute("SELECT * FROM big").fetchall() if there else []


_ONCE = ", is_exactly_once = true"
JOBS: Mapping[str, Left] = {
    job.name: job
    for job in (
        Left("zero", _IN, _PACE, ("out",), "driver.zero.durable"),
        Left("files", _IN, _PACE, ("out",), "driver.record.durable@3"),
        Left("published", _IN, _PACE, ("out",), "files.commit.published@3"),
        Left("table", _IN, _PACE, ("db",), "worker.stage.after@9"),
        Left("staged", _IN, _PACE, ("db",), "driver.record.durable@3", _ONCE),
        Left("committed", _IN, _PACE, ("db",), "statements.commit.after@3", _ONCE),
        Left("forked", _IN, _PACE, ("out", "db"), "driver.record.durable@4", _ONCE),
        Left(
            "bad",
            _IN.replace('"in"', '"bad"'),
            f"{_PACE}, error.max-rows = 10",
            ("db",),
            "driver.commit.after@4",
            _ONCE,
        ),
        Left("last", _IN, _PACE, ("db",), "driver.final.durable", _ONCE),
        Left("stream", _STREAM, "checkpoint.interval = 100", ("db",), "driver.record.durable@4", _ONCE),
        Left("streamfiles", _STREAM, "checkpoint.interval = 100", ("out",), "files.commit.published@2"),
        Left("stopped", _STREAM, "checkpoint.interval = 100", ("db",), "", _ONCE),
    )
}


@contextmanager
def place() -> Iterator[Path]:
    """The directory, empty, for one process at a time."""
    with PLACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir()
        try:
            yield PLACE
        finally:
            shutil.rmtree(PLACE)


def write_inputs(home: Path) -> None:
    """A file for each split; in ``bad`` some lines hold no row."""
    for directory, bad in (("in", 0), ("bad", BAD)):
        (home / directory).mkdir()
        for split in range(FILES):
            lines = [f"{number},{one},{seq}\n" for number, one, seq in ROWS if one == split]
            if split < bad:
                lines.insert(OF_FILE // 2, "x,y,z\n")
            path = home / directory / f"{split}.csv"
            path.write_text("".join(lines))
            os.utime(path, (WRITTEN_AT, WRITTEN_AT))  # a file whose time differs has changed, and archives keep seconds
    for job in JOBS.values():
        (home / f"{job.name}.conf").write_text(job.text)


def arguments(job: Left, *more: str) -> Sequence[str]:
    return ("run", f"{job.name}.conf", "--job-id", job.name, *more, "--json")
