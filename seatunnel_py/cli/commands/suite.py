"""Runs job files one after the other in one Spark application, each with its own outcome."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from seatunnel_py import app
from seatunnel_py.errors import ExitCode, JobFileError, SeaTunnelError, worded
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.steps import Job
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory

PROBLEMS_SHOWN = 20  # of one job file


@dataclass(frozen=True, slots=True)
class Case:
    """A job file and its variables."""

    path: Path
    variables: Mapping[str, str]


class CaseVerdict(StrEnum):
    """Outcome of a job file."""

    PASSED = "passed"
    FAILED = "failed"
    WRONG = "job file wrong"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """``cause`` explains why a case did not pass; ``output`` is the printed output of its job; ``place`` keeps its
    receipt."""

    case: Case
    verdict: CaseVerdict
    seconds: float
    cause: str = ""
    output: str = ""
    receipt: Receipt | None = None
    place: JobDirectory | None = None
    checks_itself: bool = False

    @property
    def first_line(self) -> str:
        """First line of the cause."""
        return self.cause.partition("\n")[0]


def outcomes(cases: Sequence[Case], home: Home, *, local: bool = False) -> Generator[CaseOutcome, None, None]:
    """Run all cases in order. Files are read first, so that Spark starts once, with the settings of all of them.

    Yields each outcome before the next job starts, so that the caller can inspect the results of a job in between.
    Raises EngineError if Spark does not start. A caller that may leave early must close the generator: it holds Spark.
    """
    read = {number: _read(case) for number, case in enumerate(cases)}
    jobs = [job for job in read.values() if isinstance(job, Job)]
    with contextlib.ExitStack() as stack:
        session = None
        if jobs:
            session = stack.enter_context(app.JobSession(jobs, _application_place(home), local=local))
            session.wait()
        for number, case in enumerate(cases):
            job = read.pop(number)
            if isinstance(job, CaseOutcome):
                yield job
            else:
                assert session is not None
                yield _run(case, job, session, home)


def _application_place(home: Home) -> Path:
    place = home.path / "application"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place


def _read(case: Case) -> Job | CaseOutcome:
    started = time.monotonic()
    try:
        return app.check(case.path, case.variables)
    except Exception as error:  # noqa: BLE001 - see _run
        return CaseOutcome(case, CaseVerdict.WRONG, time.monotonic() - started, _words(error))


def _run(case: Case, job: Job, session: app.JobSession, home: Home) -> CaseOutcome:
    started = time.monotonic()
    printed = io.StringIO()
    verdict, cause, receipt, place = CaseVerdict.FAILED, "", None, None
    try:
        place = app.claim(job, home)
        with contextlib.redirect_stdout(printed):
            receipt = session.run(job, place, lambda event: None)
        if receipt.exit_code == ExitCode.SUCCESS:
            verdict = CaseVerdict.PASSED
        cause = _causes(receipt)
    except Exception as error:  # noqa: BLE001 - a bug that one job meets must not keep the others from being tested
        verdict = CaseVerdict.WRONG if isinstance(error, JobFileError) else CaseVerdict.FAILED
        cause = _words(error)
    checks = any(step.plugin == "Assert" for step in job.of_kind(PluginKind.SINK))
    return CaseOutcome(case, verdict, time.monotonic() - started, cause, printed.getvalue(), receipt, place, checks)


def _causes(receipt: Receipt) -> str:
    """Causes of failed tables, without repetition."""
    lines: dict[str, None] = {}
    for table in receipt.tables:
        if table.cause is not None:
            remedy = f"\n    remedy: {table.cause.remedy}" if table.cause.remedy else ""
            lines.setdefault(f"{table.cause.message}{remedy}")
    return "\n".join(lines)


def _words(error: Exception) -> str:
    if not isinstance(error, SeaTunnelError):
        return redacted_text(f"{worded(error)}\n{''.join(traceback.format_exception(error))}")
    if not isinstance(error, JobFileError):
        return str(error)
    shown = [str(problem) for problem in error.problems[:PROBLEMS_SHOWN]]
    hidden = len(error.problems) - len(shown)
    return "\n".join([*shown, *([f"… and {hidden} more problems"] if hidden else [])])
