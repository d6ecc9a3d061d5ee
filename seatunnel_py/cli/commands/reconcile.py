"""Implements ``seatunnel reconcile``: compares the rows of sources and targets, and names those that differ."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py import app
from seatunnel_py.api.text.shown import literal_text, value_text
from seatunnel_py.cli import debugging
from seatunnel_py.cli.jobs.repair import Repaired, job_of, repair
from seatunnel_py.cli.view.problems import tell_plain, tell_problems, tell_refused
from seatunnel_py.cli.view.terminal import Styled, say, say_json
from seatunnel_py.errors import ExitCode, JobFileError, SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, known
from seatunnel_py.nouns import counted
from seatunnel_py.plan.tables.selection import matching
from seatunnel_py.reconcile.comparisons import TargetRows, opened, targets
from seatunnel_py.reconcile.reconciler import LookFailed, LookStarted, Patience, ReconcileNews, Reconciler, RowsRead
from seatunnel_py.reconcile.repairs import TableRepair, planned
from seatunnel_py.reconcile.report import ComparisonState, ReconcileReport, RowDifference, TableReport
from seatunnel_py.reconcile.suspects import DifferenceKind

if TYPE_CHECKING:
    from collections.abc import Callable

VALUE_CHARACTERS_MAX = 80
PROGRESS_SECONDS = 2.0
_DELIVERING = ("RUNNING", "NOT ENDED")
"""States of a job that may still deliver rows; one on another machine looks the same whether it runs or not."""
_COLOURS = {ComparisonState.EQUAL: "green", ComparisonState.DIFFERENT: "red"}


@dataclass(frozen=True, slots=True)
class ReconcileRequest:
    """Arguments of the command."""

    path: Path
    variables: Mapping[str, str]
    job_id: str | None
    tables: tuple[str, ...]
    condition: str
    limit: int
    settle: float
    as_json: bool
    repair: bool = False
    yes: bool = False


@dataclass(frozen=True, slots=True)
class _Compared:
    """A comparison. ``job``: the state of the job, if that was asked for; ``repairs``: how its differences are
    repaired."""

    report: ReconcileReport
    job: Mapping[str, Any]
    repairs: tuple[TableRepair, ...]


def reconcile(request: ReconcileRequest) -> int:
    """Compare, print each table as soon as it is done, then a summary. If nothing can be compared, that is neither a
    success nor a difference."""
    try:
        if request.repair:
            request = replace(request, job_id=job_of(request.path, request.job_id))
        found = _compared(request)
        repaired = _repaired(request, found) if request.repair else None
        report = found.report if repaired is None or not repaired.tables else _compared_again(request, found, repaired)
    except JobFileError as error:
        code = (tell_plain if request.as_json else tell_problems)(error)
        return code if code == ExitCode.JOB_FILE_WRONG else ExitCode.SOME_TABLES_FAILED
    except SeaTunnelError as error:
        debugging.tell(error)
        if request.as_json:
            tell_refused(error)
        else:
            say(f"error: {error}", err=True)
        return ExitCode.SOME_TABLES_FAILED
    done = repaired is not None and bool(repaired.tables)
    if request.as_json:
        say_json({**found.job, **report.to_plain(), **({} if repaired is None else {"repair": repaired.to_plain()})})
    elif repaired is not None and done:
        say(f"repaired {counted(repaired.rows, 'row')}; {_summary(report)}")
    elif repaired is None:
        say(_summary(report))
    return report.exit_code


def _repaired(request: ReconcileRequest, found: _Compared) -> Repaired:
    assert request.job_id is not None, "a repair needs a job"
    if not request.as_json:
        say(_summary(found.report))
    return repair(request.job_id, found.repairs, yes=request.yes, quiet=request.as_json)


def _compared_again(request: ReconcileRequest, found: _Compared, repaired: Repaired) -> ReconcileReport:
    """Compare the repaired tables again; the others are as they were."""
    again = _compared(replace(request, tables=repaired.tables)).report.tables
    new = {(one.table, one.target): one for one in again}
    return ReconcileReport(tuple(new.get((one.table, one.target), one) for one in found.report.tables))


def _compared(request: ReconcileRequest) -> _Compared:
    listen = _listener(as_json=request.as_json)
    job, settle = dict[str, Any](), request.settle
    if request.job_id is not None:
        state = known(request.job_id, JobLocation()).state
        job = {"job": {"id": request.job_id, "state": state}}
        if state not in _DELIVERING:
            settle = 0.0
            say(f"the job {request.job_id} is {state}: rows that it has not delivered are differences", err=True)
    with app.planned(request.path, request.variables) as (found, _):
        chosen, failed = _chosen(found, request.tables)
        for one in failed:
            listen(one)
        reconciler = Reconciler(Patience(settle), request.limit, listen)
        compared = reconciler.compare(chosen, lambda rows: opened(found.graph, rows, request.condition))
    return _Compared(ReconcileReport((*failed, *compared.tables)), job, planned(compared.tables, reconciler.differing))


def _chosen(found: app.JobPlan, wanted: Sequence[str]) -> tuple[list[TargetRows], list[TableReport]]:
    """The targets to compare, and the tables that the job cannot plan."""
    rows, isolated = targets(found.graph), found.isolated
    if wanted:
        known = dict.fromkeys([*(name for one in rows for name in one.sources), *(str(one.table) for one in isolated)])
        names = matching(tuple(known), wanted, "--table")
        rows = [one for one in rows if names.intersection(one.sources)]
        isolated = tuple(one for one in isolated if str(one.table) in names)
    state = ComparisonState.NOT_COMPARED
    return rows, [TableReport(str(one.table), "", state, reason=one.message, remedy=one.remedy) for one in isolated]


def _listener(*, as_json: bool) -> Callable[[ReconcileNews], None]:
    last = time.monotonic()
    rows: dict[str, int] = {}

    def listen(news: ReconcileNews) -> None:
        nonlocal last
        match news:
            case LookStarted():
                rows.clear()
            case RowsRead():
                rows[news.side] = news.rows
                if time.monotonic() - last >= PROGRESS_SECONDS:
                    last = time.monotonic()
                    read = f"{rows.get('source', 0):,} rows of the source, {rows.get('target', 0):,} of the target"
                    say(f"{news.table}: {read}", err=True)
            case LookFailed():
                debugging.tell(news.error)
            case TableReport() if not as_json:
                for line in _table(news):
                    say(*line)
                sys.stdout.flush()

    return listen


def _table(one: TableReport) -> Iterator[tuple[str | Styled, ...]]:
    yield (
        f"{one.table} -> {one.target}: " if one.target else f"{one.table}: ",
        Styled(_said(one), _COLOURS.get(one.state, "yellow")),
    )
    if one.remedy:
        yield (f"  remedy: {one.remedy}",)
    for difference in one.differences:
        yield (f"  {_difference(difference)}",)
    if one.differing > len(one.differences):
        yield (f"  … and {one.differing - len(one.differences):,} more; --limit shows them",)


def _said(one: TableReport) -> str:
    if one.state is ComparisonState.NOT_COMPARED:
        return f"not compared: {one.reason}"
    rows = counted(one.source_rows, "row")
    parts = [f"equal ({rows})"] if one.state is ComparisonState.EQUAL else []
    if one.differing:
        kinds = ", ".join(f"{one.counts[kind]:,} {kind.value}" for kind in DifferenceKind if one.counts.get(kind))
        least = "at least " if one.more else ""
        parts.append(f"{least}{counted(one.differing, 'row')} differ of {one.source_rows:,} ({kinds})")
    if one.moving:
        parts.append(f"{counted(one.moving, 'row')} changed at each look, and are undecided")
    for side, unreadable in (("source", one.source_unreadable), ("target", one.target_unreadable)):
        if unreadable:
            parts.append(f"{counted(unreadable, 'row')} of the {side} cannot be read, and are not compared")
    if one.late:
        parts.append(f"{counted(one.late, 'row')} arrived meanwhile")
    if not one.by_key:
        parts.append("compared as whole rows, for the table has no key")
    return "; ".join(parts)


def _difference(one: RowDifference) -> str:
    key = ", ".join(f"{name} = {_shown(value)}" for name, value in one.key.items())
    several = max(one.source_rows, one.target_rows) > 1
    times = f" ({one.source_rows} times in the source, {one.target_rows} in the target)" if several else ""
    match one.kind:
        case DifferenceKind.MISSING:
            return f"missing in the target: {key}{times}"
        case DifferenceKind.SURPLUS:
            return f"surplus in the target: {key}{times}"
    columns = "; ".join(
        f"{column.column}: {_shown(column.source)} in the source, {_shown(column.target)} in the target"
        for column in one.columns
    )
    return f"different: {key}{times}: {columns}"


def _shown(value: Any) -> str:
    text = literal_text(value) if isinstance(value, str) else value_text(value)
    return text if len(text) <= VALUE_CHARACTERS_MAX else text[: VALUE_CHARACTERS_MAX - 1] + "…"


def _summary(report: ReconcileReport) -> str:
    compared = len(report.compared)
    text = f"compared {counted(report.rows, 'row')} of {counted(compared, 'table')}"
    more = any(one.more for one in report.tables)
    parts = [f"{text}; {'at least ' if more else ''}{report.differing:,} differ"]
    moving = sum(one.moving + one.unreadable for one in report.tables)
    parts += [f"{moving:,} undecided"] if moving else []
    left = len(report.tables) - compared
    parts += [f"{counted(left, 'table')} not compared"] if left else []
    return "; ".join(parts)
