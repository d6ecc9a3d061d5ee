"""Runs the jobs of a conformance directory through the code of ``seatunnel test``, and judges each of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psycopg
import pymysql
from confluent_kafka import KafkaException

from e2e.conformance import streams
from e2e.conformance.content import Check, Left
from e2e.conformance.expectations import Expectation, expectation
from e2e.conformance.index import Entry, entries
from e2e.conformance.rewrite import Surroundings, rewritten, servers_of
from e2e.conformance.servers import Servers, started
from seatunnel_py import app
from seatunnel_py.cli.commands.suite import Case, CaseOutcome, CaseVerdict, outcomes
from seatunnel_py.errors import JobFileError
from seatunnel_py.runtime.storage.home import Home

LEFT_OVER_MAX = 2


class Result(StrEnum):
    """What a job's row in the table says."""

    EXPECTED = "as expected"
    IMPROVED = "improvement"
    LEFT_OVER = "left over"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Judged:
    """A job, and how what happened compares with what should."""

    job: str
    result: Result
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a job: jobs with variables may have several."""

    entry: Entry
    expected: Expectation
    case: Case
    around: Surroundings
    kinds: frozenset[str]


def judge(directory: Path, scratch: Path, only: str = "") -> Iterator[Judged]:
    """Run everything in scope and judge it. ``scratch`` is an empty directory, which keeps logs and files."""
    wanted = entries(directory, only)
    texts = {entry.name: (directory / entry.job).read_text() for entry in wanted}
    kinds = {entry.name: servers_of(texts[entry.name]) for entry in wanted}
    reasons = {entry.name: entry.skipped_because or _alone(entry, texts) for entry in wanted}
    needed = {kind for entry in wanted if not reasons[entry.name] for kind in kinds[entry.name]}
    shutil.copytree(directory / "data" / "read", scratch / "read")
    with started(needed) as servers:
        for entry in wanted:
            absent = [servers.missing[kind] for kind in kinds[entry.name] if kind in servers.missing]
            reasons[entry.name] = reasons[entry.name] or "; ".join(absent)
        yield from (Judged(entry.job, Result.SKIPPED, reasons[entry.name]) for entry in wanted if reasons[entry.name])
        runs = [
            run
            for entry in _in_order([entry for entry in wanted if not reasons[entry.name]])
            for run in _runs(entry, texts[entry.name], kinds[entry.name], scratch, servers.hosts)
        ]
        yield from _judged(runs, scratch, servers)


def _in_order(wanted: list[Entry]) -> list[Entry]:
    """A job that goes on where another stopped comes after it."""
    return sorted(wanted, key=lambda entry: bool(expectation(entry.name).after))


def _alone(entry: Entry, wanted: Iterable[str]) -> str:
    """The reason why a job cannot be judged without another one that was not asked for."""
    after = expectation(entry.name).after
    return f"it reads what {after} leaves" if after and after not in wanted else ""


def _runs(entry: Entry, text: str, kinds: frozenset[str], scratch: Path, hosts: Mapping[str, str]) -> Iterator[_Run]:
    expected = expectation(entry.name)
    for number, variables in enumerate(expected.runs):
        place = scratch / "jobs" / entry.name.replace("/", ".")
        if len(expected.runs) > 1 and variables:
            place = place.with_name(f"{place.name}.{number + 1}")
        shared = scratch / "jobs" / expected.after.replace("/", ".") if expected.after else place
        around = Surroundings(scratch / "read", shared / "tmp", hosts)
        around.tmp.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True)
        file = place / f"{Path(entry.job).name}"
        file.write_text(rewritten(text, around, strict=not expected.unknown_keys))
        (place / "strict.conf").write_text(rewritten(text, around, strict=True))
        yield _Run(entry, expected, Case(file, variables), around, kinds)


def _judged(runs: list[_Run], scratch: Path, servers: Servers) -> Iterator[Judged]:
    problems: list[str] = []
    seconds = 0.0
    bounded = [run.case for run in runs if not run.entry.endless]
    with closing(outcomes(bounded, Home(scratch / "home"))) as done:
        for number, run in enumerate(runs):
            _prepare(run, servers)
            outcome = _streamed(run, servers) if run.entry.endless else next(done)
            seconds += outcome.seconds
            left = Left(run.around.tmp, outcome.output, run.case.variables, servers)
            problems += filter(None, [_problem(run, outcome, left)])
            if number + 1 < len(runs) and runs[number + 1].entry == run.entry:
                continue
            yield _verdict(run, outcome, problems, seconds)
            problems, seconds = [], 0.0


def _streamed(run: _Run, servers: Servers) -> CaseOutcome:
    """A stream is done when what it should leave is there, also after each of its changes."""
    changes = iter(run.expected.changes)

    def is_out(printed: str) -> bool:
        assert run.expected.check is not None, f"{run.entry.name}: nobody says when its data is out"
        if _wrong(run.expected.check, Left(run.around.tmp, printed, run.case.variables, servers)):
            return False
        change = next(changes, None)
        if change is not None:
            change(servers)
        return change is None

    return streams.run(run.case, run.case.path.parent / "home", is_out)


def _prepare(run: _Run, servers: Servers) -> None:
    for name in run.expected.empty:
        (run.around.tmp / name).mkdir(parents=True, exist_ok=True)
    for kind in run.kinds - {"models"}:
        server = servers.server(kind)
        server.reset()
        if run.expected.prepare is not None:
            run.expected.prepare(server)


def _problem(run: _Run, outcome: CaseOutcome, left: Left) -> str:
    """What is not as expected in one run; empty when all is."""
    expected = run.expected
    passes = expected.passes if expected.passes is not None else run.entry.expect == "pass"
    if run.entry.expect == "unknown" and expected.passes is None:
        return "the index does not say what should happen, and neither do the expectations"
    if passes != (outcome.verdict is CaseVerdict.PASSED):
        return outcome.first_line or "it passes, and should fail"
    if not passes and not re.search(expected.cause, outcome.cause):
        return f"it fails for another reason: {outcome.first_line}"
    refused = _not_refused(run)
    if refused:
        return f"not refused while strict: {', '.join(refused)}"
    wrong = next(filter(None, (_wrong(check, left) for check in (expected.check, expected.ended) if check)), "")
    return f"what it left behind: {wrong}" if wrong else ""


def _wrong(check: Check, left: Left) -> str:
    try:
        check(left)
    except (AssertionError, OSError, ValueError, psycopg.Error, pymysql.Error, KafkaException) as error:
        return str(error).strip() or type(error).__name__
    return ""


def _not_refused(run: _Run) -> list[str]:
    """The unknown keys that the strict file should be refused for, and is not."""
    if not run.expected.unknown_keys:
        return []
    try:
        app.check(run.case.path.parent / "strict.conf", run.case.variables)
    except JobFileError as error:
        named = [problem.path for problem in error.problems if problem.message == "unknown option"]
        return [key for key in run.expected.unknown_keys if not any(path.endswith(key) for path in named)]
    return list(run.expected.unknown_keys)


def _verdict(run: _Run, outcome: CaseOutcome, problems: list[str], seconds: float) -> Judged:
    if problems:
        return Judged(run.entry.job, Result.LEFT_OVER, problems[0], seconds)
    if run.expected.improvement:
        keys = ", ".join(run.expected.unknown_keys)
        reason = f"{run.expected.improvement} ({keys})" if keys else run.expected.improvement
        return Judged(run.entry.job, Result.IMPROVED, reason, seconds)
    failed = outcome.verdict is not CaseVerdict.PASSED
    return Judged(run.entry.job, Result.EXPECTED, f"fails: {outcome.first_line}" if failed else "", seconds)
