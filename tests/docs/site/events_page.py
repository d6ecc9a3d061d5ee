"""The lines of the job log: every event is written once by the log itself, and read again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from seatunnel_py.plan.tables.table_refresh import RefreshOutcome, RefreshWish
from seatunnel_py.runtime.diagnosis.job_log import JobLog
from seatunnel_py.runtime.observe.events import CheckpointFacts, FailurePlace, JobEnded, JobEvent
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableState
from seatunnel_py.work.unit import FailureKind, UnitFailure
from tests.docs.site.markdown import code, plain, table

HEAD = """# Events of a job

`SEATUNNEL_HOME/jobs/ID/events.jsonl` holds one JSON object per line: everything that happens to the job, in order.
Tools may read it while the job runs. Every line has `time` (UTC), `level`, `event`, `job` and `driver` (the number of the
driver that wrote it). `log.level` in `env` leaves out lines of lower levels. Names of events and keys keep their spelling.
New ones may be added, so readers ignore what they do not know. Secrets are masked.

`cause` is an object: `kind` (KINDS), `message`, `remedy`, `step`, `error_type`, `trace`.

"""
COMMON = ("time", "level", "event", "job", "driver")


MEANINGS = {
    "changes_announced": "The job is about to go on; `changes` says what is different from the run before. Nothing has"
    " been done yet.",
    "checkpoint_committed": "The rows of a pipeline up to this `checkpoint` are visible in all its targets.",
    "checkpoint_completed": "A checkpoint of a pipeline is complete and durable; `checkpoint` is its number.",
    "checkpoint_ended": "A checkpoint has failed for this `reason`; `missing` names the subtasks that had not answered,"
    " `good` the newest complete checkpoint. Number 0: a request for a checkpoint was refused.",
    "driver_asked": "Another driver has this job. It is asked whether it works; `message` says what it answers.",
    "job_ended": "The job has ended with this `state` and `exit_code`. INFO for exit code 0, else ERROR.",
    "job_started": "The job is planned, and work begins; `rows` is the sources' estimate, or null.",
    "nothing_moved": "No row has moved for so many `seconds`, although something waits; `waits` says what waits for what,"
    " causes first.",
    "region_restarted": "Vertices have restarted together from `checkpoint`; `epochs` counts their restarts, `causes` says"
    " why some of them failed, `twice` names sinks that may show rows a second time, `lost` names sources that cannot read"
    " again what they gave.",
    "request_answered": "A request to the running job is answered: `wish` is its kind, `message` the answer. INFO where it"
    " is `done` as it was asked for, else WARNING.",
    "rows_moved": "A unit has ended well; `rows` were read from a source (0 for a unit that reads a channel).",
    "schema_changed": "The log of a pipeline is read under other schemas from here on, and its targets were altered;"
    " `changes` holds a sentence for each table.",
    "sink_left_out": "A sink has failed for good, and the others go on without it; `targets` are what it writes into,"
    " `checkpoint` is the newest complete checkpoint, or null.",
    "log_at_risk": "A log that is followed may soon be lost, or is longer than the job file allows; `bytes`: how far its "
    "end is ahead of the last checkpoint. An empty `warning`: it is over.",
    "log_released": "The log is not kept any more for a `table` that waits at a `change` of its schema, so it must be "
    "copied again: `bytes` of log since then are more than `allowed`. Written once by each driver.",
    "state_large": "Each checkpoint holds so many `bytes` of `what`; `allowed` is the limit. Written once.",
    "store_away": "The checkpoint store does not answer, and is asked again; until then no checkpoint completes.",
    "store_back": "The checkpoint store has answered after so many `seconds`.",
    "table_changed": "A pipeline has another `state`. WARNING for RETRYING and STOPPED, ERROR for FAILED and ISOLATED, with"
    " the `cause` and the newest complete `checkpoint`; `tables`: all tables that share the state, where they are several.",
    "table_refreshed": "Rows of a followed table were read again: `written` and `removed` count them. WARNING where it is"
    " not `done`, for the reason `message`.",
    "target_swept": "The job begins with `--fresh`; `swept` says what earlier runs had left in the target and is removed,"
    " and what stays.",
    "unit_given_up": "A unit is not tried again before its `vertex` restarts, or its pipeline ends.",
    "unit_retried": "A unit is tried again after `delay_seconds`; `unit` is `prepare` or `commit` where that failed, and"
    " `begin anew` where everything is read again.",
}
"""By name of the event. A test compares the names and the keys with what the log writes."""


def page() -> str:
    found = lines()
    rows = [
        [code(name), ", ".join(sorted(found[name][1])), plain(text), ", ".join(map(code, found[name][2]))]
        for name, text in MEANINGS.items()
    ]
    beside = (
        "\nTwo more lines come from the log itself: `driver_failed` (ERROR; `message`, `trace`: the driver ended with an"
        " error before it could write a receipt) and `listener_failed` (a hook of another package raised an error).\n"
    )
    kinds = ", ".join(code(kind.value) for kind in FailureKind)
    return HEAD.replace("KINDS", kinds) + table(("event", "level", "meaning", "keys"), rows) + beside


def lines() -> dict[str, tuple[type[Any], set[str], list[str]]]:
    """By name of the event: its class, its levels, its keys, as the log writes them."""
    found: dict[str, tuple[type[Any], set[str], list[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.jsonl")
        for event in _samples():
            with JobLog(path, "job", "DEBUG") as log:
                log(event)
            line = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
            _, levels, keys = found.setdefault(line["event"], (type(event), set(), []))
            levels.add(line["level"])
            keys += [key for key in line if key not in (*COMMON, *keys)]
    return found


def _samples() -> Iterator[JobEvent]:
    """Every event with values, with empty values, and in each state of a table."""
    for kind in get_args(JobEvent):
        if kind is JobEnded:
            for stopped in (0, 130):
                yield JobEnded(Receipt("job", "job", (), Seconds(0, 0, 0), stopped_by=stopped), 1.0)
            continue
        for full in (True, False):
            for state in TableState if "state" in get_type_hints(kind) else (None,):
                yield kind(**dict(_values(kind, full, state)))


def _values(kind: type[Any], full: bool, state: TableState | None) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(kind)
    for one in fields(kind):
        if one.name == "state":
            yield one.name, state
        elif full or (one.default is MISSING and one.default_factory is MISSING):
            yield one.name, _value(hints[one.name], full)


def _value(hint: Any, full: bool) -> Any:
    if type(None) in get_args(hint):
        hint = get_args(hint)[0]
    kind = get_origin(hint) or hint
    if kind is UnitFailure:
        return UnitFailure(next(iter(FailureKind)), "text")
    if kind is CheckpointFacts:
        return CheckpointFacts("periodic", "", 0.5)
    if kind is FailurePlace:
        return FailurePlace("vertex", 1, "split", {"row": 1}, 1)
    if kind is RefreshOutcome:
        return RefreshOutcome(RefreshWish("request", "table"), full, "text")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if kind is tuple:
        return ("a", "b") if full else ()
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return {}
    texts: dict[Any, Any] = {str: "text" if full else "", int: 1, float: 1.0, bool: full}
    return texts[kind]
