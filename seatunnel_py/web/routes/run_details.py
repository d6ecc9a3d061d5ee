"""Routes about the parts of a run: a table, its plan, its checkpoints, failures and savepoints."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py.jobs.driver_question import explained
from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.jobs.savepoint_rows import savepoint_rows
from seatunnel_py.run_plan import stored_plan
from seatunnel_py.runtime.observe import checkpoint_history, failure_timeline
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointHistory
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import LIMIT_MAX, After, Limit, Text, keyed, page
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading import stored_state

OF_A_TABLE = 20
Table = Annotated[str, Query(max_length=1_000, description="this table only")]


def table(request: Request, run: str, key: str) -> Response:
    """One table of a run, with its newest failures and checkpoints."""
    files = context_of(request).files
    found = keyed(files.documents(run).told["tables"]).get(key)
    if found is None:
        raise ApiError(404, "unknown-table", "the run has no such table", f"GET /api/v1/runs/{run}/tables lists them")
    name = found["table"]
    failures = [one for one in failure_timeline.plain(files.failures(run))["failures"] if one["table"] == name]
    attempts = [one for one in checkpoint_history.plain(files.checkpoints(run))["attempts"] if one["table"] == name]
    return answer({**found, "failures": failures[-OF_A_TABLE:], "checkpoints": attempts[-OF_A_TABLE:]})


def plan(request: Request, run: str) -> Response:
    """The plan of the last driver of a run, as `jobs show --plan --json`."""
    found = stored_plan(context_of(request).files.place(run))
    if found is None:
        raise ApiError(404, "no-plan", "no plan of this run is stored", "it has not begun, or an older release ran it")
    return answer(found)


def explain(request: Request, run: str, table: Table = "") -> Response:
    """Which part of a running job waits for which, as `jobs explain --json`; a table that is not there has ended."""
    place = context_of(request).files.place(run)
    standing, silence = explained(KnownJob(place))
    if standing is None:
        raise ApiError(409, "silent", f"the run cannot explain itself: {silence}")
    chosen = [one for one in standing if table in ("", one["table"])]
    return answer({"job_id": run, "at": time.time(), "tables": chosen})


def checkpoints(request: Request, run: str, limit: Limit = 50) -> Response:
    """The newest checkpoints of a run, oldest first; all are counted."""
    found = context_of(request).files.checkpoints(run)
    return answer(checkpoint_history.plain(CheckpointHistory(found.attempts[-limit:], found.completed, found.failed)))


def state(request: Request, run: str, q: Text = "", after: After = "", limit: Limit = 50) -> Response:
    """The tables of a run with the checkpoints that are kept, which `state show --json` has with all positions."""
    found = stored_state.kept_checkpoints(context_of(request), run)
    chosen = [one for one in found if q.lower() in one["table"].lower()]
    shown, next = page(chosen, lambda one: [one["table"]], after, limit)
    return answer({"job_id": run, "tables": shown, "next": next, "total": len(chosen)})


def failures(request: Request, run: str, limit: Limit = 50) -> Response:
    """The newest failures of a run, oldest first, each with its consequence; all are counted."""
    found = failure_timeline.plain(context_of(request).files.failures(run))
    by_table = found["by_table"]
    some = dict(sorted(by_table.items(), key=lambda pair: -sum(pair[1].values()))[:LIMIT_MAX])
    return answer({**found, "failures": found["failures"][-limit:], "by_table": some, "tables": len(by_table)})


def savepoints(request: Request, run: str, after: After = "", limit: Limit = 50) -> Response:
    """The savepoints of a run on this machine, oldest first."""
    context_of(request).files.row(run)
    return _savepoints(request, [one for one in _all(request) if one["job_id"] == run], after, limit)


def all_savepoints(request: Request, after: After = "", limit: Limit = 50) -> Response:
    """All savepoints of this machine, as `state savepoints --json`."""
    return _savepoints(request, _all(request), after, limit)


def _all(request: Request) -> list[dict[str, Any]]:
    return savepoint_rows(SavepointLocations(context_of(request).home.savepoints))


def _savepoints(request: Request, rows: list[dict[str, Any]], after: str, limit: int) -> Response:
    def key(row: dict[str, Any]) -> list[Any]:
        return [row["taken"], row["name"]]

    shown, next = page(sorted(rows, key=key), key, after, limit)
    return answer({"savepoints": shown, "next": next, "total": len(rows)})
