"""Routes about runs: their list, the head of one, and its tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py.control.run_index import SORTS, STALLED, UNKNOWN, RunFilter, counts_by_state
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.jobs.job_rows import states_of
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import After, Limit, Skip, Text, chosen_of, keyed, page

RunId = str
States = Annotated[list[str], Query(max_length=20, description="only in these states")]


def listing(
    request: Request,
    state: States = [],  # noqa: B006 - FastAPI copies it
    q: Text = "",
    since: Annotated[float | None, Query(description="started at or after this time, in seconds since 1970")] = None,
    sort: str = "started",
    after: After = "",
    limit: Limit = 50,
) -> Response:
    """The list of runs, as `jobs list --json` shows them, with the number of runs in each state."""
    own = {STALLED, UNKNOWN} & {one.upper() for one in state}
    chosen = RunFilter(states_of([one for one in state if one.upper() not in own]) | own, q, since)
    index = context_of(request).index
    found = index.page(chosen, sort=chosen_of(sort, SORTS, "order"), after=after, limit=limit)
    rows = [row_plain(row) for row in found.rows]
    next = found.rows[-1].run if found.more else None
    return answer({"runs": rows, "next": next, "total": found.total, "states": counts_by_state(index.rows())})


def row_plain(row: RunRow) -> dict[str, Any]:
    """A row of the list: the keys of `jobs list --json`, and more."""
    seconds = max(0.0, time.time() - row.started) if row.alive and row.seconds is None else row.seconds
    return {
        "job_id": row.run,
        "job_name": row.job_name,
        "job_file": row.job_file,
        "started": row.started,
        "state": row.state,
        "seconds": seconds,
        "rows_read": row.rows_read,
        "rows_read_this_run": row.rows_read_this_run,
        "tables": row.tables,
        "exit_code": row.exit_code,
        "fault": row.fault,
        "last_seen": row.seen or None,
    }


def show(request: Request, run: RunId) -> Response:
    """The head of a run: as `jobs show --json`, but tables, failures and checkpoints have routes of their own."""
    context = context_of(request)
    row = context.files.row(run)
    if row.fault or row.state == UNKNOWN:
        return answer({**row_plain(row), "job": None, "receipt": None, "counters": None})
    found = context.files.documents(run)
    about = {key: value for key, value in found.about.items() if key not in ("config", "seal")}
    return answer(
        {
            **row_plain(row),
            "job": about,
            "receipt": _head(found.receipt),
            "counters": _head(found.counters),
            "tables": dict(Counter(str(table["state"]) for table in found.told["tables"])),
        }
    )


def _head(told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A receipt or counters without the parts that grow with the number of tables."""
    grows = ("tables", "marks", "labelled", "repeated", "seal")
    return None if told is None else {key: value for key, value in told.items() if key not in grows}


_STATES = tuple(state.value for state in TableState)
_LOOKED_AT = ("FAILED", "ISOLATED", "RETRYING", "STOPPED", "RUNNING", "COMMITTING", "PENDING", "DONE")
"""States of tables, those that need a look first."""
_RANKS = {state: number for number, state in enumerate(_LOOKED_AT)}
_TABLE_SORTS: Mapping[str, Callable[[Mapping[str, Any]], list[Any]]] = {
    "name": lambda table: [table["key"]],
    "state": lambda table: [_RANKS.get(table["state"], -1), table["key"]],
    "rows": lambda table: [-table["rows_read"], table["key"]],
    "seconds": lambda table: [-table["seconds"], table["key"]],
    "attempts": lambda table: [-table["attempts"], table["key"]],
}


def tables(
    request: Request,
    run: RunId,
    state: States = [],  # noqa: B006 - FastAPI copies it
    q: Text = "",
    sort: str = "name",
    after: After = "",
    skip: Skip = 0,
    limit: Limit = 50,
) -> Response:
    """The tables of a run, as in the receipt of `jobs show --json`, each with the key of its own route."""
    found = keyed(context_of(request).files.documents(run).told["tables"])
    wanted, text = {one.upper() for one in state}, q.lower()
    for one in wanted:
        chosen_of(one, _STATES, "state of a table")
    key = _TABLE_SORTS[chosen_of(sort, tuple(_TABLE_SORTS), "order")]
    rows = [
        table
        for table in found.values()
        if (not wanted or table["state"] in wanted) and (not text or text in table["table"].lower())
    ]
    rows.sort(key=key)
    shown, next = page(rows[skip:], key, after, limit)
    states = dict(Counter(str(table["state"]) for table in found.values()))
    return answer({"tables": shown, "next": next, "total": len(rows), "states": states})
