"""Routes of SeaTunnel's API that read jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from seatunnel_py.redaction import redacted_plain
from seatunnel_py.runtime.observe import failure_timeline
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import caller_of, context_of
from seatunnel_py.web.pages import LIMIT_MAX, chosen_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.rest_v2.documents.checkpoint_documents import STATUSES, history_documents, overview_document
from seatunnel_py.web.rest_v2.documents.job_documents import failure_documents, job_document, status_document
from seatunnel_py.web.rest_v2.documents.job_status import ENDED
from seatunnel_py.web.rest_v2.documents.server_documents import paged
from seatunnel_py.web.rest_v2.job_numbers import NUMBER_MAX
from seatunnel_py.web.rest_v2.job_reader import JobHead, JobReader, has_ended, is_waiting

ROWS, ROWS_MAX, ARRAY_MAX = 10, 200, 1_000
Page = Annotated[int | None, Query(le=NUMBER_MAX, description="number of the page, from 1; without it: an array")]
Rows = Annotated[int, Query(ge=1, le=ROWS_MAX, description="jobs of a page")]


def reader_of(request: Request) -> JobReader:
    """The reader of a server with SeaTunnel's API."""
    found = context_of(request).jobs
    assert found is not None
    return found


def running_jobs(request: Request, page: Page = None, rows: Rows = ROWS) -> Response:
    """The jobs that run, newest first."""
    heads = [one for one in reader_of(request).heads() if not has_ended(one) and not is_waiting(one)]
    return _listed(request, heads, lambda head: (head.row.started if head.row else 0.0, head.run), page, rows)


def finished_jobs(request: Request, state: str = "", page: Page = None, rows: Rows = ROWS) -> Response:
    """The jobs that have ended, in this state or in any, the newest end first."""
    wanted = chosen_of(state.upper(), ENDED, "state") if state else ""
    heads = [one for one in reader_of(request).heads() if has_ended(one) and wanted in ("", one.status)]
    return _listed(request, heads, lambda head: (head.ended, head.run), page, rows)


def finished_jobs_in(request: Request, state: str, page: Page = None, rows: Rows = ROWS) -> Response:
    """The jobs that have ended in this state."""
    return finished_jobs(request, state, page, rows)


def _listed(
    request: Request, heads: list[JobHead], key: Callable[[JobHead], Any], page: int | None, rows: int
) -> Response:
    reader = reader_of(request)
    heads.sort(key=key, reverse=True)

    def documents(chosen: Sequence[JobHead]) -> list[Any]:
        return [redacted_plain(job_document(facts)) for facts in reader.facts_of(chosen)]

    if page is None:
        found = answer(documents(heads[:ARRAY_MAX]))
        if len(heads) > ARRAY_MAX:
            found.headers["Link"] = f'<{request.url.path}?page=1&rows={ROWS_MAX}>; rel="first"'
        return found
    begin = (page - 1) * rows
    if page < 1 or (begin >= len(heads) and page > 1):
        raise ApiError(
            400, "request", f"there is no page {page}", f"pages are from 1 to {max(1, -(-len(heads) // rows))}"
        )
    return answer(paged(documents(heads[begin : begin + rows]), len(heads)))


def job_info(request: Request, job: str) -> Response:
    """A job, by its number or by the id of its run."""
    reader = reader_of(request)
    try:
        head = reader.head(job)
    except ApiError as error:
        if error.status != 404 or context_of(request).settings.seatunnel.strict:
            raise
        return answer({"jobId": job[:100]})
    shape = status_document if caller_of(request) is None else job_document
    return answer(redacted_plain(shape(reader.facts(head))))


def failures(
    request: Request, job: str, limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="at most these")] = 50
) -> Response:
    """The newest failures of a job, newest first."""
    run = reader_of(request).head(job).run
    found = failure_timeline.plain(context_of(request).files.failures(run))
    host = context_of(request).files.row(run).host
    return answer(redacted_plain(failure_documents(found["failures"][-limit:], host, found["total"])))


def checkpoints(request: Request, job: str) -> Response:
    """The checkpoints of a job, by pipeline."""
    reader = reader_of(request)
    run = reader.head(job).run
    return answer(overview_document(reader.numbers.of(run), context_of(request).files.checkpoints(run), time.time()))


def checkpoint_history(
    request: Request,
    job: str,
    pipeline: Annotated[int | None, Query(alias="pipelineId", description="only of this pipeline")] = None,
    limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description="at most these")] = 20,
    status: Annotated[str, Query(description="only in this state")] = "",
) -> Response:
    """The newest checkpoints of a job, newest first."""
    chosen = chosen_of(status.upper(), STATUSES, "status of a checkpoint") if status else ""
    found = context_of(request).files.checkpoints(reader_of(request).head(job).run)
    return answer(history_documents(found, pipeline=pipeline, limit=limit, status=chosen))
