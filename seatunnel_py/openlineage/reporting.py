"""Decides whether a run reports its lineage, and brackets the run with it. A job without lineage pays for no more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.openlineage.settings import LineageSettings, settings_of

if TYPE_CHECKING:
    from seatunnel_py.openlineage.run_reporter import RunReporter
    from seatunnel_py.plan.graph_nodes import FlowGraph
    from seatunnel_py.plan.pipelines import Pipeline
    from seatunnel_py.plan.steps import Job
    from seatunnel_py.runtime.storage.job_directory import JobDirectory


@contextmanager
def reported(
    job: Job,
    graph: FlowGraph,
    pipelines: tuple[Pipeline, ...],
    place: JobDirectory,
    drivers: Sequence[Any],
    *,
    local: bool,
) -> Iterator[RunReporter | None]:
    """A listener that reports the run; None: the run is not reported. On leaving, the end of the run is sent, also if
    an error ends it, and its delivery is waited for."""
    settings = _settings(job, place)
    if settings is None:
        yield None
        return
    from seatunnel_py.openlineage.run_reporter import reporter_of

    reporter = reporter_of(settings, job, graph, pipelines, place, drivers, local=local)
    try:
        yield reporter
    except BaseException as error:
        reporter.failed(error)
        raise
    finally:
        reporter.sender.close(settings.wait_seconds)
        _warn(job, place, reporter.sender.notes)


def _settings(job: Job, place: JobDirectory) -> LineageSettings | None:
    """The settings of the run. A wrong variable of the environment does not stop a job."""
    try:
        return settings_of(job.file.env.openlineage, os.environ, job.file.secrets)
    except SeaTunnelError as error:
        _warn(job, place, [f"no lineage is sent: {error.message}; {error.remedy}"])
        return None


def _warn(job: Job, place: JobDirectory, notes: Sequence[str]) -> None:
    """Write to the log of the job while nothing else does."""
    if not notes:
        return
    from seatunnel_py.runtime.diagnosis.job_log import JobLog

    with suppress(OSError), JobLog(place.events, place.job_id, job.file.env.log_level.value) as log:
        for note in notes:
            log.write("WARNING", "openlineage", {"message": note})
