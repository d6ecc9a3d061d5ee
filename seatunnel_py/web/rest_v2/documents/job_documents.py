"""The document of a job in SeaTunnel's form. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.intents import Intent, IntentState
from seatunnel_py.web.rest_v2.documents.job_graph import env_options, job_dag
from seatunnel_py.web.rest_v2.documents.job_metrics import NO_RATES, JobRates, metrics
from seatunnel_py.web.rest_v2.documents.job_status import ENDED
from seatunnel_py.web.rest_v2.documents.values import times

NAMED_MAX = 20
TEXT_MAX = 2_000
_BAD = ("FAILED", "ISOLATED", "RETRYING")


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The facts of a run. ``status``: SeaTunnel's; ``told``: its receipt, or the counters of its driver; ``plan``:
    as stored, None: none is; ``intents``: its starts, newest first."""

    run: str
    number: int
    status: str
    row: RunRow | None
    intents: Sequence[Intent] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    told: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = None
    rates: JobRates = NO_RATES
    name: str = ""


def job_document(facts: JobFacts) -> dict[str, Any]:
    """The document of ``/job-info``, which lists have as well."""
    row = facts.row
    started = row.started if row is not None else None
    created = facts.intents[-1].at if facts.intents else started
    ended = _ended(facts) if facts.status in ENDED else None
    return {
        **status_document(facts),
        "errorMsg": error_text(facts) or None,
        "envOptions": env_options(facts.plan, {"job_name": name_of(facts)}),
        **times(createTime=created, startTime=started, finishTime=ended, finishedTime=ended),
        "jobDag": job_dag(facts.number, facts.plan, {"job_name": name_of(facts)}),
        "pluginJarsUrls": [],
        "isStartWithSavePoint": any(one.options.restore or one.kind.value == "restore" for one in facts.intents),
        "metrics": metrics(facts.told, facts.rates),
        "runId": facts.run,
    }


def _ended(facts: JobFacts) -> float | None:
    if facts.row is not None:
        return facts.row.started + (facts.row.seconds or 0.0) if facts.row.started else None
    return facts.intents[0].ended_at if facts.intents else None


def status_document(facts: JobFacts) -> dict[str, str]:
    """The part of a job that a caller without a token may read, where the server lets it."""
    return {"jobId": str(facts.number), "jobName": name_of(facts), "jobStatus": facts.status}


def name_of(facts: JobFacts) -> str:
    """The name of a job."""
    return (facts.row.job_name if facts.row is not None else "") or facts.name or facts.run


def error_text(facts: JobFacts) -> str:
    """Why a job failed, or which tables have failed: their number first. Empty: nothing has."""
    row = facts.row
    tables = (facts.told or {}).get("tables") or []
    bad = [table for table in tables if table["state"] in _BAD]
    if bad:
        named = "; ".join(f"{table['table']}: {_cause(table)}" for table in bad[:NAMED_MAX])
        more = f"; and {len(bad) - NAMED_MAX} more" if len(bad) > NAMED_MAX else ""
        return f"{len(bad)} of {len(tables)} tables: {named}{more}"[:TEXT_MAX]
    if row is None:
        return _of_start(facts)
    if row.fault or row.failed:
        return (row.fault or row.failed)[:TEXT_MAX]
    if row.cause:
        return row.cause[:TEXT_MAX]
    if not row.alive and row.exit_code is None and facts.status == "FAILED":
        return "the driver ended without a receipt: it was killed, or the machine stopped; restore the run"
    return ""


def _cause(table: Mapping[str, Any]) -> str:
    cause = table.get("cause")
    return f"{cause['error_type']}: {cause['message']}" if cause else str(table["state"]).lower()


def _of_start(facts: JobFacts) -> str:
    if facts.status not in ENDED or not facts.intents:
        return ""
    newest = facts.intents[0]
    if newest.state is IntentState.DROPPED:
        return "its start was taken out of the queue"
    how = "" if newest.exit_code is None else f" with exit code {newest.exit_code}"
    return f"no driver has begun the run: its start is {newest.state.value}{how}; the log of its output has the cause"


def _type_of(failure: Mapping[str, Any]) -> str:
    """The class of an error at the beginning of its text; else what has failed."""
    first = failure["cause"].partition(":")[0]
    return first if first.replace(".", "_").isidentifier() else str(failure["what"])


def failure_documents(failures: Sequence[Mapping[str, Any]], host: str, total: int) -> list[dict[str, Any]]:
    """Failures of a run, newest first. ``total``: of all, so that each keeps its number."""
    first = total - len(failures) + 1
    return [
        {
            "sequence": number,
            "timestamp": one["at"],
            "pipelineId": None,
            "attempt": one["attempt"],
            "taskName": one["vertex"] or one["what"],
            "table": one["table"],
            "worker": host,
            "exceptionType": _type_of(one),
            "message": one["cause"] or one["what"],
            "remedy": one["remedy"],
            "consequence": one["follows"],
            "stackTrace": "",
        }
        for number, one in reversed(list(enumerate(failures, first)))
    ]
