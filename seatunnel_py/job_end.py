"""Keeps the outcome of a run: its receipt, its last metrics, and the state that the next run needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seatunnel_py.config.env import EnvOptions
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.steps import Job
from seatunnel_py.runtime.diagnosis import live_record
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.resume.source_cleanup import LastRun
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations


def measured(place: JobDirectory, env: EnvOptions) -> None:
    """Write the last metrics of a run, also of one that has failed."""
    live_record.end_record(place, env)


def last_run(receipt: Receipt, driver: Any, job: Job, place: JobDirectory) -> LastRun:
    """The drop of what a job has made at its sources, if this was its last run."""
    places = SavepointLocations.of(place.savepoints, job.file.env)
    return LastRun.of(receipt, driver.ended_pipelines(), places, driver.lineage_member(place.job_id))


def kept(receipt: Receipt, place: JobDirectory, *, resumable: bool) -> Receipt:
    """Keep the receipt, and no more of the state than the next run needs. The job has already ended: a full disk must
    not keep the receipt from the caller."""
    try:
        place.end(receipt)
    except (OSError, SeaTunnelError) as error:
        why = error.message if isinstance(error, SeaTunnelError) else error.strerror or error
        note = f"the receipt could not be kept in {place.path}: {why}"
        receipt = replace(receipt, notes=(*receipt.notes, note))
    place.clear(finished=receipt.exit_code == ExitCode.SUCCESS and not receipt.goes_on, rows=not resumable)
    return receipt
