"""The events of one run: START, RUNNING, and one of COMPLETE, FAIL and ABORT. Pure.

Rules. (1) All events of a run have one id, whatever number of drivers it takes, until it has ended; the next run of
the job names it as the one before. (2) A run of which some tables have failed is complete: its event names them. (3)
RUNNING has counts, but no columns, unless it is the first event of a driver: those of START hold. (4) No event holds a
secret, a row, or a text of a query unless the job allows that.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from seatunnel_py.errors import ExitCode
from seatunnel_py.openlineage import facets
from seatunnel_py.openlineage.dataset_parts import counts_of, parts_of
from seatunnel_py.openlineage.event_redaction import redacted_event
from seatunnel_py.openlineage.facets import Facet
from seatunnel_py.openlineage.job_datasets import JobDatasets
from seatunnel_py.runtime.observe.receipt import Receipt, TableReceipt

TABLES_SHOWN_MAX = 20


class RunEventType(StrEnum):
    """State of a run, with OpenLineage's names."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"

    @property
    def ends(self) -> bool:
        """Whether it is the last event of a run."""
        return self not in (RunEventType.START, RunEventType.RUNNING)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts that all events of a run have in common. ``engine``: name and version; ``given``: facets from the
    environment; ``before``: the id of the run that this one goes on from."""

    run_id: str
    job_id: str
    job_name: str
    namespace: str
    streaming: bool
    engine: tuple[str, str]
    sql: bool = False
    given: Mapping[str, Facet] = field(default_factory=dict)
    before: str = ""


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run at one event. ``state`` and ``exit_code``: of a run that has ended."""

    driver: int
    tables: tuple[TableReceipt, ...] = ()
    state: str = "RUNNING"
    exit_code: int | None = None
    message: str = ""


def new_run_id(at: float) -> str:
    """A UUID of version 7: ids sort by their times."""
    bits = int(at * 1000) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(UUID(int=bits))


def ending_of(receipt: Receipt) -> tuple[RunEventType, RunState]:
    """The last event of a run with this receipt."""
    code = receipt.exit_code
    if code in (ExitCode.SUCCESS, ExitCode.SOME_TABLES_FAILED):
        kind = RunEventType.COMPLETE
    else:
        kind = RunEventType.ABORT if receipt.stopped_by else RunEventType.FAIL
    causes = [f"{table.table}: {table.cause.message}" for table in _failed(receipt.tables) if table.cause]
    return kind, RunState(receipt.driver, receipt.tables, receipt.state, code, _listed(causes))


def event_of(
    kind: RunEventType, at: float, run: RunFacts, datasets: JobDatasets, now: RunState, *, described: bool
) -> dict[str, Any]:
    """Make an event as JSON-ready data, without columns if not ``described``."""
    counted = counts_of(now.tables, datasets)
    inputs, outputs, left_out = parts_of(datasets, counted, described=described)
    job: dict[str, Facet] = {"jobType": facets.job_type(streaming=run.streaming)}
    if run.sql and described and datasets.queries:
        job["sql"] = facets.sql(datasets.queries)
    about = {**run.given, **left_out.facet(), "seatunnel_run": _own_facet(run, now)}
    about["processing_engine"] = facets.processing_engine(*run.engine)
    if now.message:
        about["errorMessage"] = facets.error_message(now.message)
    event = {
        "eventType": kind.value,
        "eventTime": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"),
        "producer": facets.PRODUCER,
        "schemaURL": facets.EVENT_SCHEMA,
        "run": {"runId": run.run_id, "facets": about},
        "job": {"namespace": run.namespace, "name": run.job_name, "facets": job},
        "inputs": inputs,
        "outputs": outputs,
    }
    shown: dict[str, Any] = redacted_event(event)
    return shown


def _own_facet(run: RunFacts, now: RunState) -> Facet:
    """The run in our own words: which job, and how its tables are."""
    states = Counter(table.state.value for table in now.tables)
    failed = _failed(now.tables)
    about: dict[str, Any] = {"jobId": run.job_id, "driver": now.driver, "state": now.state, "tables": dict(states)}
    if now.exit_code is not None:
        about["exitCode"] = int(now.exit_code)
    if now.tables:
        for name, count in (
            ("rowsRead", "rows_read"),
            ("rowsWritten", "rows_written"),
            ("rowsRejected", "rows_rejected"),
        ):
            about[name] = sum(getattr(table, count) for table in now.tables)
    if failed:
        about["failedTables"] = [table.table for table in failed[:TABLES_SHOWN_MAX]]
        about["moreFailedTables"] = max(0, len(failed) - TABLES_SHOWN_MAX)
    if run.before:
        about["previousRunId"] = run.before
    return facets.own("run", **about)


def _failed(tables: Sequence[TableReceipt]) -> list[TableReceipt]:
    return [table for table in tables if any(state.failed for state in table.states)]


def _listed(causes: Sequence[str]) -> str:
    more = len(causes) - TABLES_SHOWN_MAX
    return "\n".join([*causes[:TABLES_SHOWN_MAX], *([f"and {more} more tables"] if more > 0 else [])])
