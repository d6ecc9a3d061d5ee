"""The changes that an act on a run would make, announced before it: sentences, and a digest of them.

Rules. (1) An act with the digest of an announcement does what was announced, or is refused: the changes are looked up
again. (2) A sentence names nothing that moves by itself, such as the number of a checkpoint. (3) The changes of a
restore are those that `seatunnel plan --restore latest` reports; it runs in a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import StoreUnwritableError
from seatunnel_py.control.store.intents import Intent, StartOptions
from seatunnel_py.errors import ExitCode
from seatunnel_py.redaction import redacted_plain
from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.web.acts import digest_of
from seatunnel_py.web.context import ServerContext
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.job_child import JobQuestion, asked

PLAN_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class AnnouncedChanges:
    """``changes``: sentences, or changes as `plan --json` has them; ``refused``: why a run would refuse them, and the
    remedy; ``fatal``: no acceptance helps."""

    changes: Sequence[Any]
    digest: str
    refused: dict[str, str] | None = None
    fatal: bool = False


def require_announced(context: ServerContext, act: Act, announced: AnnouncedChanges, digest: str) -> None:
    """Raise ApiError unless this is the digest of these changes, and a run takes them; that leaves an audit row."""
    try:
        _require(announced, digest)
    except ApiError as error:
        with suppress(StoreUnwritableError):  # the first error is the one to report
            context.database.refused(replace(act, result=f"refused: {error.message}"))
        raise


def _require(announced: AnnouncedChanges, digest: str) -> None:
    more = {"changes": announced.changes}
    if not digest:
        remedy = "ask with dry=true, look at the changes, and send their `digest`"
        raise ApiError(409, "announce", "these changes were not announced", remedy, more=more)
    if digest != announced.digest:
        remedy = "look at the changes of now, and send their `digest`"
        raise ApiError(409, "announce", "other changes were announced", remedy, more=more)
    if announced.fatal and announced.refused:
        raise ApiError(409, "refused", announced.refused["message"], announced.refused["remedy"], more=more)


def of_request(
    context: ServerContext, run: str, kind: RequestKind, name: str, tables: tuple[str, ...]
) -> AnnouncedChanges:
    """The changes of a request to a running driver. Raises ApiError for an unknown run, or one without a driver."""
    row = context.files.row(run)
    if not row.alive:
        raise ApiError(409, "state", f"no driver of the run {run!r} is alive: it is {row.state}", "it may be restored")
    changes = list(_SENTENCES[kind, bool(tables)])
    if name:
        changes.insert(0, f"the savepoint is called {name}")
    changes += [f"table {table}: its rows after the newest checkpoint do not become visible" for table in tables]
    return AnnouncedChanges(changes, digest_of(run, row.driver, kind.value, changes))


_NOT_WISHED = "the run is not restored any more by the policy of its definition, until a person restores it"
_SENTENCES = {
    (RequestKind.SAVEPOINT, False): ("a savepoint of all tables is taken", "the driver goes on"),
    (RequestKind.STOP, False): ("a savepoint of all tables is taken", "the driver ends after it", _NOT_WISHED),
    (RequestKind.CANCEL, False): (
        "the driver ends at once",
        "rows after the newest checkpoint of each table do not become visible",
        _NOT_WISHED,
    ),
    (RequestKind.CANCEL, True): ("these tables end at once", "the other tables go on"),
}


def of_restore(context: ServerContext, last: Intent, revision: int) -> AnnouncedChanges:
    """The changes of a restore of a run with a revision of its definition. Raises ApiError where its plan fails, and
    SeaTunnelError for an unknown revision."""
    if context.index.look(last.run) is None:  # no driver has made its directory: there is nothing to compare with
        return AnnouncedChanges((), digest_of(last.run, revision, []))
    arguments = ("--job-id", last.run, "--restore", "latest")
    return _planned(context, (last.run, last.definition, revision), last.options, arguments)


def of_start(context: ServerContext, definition: str, revision: int, options: StartOptions) -> AnnouncedChanges:
    """The changes of a new run since the savepoint that it begins from; none, if it begins from nothing. Raises as
    ``of_restore``."""
    if not options.restore:
        return AnnouncedChanges((), digest_of("", definition, revision, []))
    return _planned(context, (options.restore, definition, revision), options, ("--restore", options.restore))


def _planned(
    context: ServerContext, of: tuple[str, str, int], options: StartOptions, arguments: tuple[str, ...]
) -> AnnouncedChanges:
    _, definition, revision = of
    file, directory, names = context.control.files.prepared(definition, revision)
    environment = (*names, "SEATUNNEL_SECRETS_DIR")
    question = JobQuestion("plan", None, options.variables, PLAN_SECONDS, environment, arguments, file, directory)
    code, found = asked(context.home, question)
    found = redacted_plain(found)
    if not isinstance(found, dict) or "changes" not in found or code == ExitCode.JOB_FILE_WRONG:
        named = found.get("message") if isinstance(found, dict) else None
        why = f"the revision {revision} cannot be planned: {named or f'exit code {code}'}"
        raise ApiError(422, "plan", why, "POST /api/v1/check shows its mistakes", more={"plan": found})
    changes = found["changes"]
    fatal = any(one["needs"] == "--fresh" for one in changes)
    return AnnouncedChanges(changes, digest_of(*of, changes), found.get("refused"), fatal)
