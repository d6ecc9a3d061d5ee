"""Routes about the bad rows of a run: counts, rows, and their delivery after a fix.

Rows are read by a process of its own, for a file of bad rows is as large as it is. Values are only for tokens with the
right ``data``; others see types and lengths, and messages without values.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.control.driver_files import output_file
from seatunnel_py.control.launching import replay_name
from seatunnel_py.control.store.intents import Intent
from seatunnel_py.nouns import counted
from seatunnel_py.redaction import redacted_plain
from seatunnel_py.web.acts import Body, Dry, act_of, caller, digest_of, require_leader
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import ServerContext, context_of
from seatunnel_py.web.pages import Limit
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.announced_changes import AnnouncedChanges, require_announced
from seatunnel_py.web.reading.job_child import JobQuestion, asked
from seatunnel_py.web.reading.log_window import newest_lines

SECONDS = 20.0
Table = Annotated[str, Query(max_length=1_000, description="this table only")]


class ReplayBody(Body):
    """``digest``: of the announced rows; ``table``: only this one; ``revision``: of the definition, None: newest."""

    digest: str = Field("", max_length=64)
    table: str = Field("", max_length=1_000)
    revision: int | None = Field(None, ge=1)


def listing(request: Request, run: str) -> Response:
    """The bad rows of a run by table and reason, as `quarantine list --reasons --json`; and the process that delivers
    them, with the end of its output."""
    context = context_of(request)
    context.files.place(run)
    tables = _counts(context, run, reasons=True)
    name = replay_name(run)
    alive = context.control.supervisor.launcher.child_of(name) is not None
    lines = newest_lines(output_file(context.home.path, name), alive=alive)
    waiting = sum(one["waiting"] for one in tables)
    delivery = {"alive": alive, "output": lines}
    return answer({"job_id": run, "tables": tables, "waiting": waiting, "delivery": delivery})


def rows(request: Request, run: str, table: Table = "", limit: Limit = 20) -> Response:
    """Bad rows that wait, oldest first, as `quarantine show --json`; masked without the right `data`."""
    context = context_of(request)
    context.files.place(run)
    masked = not caller(request).data
    arguments = [f"--limit={limit}", *([f"--table={table}"] if table else []), *(["--masked"] if masked else [])]
    if table:
        _require_table(_counts(context, run, reasons=False), table)
    found = _asked(context, "quarantine show", (*arguments, "--", run))
    return answer({"job_id": run, "rows": redacted_plain(found), "masked": masked})


def replay(request: Request, run: str, body: ReplayBody, dry: Dry = False) -> Response:
    """Deliver the bad rows of a run through its definition, each once; needs the digest of what was announced."""
    context = context_of(request)
    context.files.place(run)
    tables = _counts(context, run, reasons=False)
    if body.table:
        _require_table(tables, body.table)
    last, revision = context.control.commands.replayable(run, body.revision)
    chosen = [one for one in tables if body.table in ("", one["table"])]
    counts = {one["table"]: one["waiting"] - one["undecoded"] for one in chosen if one["waiting"] > one["undecoded"]}
    sentences = [
        f"through revision {revision}: {counted(number, 'row')} of {table}" for table, number in counts.items()
    ]
    announced = AnnouncedChanges(sentences, digest_of("replay", run, revision, counts))
    found = {"job_id": run, "revision": revision, "rows": sum(counts.values()), "tables": counts}
    if dry:
        return answer({**found, "changes": sentences, "digest": announced.digest})
    require_leader(request, "to deliver bad rows")
    act = act_of(request, "quarantine.replay", run, announced=body.digest)
    require_announced(context, act, announced, body.digest)
    if not counts:
        raise ApiError(409, "state", "no bad rows of this run wait to be delivered", "look at its quarantine")
    _begin(context, last, revision, body, act)
    return answer(found, 202, Location=f"/api/v1/runs/{run}/quarantine")


def _begin(context: ServerContext, last: Intent, revision: int, body: ReplayBody, act: Any) -> None:
    context.control.supervisor.database.confirm()
    context.control.commands.replay(last, revision, body.table, act, context.control.files.replay_of)


def _counts(context: ServerContext, run: str, *, reasons: bool) -> list[dict[str, Any]]:
    words = (f"--job-id={run}", *(["--reasons"] if reasons else []))
    found: list[dict[str, Any]] = redacted_plain(_asked(context, "quarantine list", words))
    return found


def _asked(context: ServerContext, command: str, arguments: tuple[str, ...]) -> Any:
    code, found = asked(context.home, JobQuestion(command, None, {}, SECONDS, arguments=arguments))
    if code != 0 or not isinstance(found, list):
        raise ApiError(409, "quarantine", f"the bad rows cannot be read: exit code {code}", "look at its directory")
    return found


def _require_table(tables: list[dict[str, Any]], table: str) -> None:
    names = [str(one["table"]) for one in tables]
    if table not in names:
        meant = did_you_mean(table, names)
        raise ApiError(404, "unknown-table", "no bad rows of that table", f"{meant}the quarantine lists its tables")
