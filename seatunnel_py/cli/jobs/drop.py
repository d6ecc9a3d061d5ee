"""Implements ``seatunnel jobs drop``: gives a job up, and drops what it has made at its sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.view.numbers import size
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.driver_question import explained
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json

if TYPE_CHECKING:
    from seatunnel_py.api.log_source import Leftover
    from seatunnel_py.plan.steps import Job
    from seatunnel_py.runtime.resume.lineage import LineageMember, Readers
    from seatunnel_py.runtime.resume.source_cleanup import LogAtSource
    from seatunnel_py.runtime.storage.checkpoint_store import StoreContents


Ending = Callable[[], None]


def drop(job_id: str, where: JobLocation, *, yes: bool, as_json: bool) -> int:
    """Show what would be dropped, and with ``yes`` drop it: first the checkpoints, then the objects at the sources."""
    from seatunnel_py import app
    from seatunnel_py.runtime.resume import source_cleanup
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
    from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations

    job = known(job_id, where, stored=True)
    _require_stopped(job)
    file = where.file or Path(str((job.about or {}).get("job_file", "")))
    described = app.identified(app.check(file, where.variables), job.place)
    contents = CheckpointStore(job.storage).read()
    logs = source_cleanup.logs_in(described, contents.records)
    found = [(one, left) for one in logs for left in one.leftovers()]
    places = SavepointLocations.of(job.place.savepoints, described.file.env)
    member = _member(job, contents)
    readers = member.readers(places)
    stays = readers.sentences
    facts = {"leftovers": [{"step": one.step.id, **asdict(left)} for one, left in found], "kept_by": list(stays)}
    if not as_json:
        _foretell(found, job, contents, readers)
    if stays or not yes:
        if as_json:
            say_json({"done": False, **facts})
            return ExitCode.FAILED
        if stays:
            raise SeaTunnelError(f"nothing is dropped: {'; '.join(stays)}", readers.remedy)
        raise SeaTunnelError("nothing was done yet", "--yes does it")
    _perform(job, described, logs, [left.name for _, left in found if not left.kept], partial(member.end, places))
    if as_json:
        say_json({"done": True, **facts})
    else:
        say(f"the job {job_id} is given up: nothing goes on with it")
    return ExitCode.SUCCESS


def _require_stopped(job: KnownJob) -> None:
    if job.here or (job.location is not None and job.receipt is None and explained(job)[0] is not None):
        raise SeaTunnelError(f"the job {job.job_id!r} is running", f"`seatunnel jobs cancel {job.job_id}` ends it")
    if not job.place.path.is_dir():
        raise SeaTunnelError(
            f"the job {job.job_id!r} has not run on this machine, which would not know that it was given up",
            "run the command where its last driver ran",
        )


def _member(job: KnownJob, contents: StoreContents) -> LineageMember:
    """The job in its lineage, by its store or, if that is deleted already, by what this machine has seen of it."""
    from seatunnel_py.runtime.resume.job_claim import SEEN, KnownStore
    from seatunnel_py.runtime.resume.lineage import LineageMember

    seen = KnownStore.of(job.place.read("plan"), f"{SEEN} of plan.json")
    if contents.lineage or seen is None:
        return LineageMember.of(job.job_id, contents.lineage, contents.owner)
    return LineageMember.of(job.job_id, seen.lineage, seen.driver)


def _foretell(
    found: list[tuple[LogAtSource, Leftover]], job: KnownJob, contents: StoreContents, readers: Readers
) -> None:
    from seatunnel_py.runtime.resume.lineage import shown_job

    for one, left in found:
        keeps = "" if left.retained is None else f", which keeps {size(left.retained)} of log"
        say(f"{one.step.id}: {left.name}{keeps}{f': stays: {left.kept}' if left.kept else ''}")
    if not found:
        say("the job has left nothing at its sources")
    if contents.records:
        say(f"the checkpoints of {job.job_id}: no run goes on with it afterwards")
    for earlier in readers.earlier:
        say(f"{shown_job(earlier)}, whose savepoint this one started from, cannot go on afterwards either")


def _perform(job: KnownJob, described: Job, logs: tuple[LogAtSource, ...], names: list[str], end: Ending) -> None:
    """Note the intent, delete the state, drop, ``end`` the job in its lineage, and note that. Each step may be
    repeated."""
    from seatunnel_py.runtime.storage.open_storage import delete_state
    from seatunnel_py.runtime.values.settings import settings_of
    from seatunnel_py.work.segment_files import remove_all

    about = dict(job.place.read("job") or {})
    place: JobDirectory = replace(job.place, driver=str(about.get("driver", "")))
    if not place.hold():
        raise SeaTunnelError(f"the job {job.job_id!r} has just been started", "try again once it has ended")
    _note(place, about, {"at": time.time(), "names": names, "done": False})
    delete_state(job.storage)
    remove_all(settings_of(described.file.env, place.exchange.as_uri(), job.job_id).exchange)
    for one in logs:
        one.drop()
    end()
    _note(place, about, {"at": time.time(), "names": names, "done": True})
    place.clear()


def _note(place: JobDirectory, about: Mapping[str, Any], dropped: Mapping[str, Any]) -> None:
    write_json(place.path / "job.json", {**about, "dropped": dropped})
