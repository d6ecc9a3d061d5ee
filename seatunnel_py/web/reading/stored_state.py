"""Reads the checkpoints that a run keeps, and lets its next driver begin at an older one. Commands of the command line
do both, in a process of its own: a store is as large as it is."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from seatunnel_py.control.store import intents
from seatunnel_py.redaction import redacted_plain, redacted_text
from seatunnel_py.web.acts import digest_of
from seatunnel_py.web.context import ServerContext
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.announced_changes import PLAN_SECONDS, AnnouncedChanges
from seatunnel_py.web.reading.job_child import JobQuestion, asked

REWINDING = Lock()
"""Held from the announcement of a rewind to its end: a second one would be of other checkpoints."""


def kept_checkpoints(context: ServerContext, run: str) -> list[dict[str, Any]]:
    """Each table with the checkpoints that the next driver can begin at, oldest first. Empty: the run has none."""
    place = context.files.place(run)
    if not _elsewhere(context, run) and not (place.checkpoints / "records").is_dir():
        return []
    found = _read(context, run, "state show", run)
    return [{"table": name, "checkpoints": [_short(one) for one in records]} for name, records in sorted(found.items())]


def of_rewind(context: ServerContext, run: str, checkpoint: int, tables: Sequence[str]) -> AnnouncedChanges:
    """The changes of a rewind, as `state rewind` reports them. Raises ApiError."""
    found = _rewind(context, run, checkpoint, tables)
    bad = [one for one in found["tables"] if one["refused"]]
    refused = None
    if bad:
        why = f"{len(bad)} of {len(found['tables'])} tables cannot be rewound"
        refused = {"message": why, "remedy": "choose tables that can be rewound, or start a new run from a savepoint"}
    digest = digest_of(run, "rewind", checkpoint, list(tables), found["tables"])
    return AnnouncedChanges(found["changes"], digest, refused, fatal=bool(bad))


def rewind(context: ServerContext, run: str, checkpoint: int, tables: Sequence[str]) -> dict[str, Any]:
    """Do it, and answer what was done. Raises ApiError if nothing was."""
    found = _rewind(context, run, checkpoint, tables, "--yes")
    if not found["done"]:
        raise ApiError(409, "state", "all tables stand there already, or one of them cannot be rewound")
    return found


def _rewind(context: ServerContext, run: str, checkpoint: int, tables: Sequence[str], *more: str) -> dict[str, Any]:
    words = [f"{run}@{checkpoint}", *(f"--table={one}" for one in tables), *more]
    return _read(context, run, "state rewind", *words)


def _read(context: ServerContext, run: str, command: str, *arguments: str) -> dict[str, Any]:
    code, found = asked(context.home, _question(context, run, command, *arguments))
    if isinstance(found, dict) and found.get("state") == "FAILED":
        raise ApiError(409, "state", redacted_text(found["message"]), redacted_text(found["remedy"]))
    if not isinstance(found, dict):
        raise ApiError(409, "state", f"the checkpoints cannot be read: exit code {code}", "look at their storage")
    answered: dict[str, Any] = redacted_plain(found)
    return answered


def _question(context: ServerContext, run: str, command: str, *arguments: str) -> JobQuestion:
    """A question about the store of a run, which only its job file locates if it is not in the home."""
    if not _elsewhere(context, run):
        return JobQuestion(command, None, {}, PLAN_SECONDS, arguments=arguments)
    with context.database.reading() as connection:
        found = intents.of_run(connection, run)
    if not found:
        why = "the checkpoints of this run are not in the home, and this server has not started it"
        raise ApiError(409, "state", why, f"`seatunnel state show {run} --file JOB_FILE` reads them")
    last = found[0]
    file, directory, names = context.control.files.prepared(last.definition, last.revision)
    words, environment = (*arguments, f"--file={file}"), (*names, "SEATUNNEL_SECRETS_DIR")
    return JobQuestion(command, None, last.options.variables, PLAN_SECONDS, environment, words, directory=directory)


def _elsewhere(context: ServerContext, run: str) -> bool:
    return bool(context.files.documents(run).about.get("checkpoint_location"))


def _short(record: dict[str, Any]) -> dict[str, Any]:
    """A record without its positions, of which there is one for each split."""
    vertices = record.get("vertices", ())
    kept = {key: record.get(key, "") for key in ("checkpoint", "kind", "name", "driver")}
    kept |= {key: sum(one.get(key, 0) for one in vertices) for key in ("rows_read", "splits", "finished")}
    return {**kept, "why": record.get("why", ""), "uncommitted": len(record.get("uncommitted", ()))}
