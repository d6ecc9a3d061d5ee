"""Compares the rows of targets with those of their sources, value by value: each once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from e2e.server_kills.operator_base import JobOperator
from e2e.server_kills.stream_operator import StreamOperator
from e2e.server_kills.twenty_jobs import KilledJob

if TYPE_CHECKING:
    from e2e.server_kills.judge import Judge


def row_faults(judge: Judge, operator: JobOperator) -> list[str]:
    if isinstance(operator, StreamOperator):
        return _of_stream(judge, operator)
    return _of_batch(judge, operator.job)


def _of_stream(judge: Judge, operator: StreamOperator) -> list[str]:
    """The target has all that the last driver of the chain has read, from the first row on."""
    if not operator.chain:
        return [f"{operator.job.name} was never started"]
    receipt = judge.home.place(operator.newest).read("receipt")
    if receipt is None:
        return [f"{operator.newest} has no receipt"]
    read = receipt["totals"]["rows_read"]
    if receipt["state"] != "STOPPED":
        return [f"{operator.newest} is {receipt['state']}"]
    wanted = list(operator.job.rows())[:read]
    return _difference(operator.job.name, Counter(wanted), Counter(operator.job.written()))


def _of_batch(judge: Judge, job: KilledJob) -> list[str]:
    """Each run has written all rows once; a start that was dropped has none."""
    found, files = [], 0
    for run, starts in judge.intents.items():
        if starts[0]["definition"] != job.name:
            continue
        written = job.written(run)
        files += len(written)
        receipt = judge.home.place(run).read("receipt")
        if receipt is None or receipt["state"] != "SUCCESS":
            if written or any(one["state"] not in ("DROPPED", "NOT_STARTED") for one in starts):
                found.append(f"{run} has no success, and {len(written)} rows: {starts}")
            continue
        found += _difference(run, Counter(job.rows()), Counter(written))
    if files != len(job.written()):
        found.append(f"{job.name}: {len(job.written())} rows, and its runs have {files}")
    return found


def _difference(name: str, wanted: Counter[tuple[str, int, int]], there: Counter[tuple[str, int, int]]) -> list[str]:
    missing, more = wanted - there, there - wanted
    if not missing and not more:
        return []
    return [
        f"{name}: {missing.total()} rows are missing {sorted(missing)[:3]}, {more.total()} too many {sorted(more)[:3]}"
    ]
