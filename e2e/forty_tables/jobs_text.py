"""What `jobs show` and `jobs list` print, taken apart like a receipt."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEAD = re.compile(
    r"(\S+)  (\w+)  (.+)  (\S+\.conf)  (.+ (?:s|min))  ([\d,]+) rows? read(?:, ([\d,]+) of them in this run)?"
)
_TABLE = re.compile(
    r"  (DONE|ISOLATED) +(.+): ([\d,]+) read(?:, ([\d,]+) of them in this run)?(?:, (\d+) failed attempts?)?"
    r"(?: in (.+)|, (kept as it was))"
)
_INTO = re.compile(r" {13}-> (.+?)(?:: ([\d,]+) written)?")
_CHECKPOINTS = re.compile(r"checkpoints: ([\d,]+) completed(?:, ([\d,]+) failed)?")
_CHECKPOINT = re.compile(r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  (.+?): \w+ checkpoint \d+.*")
_FAILURE = re.compile(r"  \S.*|      .*|failures: .*")


@dataclass(slots=True)
class Shown:
    """One table: ``into`` is its target, ``said`` why it failed and what to do."""

    state: str
    read: int
    this_run: int
    kept: bool
    into: str = ""
    written: int | None = None
    said: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ShownJob:
    job_id: str
    state: str
    name: str
    file: str
    read: int
    this_run: int
    tables: dict[str, Shown] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    checkpoints: int = 0
    newest: list[str] = field(default_factory=list)
    """The tables of the newest checkpoints."""


def shown(text: str) -> ShownJob:
    """AssertionError names a line that nobody knows."""
    first, *lines = text.splitlines()
    head = _HEAD.fullmatch(first)
    assert head, first
    job = ShownJob(head[1], head[2], head[3], head[4], _number(head[6]), _number(head[7] or head[6]))
    last: Shown | None = None
    for line in lines:
        if found := _TABLE.fullmatch(line):
            assert found[2] not in job.tables, f"told twice: {line}"
            last = Shown(found[1], _number(found[3]), _number(found[4] or found[3]), bool(found[7]))
            job.tables[found[2]] = last
        elif last and (found := _INTO.fullmatch(line)):
            last.into, last.written = found[1], None if found[2] is None else _number(found[2])
        elif last and line.startswith(" " * 13):
            last.said.append(line.strip())
        elif found := re.fullmatch(r"(events|log): (/.+)", line):
            job.files[found[1]] = found[2]
        elif found := _CHECKPOINTS.fullmatch(line):
            job.checkpoints = _number(found[1])
        elif found := _CHECKPOINT.fullmatch(line):
            job.newest.append(found[1])
        else:
            assert _FAILURE.fullmatch(line), f"a sentence that nobody knows: {line!r}"
            job.failures.append(line)
    return job


def listed(text: str) -> dict[str, list[str]]:
    """The cells of each job."""
    header, *lines = text.splitlines()
    names = re.split(r" {2,}", header)
    assert names == ["JOB", "STATE", "STARTED", "DURATION", "ROWS READ", "THIS RUN", "NAME", "FILE"], header
    cells = [re.split(r" {2,}", line) for line in lines]
    assert all(len(one) == len(names) for one in cells), text
    return {one[0]: one for one in cells}


def _number(text: str) -> int:
    return int(text.replace(",", ""))
