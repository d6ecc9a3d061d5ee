"""Compares a job with its previous run: the changes that are announced before anything starts, and the baseline of the
next run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import BEGIN_ANEW, SeaTunnelError, worded
from seatunnel_py.runtime.observe.events import ChangesAnnounced, JobEvent
from seatunnel_py.runtime.resume.job_diff import Change, changes, described, isolated_of, refuse
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.open_storage import connect
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from seatunnel_py.runtime.storage.shared_job_files import PLAN, SharedJobFiles
from seatunnel_py.runtime.values.topology_builder import keys

if TYPE_CHECKING:
    from seatunnel_py.app import JobPlan


def announce(
    planned: JobPlan,
    place: JobDirectory,
    tell: Callable[[JobEvent], None],
    *,
    accepted: bool,
    resets: Sequence[str] = (),
) -> None:
    """Report the changes since the previous run, if any, and their consequences. ``resets``: tables that the user wants
    to be copied again. Raises ChangesRefusedError."""
    found = changes_since(planned, place, place.savepoints, (place.read("job") or {}).get("savepoint"))
    sentences = (*map(str, found), *(f"reset {one}: its target is emptied, and it is copied again" for one in resets))
    if sentences:
        tell(ChangesAnnounced(sentences, time.time()))
    refuse(found, accepted=accepted)


def changes_since(
    planned: JobPlan, place: JobDirectory | None, savepoints: Path, savepoint: str | None
) -> tuple[Change, ...]:
    """Return the changes since the job in ``place``, or of that savepoint, was planned; empty if none was."""
    before = plan_before(planned, place) if place is not None else None
    if before is None and savepoint is not None:
        before = SavepointLocations.of(savepoints, planned.job.file.env).read(savepoint).job.get("plan")
    if not before:
        return ()
    try:
        return changes(before, described_plan(planned))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise SeaTunnelError(
            f"the plan of the previous run, with which the job file is compared, is damaged: {worded(error)}",
            f"restore it from a copy; or {BEGIN_ANEW}",
        ) from error


def plan_before(planned: JobPlan, place: JobDirectory) -> Mapping[str, Any] | None:
    """Another machine may have resumed the job since this one last read it."""
    location = planned.job.file.env.checkpoint_location
    if location is None:
        return place.read("plan")
    storage = connect(location, place.job_id)
    try:
        return SharedJobFiles(storage).read(PLAN) or place.read("plan")
    finally:
        storage.close()


def described_plan(planned: JobPlan) -> Mapping[str, Any]:
    """The job as the next run compares it with its own."""
    return described(planned.job, keys(planned.pipelines), {str(one.table): one.message for one in planned.isolated})


def baseline(planned: JobPlan, place: JobDirectory) -> Mapping[str, Any]:
    """The baseline for the next run: tables that are isolated now keep their earlier plan."""
    before, now = plan_before(planned, place), described_plan(planned)
    kept = isolated_of(before["pipelines"], now) if before else {}
    return {**now, "pipelines": {**now["pipelines"], **kept}}
