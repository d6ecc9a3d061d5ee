"""Routes of SeaTunnel's API about the server: overview, queue, machine, plugins and logs."""

from __future__ import annotations

import html
import os
import shutil
import threading
import time
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py import __version__
from seatunnel_py.control.driver_files import output_file
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.plugin_rows import plugins_named
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.observe.driver_process import kernel_sizes
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import LIMIT_MAX, chosen_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.log_window import WINDOW_BYTES, shown_lines, window
from seatunnel_py.web.rest_v2.documents.option_rules import option_rule_document
from seatunnel_py.web.rest_v2.documents.server_documents import (
    ClusterFacts,
    MachineFacts,
    WaitingJob,
    machine_document,
    overview_document,
    pending_document,
)
from seatunnel_py.web.rest_v2.job_reader import JobReader
from seatunnel_py.web.rest_v2.job_routes import ARRAY_MAX, reader_of

KINDS = ("source", "transform", "sink")
LOG_NAME, LOG_SUFFIX = "job-", ".log"
Format = Annotated[str, Query(description="json, or html")]


def overview(request: Request) -> Response:
    """The state of the server, as a cluster of one node. Tags choose nothing."""
    reader = reader_of(request)
    heads = reader.heads()
    return answer(overview_document(_server(request, reader), [head.status for head in heads]))


def pending_jobs(
    request: Request,
    job: Annotated[str, Query(alias="jobId", description="only this job")] = "",
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="at most these")] = LIMIT_MAX,
    pretty: Annotated[bool, Query(description="times as texts")] = False,
) -> Response:
    """The queue: the starts that wait, in their order, each with what it waits for."""
    reader = reader_of(request)
    waiting = list(context_of(request).control.supervisor.waiting)
    total = len(waiting)
    if job:
        run = reader.head(job).run
        waiting = [one for one in waiting if one.entry.intent.run == run]
    jobs = [_waiting(reader, one) for one in waiting[:limit]]
    return answer(pending_document(jobs, total, _server(request, reader), time.time(), pretty=pretty))


def _waiting(reader: JobReader, start: Any) -> WaitingJob:
    facts = reader.facts(reader.head(start.entry.intent.run))
    return WaitingJob(facts.number, facts.name or (facts.row.job_name if facts.row else facts.run), start)


def _server(request: Request, reader: JobReader) -> ClusterFacts:
    context = context_of(request)
    running = sorted(reader.numbers.of(row.run) for row in context.index.rows() if row.alive)[:ARRAY_MAX]
    address = f"{context.settings.host}:{context.settings.port}"
    return ClusterFacts(__version__, address, reader.slots, running)


def system_monitoring(request: Request) -> Response:
    """The machine of the server: processors, memory, load, and the disk of its home."""
    context = context_of(request)
    memory = kernel_sizes("/proc/meminfo")
    disk = shutil.disk_usage(context.home.path)
    facts = MachineFacts(
        host=context.settings.host,
        port=context.settings.port,
        processors=os.cpu_count() or 1,
        load=os.getloadavg()[0],
        memory=memory["MemTotal"],
        memory_free=memory["MemAvailable"],
        swap=memory["SwapTotal"],
        swap_free=memory["SwapFree"],
        disk=disk.total,
        disk_free=disk.free,
        resident=kernel_sizes("/proc/self/status")["VmRSS"],
        threads=threading.active_count(),
    )
    return answer([machine_document(facts)])


def option_rules(
    request: Request,
    type: Annotated[str, Query(description="source, transform or sink")] = "",
    plugin: Annotated[str, Query(description="name of the plugin", max_length=200)] = "",
) -> Response:
    """The options of a plugin."""
    if not plugin or not type:
        raise ApiError(400, "request", "type and plugin are needed", "?type=source&plugin=FakeSource")
    kind = chosen_of(type.lower(), KINDS, "type")
    known = {entry.name.lower(): entry.name for entry in installed().entries() if entry.kind.value == kind}
    name = chosen_of(known.get(plugin.lower(), plugin), sorted(known.values()), f"plugin of the type {kind}")
    (found,) = (one for one in plugins_named(name) if one["kind"] == kind)
    return answer(option_rule_document(kind, name, found["options"]))


def logs(request: Request, format: Format = "html") -> Response:
    """The logs of all jobs, at most 1,000 of them, newest first."""
    reader = reader_of(request)
    rows = sorted(context_of(request).index.rows(), key=lambda row: (-row.started, row.run))
    return _log_list(request, [reader.numbers.of(row.run) for row in rows if not row.fault][:ARRAY_MAX], format)


def log(request: Request, job: str, format: Format = "html") -> Response:
    """The log of a job: its address, or with ``job-NUMBER.log`` its end. Never another file."""
    reader = reader_of(request)
    if job.startswith(LOG_NAME) and job.endswith(LOG_SUFFIX):
        return _log_text(request, job.removeprefix(LOG_NAME).removesuffix(LOG_SUFFIX))
    return _log_list(request, [reader.numbers.of(reader.head(job).run)], format)


def log_text(request: Request, job: str) -> Response:
    """The end of the log of a job, ``job-NUMBER.log``, or of the output of its drivers where there is none."""
    return _log_text(request, job.removeprefix(LOG_NAME).removesuffix(LOG_SUFFIX))


def _log_text(request: Request, job: str) -> Response:
    run = reader_of(request).head(job).run
    context = context_of(request)
    place = context.files.place(run)
    file = place.log if place.log.exists() else output_file(context.home.path, run)
    found = window(file, f"-{WINDOW_BYTES}", WINDOW_BYTES, alive=place.running)
    lines = [] if found is None else [redacted_text(line) for line in shown_lines(found.data)]
    return Response("".join(f"{line}\n" for line in lines), media_type="text/plain; charset=utf-8")


def _log_list(request: Request, numbers: list[int], format: str) -> Response:
    chosen = chosen_of(format.lower(), ("json", "html"), "format")
    base = str(request.base_url).rstrip("/")
    names = [f"{LOG_NAME}{number}{LOG_SUFFIX}" for number in numbers]
    node = request.headers.get("host", "")
    if chosen == "json":
        return answer([{"node": node, "logLink": f"{base}/logs/{name}", "logName": name} for name in names])
    links = "".join(f'<li><a href="/logs/{html.escape(name)}">{html.escape(name)}</a></li>' for name in names)
    return Response(f"<!doctype html><title>Logs</title><ul>{links}</ul>", media_type="text/html; charset=utf-8")
