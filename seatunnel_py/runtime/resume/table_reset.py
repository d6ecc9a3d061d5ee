"""Checks which tables of a log are to be copied again, before anything is changed.

Rules. (1) A reset is a pair of journal lines for the pipeline that copies the table: its earlier rows are void, and its
target is emptied first. Both lines are durable before anything follows, so the next driver goes on with it. (2) The
table leaves the log with a savepoint (``log_growth.py``), is copied while the log waits, and joins the log again. Then
the mark is taken back. (3) Until the table has left, the log may write rows of it, so its copy begins after that. (4) A
log whose tables are all copied again, by one request or by several, has nothing to wait with: ``--fresh`` does that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from seatunnel_py.errors import PlanError, Problem
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.tables import selection
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.storage.journal import dropped_line, reset_line
from seatunnel_py.runtime.targets.prepared_pipeline import tables_in

OPTION = "--reset"


def copies_of(
    named: Mapping[str, Pipeline],
    records: Mapping[str, CheckpointRecord],
    tables: Sequence[str],
    resets: Collection[str] = (),
) -> tuple[str, ...]:
    """The keys of the pipelines that copy these tables. ``resets``: those of copies that are made again already. Raises
    PlanError with every table that cannot be copied again."""
    wanted = followed(named, tables)
    copies = {key: one for key, one in _copies(named).items() if not wanted.isdisjoint(map(str, one.tables))}
    ids = {one.id for one in copies.values()}
    logs = ((key, one) for key, one in named.items() if one.follows_copies and not ids.isdisjoint(one.after))
    again = {str(path) for key in resets if key in named for path in named[key].tables}
    problems = [problem for key, log in logs for problem in _of_log(log, records.get(key), wanted | again)]
    problems += [problem for copy in copies.values() for problem in _of_copy(copy, wanted)]
    if problems:
        raise PlanError(tuple(problems))
    return tuple(copies)


def followed(named: Mapping[str, Pipeline], tables: Sequence[str]) -> set[str]:
    """The whole names of these tables, each of which may be named by the end of its name. Raises PlanError with every
    name of no table that is copied and followed."""
    known = [str(path) for copy in _copies(named).values() for path in copy.tables]
    if not known:
        raise PlanError((Problem("the job follows no tables that it has copied", OPTION, remedy="use --fresh"),))
    return selection.matching(known, tables, OPTION)


def _copies(named: Mapping[str, Pipeline]) -> dict[str, Pipeline]:
    """The pipelines that copy tables of a log."""
    ids = {one for log in named.values() if log.follows_copies for one in log.after}
    return {key: one for key, one in named.items() if one.id in ids}


def lines_of(copies: Sequence[str]) -> tuple[Mapping[str, object], ...]:
    """The journal lines of a reset (rule 1)."""
    return tuple(line for key in copies for line in (dropped_line(key), reset_line(key, begins=True)))


def refusal(error: PlanError) -> tuple[str, str]:
    """Message and remedy of a refused request."""
    first = error.problems[0]
    meant = f"did you mean {first.suggestion}? " if first.suggestion else ""
    return "; ".join(one.message for one in error.problems), f"{meant}{first.remedy}"


def _of_log(log: Pipeline, record: CheckpointRecord | None, wanted: set[str]) -> list[Problem]:
    if record is None:
        text = f"{log.name} has not begun: its tables are still copied for the first time"
        return [Problem(text, OPTION, remedy="run the job without it")]
    if (
        record.kind is RecordKind.ZERO
    ):  # one that is stopped now begins again from nothing, and would wait for its copies
        return [
            Problem(f"{log.name} has no checkpoint yet", OPTION, remedy="run the job without it, and ask again later")
        ]
    had, now = [str(one.schema.path) for one in tables_in(record.plan)], [*map(str, log.tables)]
    if wanted.issuperset([name for name in had if name in now] or now):
        text = f"these are all tables of {log.name}"
        return [Problem(text, OPTION, remedy="start the job with --fresh, which copies all of them")]
    return []


def _of_copy(copy: Pipeline, wanted: set[str]) -> list[Problem]:
    found = []
    if others := [str(path) for path in copy.tables if str(path) not in wanted]:
        text = f"{copy.name} also copies {selection.named(others)}"
        found.append(Problem(text, OPTION, remedy="name these tables too"))
    for node in copy.sinks:
        if why := _stays_full(node):
            text = f"{', '.join(map(str, copy.tables))} cannot be copied again: {node.shown} {why}"
            found.append(Problem(text, OPTION, remedy="start the job with --fresh, or copy the table with another job"))
    return found


def _stays_full(node: SinkNode) -> str:
    """Why the target of a sink cannot be emptied for this table; empty: it can."""
    if node.shared:
        return "has rows of other tables too"
    return "" if node.sink.can_be_emptied else "cannot be emptied"
