"""Reads what decides whether a job may be removed: in its directory, in its store, and among the savepoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.removal.removal_rules import RemovalFacts
from seatunnel_py.errors import JobFileError, SeaTunnelError
from seatunnel_py.jobs.driver_question import explained
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, env_of
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.control.job_removal import OutsideFiles
from seatunnel_py.runtime.observe.receipt import FAILED_AGAIN
from seatunnel_py.runtime.storage import quarantine_store
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory, is_finished
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from seatunnel_py.runtime.storage.savepoint_store import SavepointError

if TYPE_CHECKING:
    from seatunnel_py.config.env import EnvOptions

ONLY_HERE = "--only-here removes only its files on this machine"


@dataclass(frozen=True, slots=True)
class RemovableJob:
    """A job, and its files outside of its directory. ``env``: of its job file, if its addresses are needed."""

    job: KnownJob
    outside: OutsideFiles = field(default_factory=OutsideFiles)
    env: EnvOptions | None = None


class RemovalFactsReader:
    """Reads the facts about jobs; each place of savepoints is read once. ``only_here``: shared places are not asked."""

    def __init__(self, home: Home, where: JobLocation, *, only_here: bool = False) -> None:
        self._home, self._where, self._only_here = home, where, only_here
        self._savepoints: dict[tuple[str | None, str | None], Mapping[str, tuple[str, ...]]] = {}

    def find(self, place: JobDirectory) -> RemovableJob:
        """The job of a directory, with its store. Raises SeaTunnelError if that cannot be read."""
        about = place.read("job") or {}
        quarantine = _quarantine_elsewhere(about, place)
        if place.running or self._only_here or not (about.get("checkpoint_location") or _exchanges(about, place)):
            return RemovableJob(KnownJob(place), OutsideFiles(quarantine=quarantine))
        env = self.env(about)
        if env.checkpoint_location is None:
            return RemovableJob(KnownJob(place), OutsideFiles(None, "", True, quarantine), env)
        job = KnownJob(place, env.checkpoint_location)
        shown, exchange = redacted_text(env.checkpoint_location), env.exchange_location is not None
        return RemovableJob(job, OutsideFiles(shown, _lineage_there(job, shown), exchange, quarantine), env)

    def env(self, about: Mapping[str, Any]) -> EnvOptions:
        """The options of a job that locate its shared files. Raises SeaTunnelError if no job file has them."""
        location = about.get("checkpoint_location")
        given = [(self._where.file, self._where.variables)] if self._where.file is not None else []
        for file, variables in (*given, (Path(str(about.get("job_file", ""))), {})):
            try:
                env = env_of(file, variables)
            except (JobFileError, SeaTunnelError, OSError):
                continue
            found = env.checkpoint_location
            if (redacted_text(found) if found else None) == location and "${" not in (found or ""):
                return env
        where = location or "its exchange.location"
        raise SeaTunnelError(
            f"files of it are in {where}, and {about.get('job_file')} does not locate them",
            f"add --file JOB_FILE, and -i where that has variables; {ONLY_HERE}",
        )

    def facts(self, found: RemovableJob) -> RemovalFacts:
        """The facts about a job. Raises SeaTunnelError if one cannot be read."""
        job, about = found.job, found.job.about or {}
        receipt = None if job.here else job.receipt
        unclear = receipt is None and job.location is not None and not about.get("failed") and not job.here
        running = job.here or (unclear and explained(job)[0] is not None)
        if running:
            return RemovalFacts(job.job_id, running=True)
        finished = is_finished(receipt)
        begun = job.place.has_plan or job.place.has_checkpoints or bool(found.outside.lineage)
        again = receipt is not None and receipt["state"] == FAILED_AGAIN
        can_go_on = begun and not finished and not again and "dropped" not in about
        return RemovalFacts(
            job.job_id,
            can_go_on=can_go_on,
            keeps_log=_keeps_log(job, receipt),
            savepoints=self._savepoints_of(found),
            **self._quarantine(job, about, replays=finished or can_go_on),
        )

    def _savepoints_of(self, found: RemovableJob) -> tuple[str, ...]:
        key = (None, None) if found.env is None else (found.env.checkpoint_location, found.env.exchange_location)
        if key not in self._savepoints:
            self._savepoints[key] = _by_job(SavepointLocations(self._home.savepoints, *key))
        return self._savepoints[key].get(found.job.job_id, ())

    def _quarantine(self, job: KnownJob, about: Mapping[str, Any], *, replays: bool) -> dict[str, Any]:
        """The facts about bad rows. ``replays``: the job may be a replay that has delivered rows."""
        place = quarantine_store.location_of(about.get("error_location"), job.place.path.parent, job.job_id)
        if not place.is_dir():
            return {}
        begun = list(quarantine_store.replays(place))
        if not quarantine_store.is_owner(job.job_id):
            undone = replays and any(one["job"] == job.job_id and not one["done"] for one in begun)
            return {"replay_of": quarantine_store.owner_of(job.job_id) if undone else ""}
        running = [one["job"] for one in begun if self._home.place(str(one["job"])).running]
        bad = sum(one.waiting for one in quarantine_store.held(place, self._home.finished))
        return {"replay": running[0] if running else "", "bad_rows": bad}


def _quarantine_elsewhere(about: Mapping[str, Any], place: JobDirectory) -> str | None:
    given = about.get("error_location")
    if not given or not quarantine_store.is_owner(place.job_id):
        return None
    return str(quarantine_store.location_of(given, place.path.parent, place.job_id))


def _exchanges(about: Mapping[str, Any], place: JobDirectory) -> bool:
    """Whether an unfinished job has an ``exchange.location``, where its rows are; a finished one has emptied it."""
    return '"exchange"' in str(about.get("config", "")) and not place.finished and place.has_plan


def _lineage_there(job: KnownJob, shown: str) -> str:
    """The lineage of the job's checkpoints in its shared store; empty: it has none there."""
    from seatunnel_py.runtime.resume.job_claim import SEEN, KnownStore
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore

    seen = KnownStore.of(job.place.read("plan"), f"{SEEN} of plan.json")
    there = CheckpointStore(job.storage).owner()[1]
    if seen is not None and there not in ("", seen.lineage):
        raise SeaTunnelError(f"the checkpoints in {shown} are of another job with its id", ONLY_HERE)
    return there


def _keeps_log(job: KnownJob, receipt: Mapping[str, Any] | None) -> bool:
    """Whether a log may be kept for the job: neither its own end nor `jobs drop` has dropped that."""
    pipelines = (job.plan or {}).get("pipelines", {}).values()
    if not any(one.get("has_log") for one in pipelines) or (job.about or {}).get("dropped", {}).get("done"):
        return False
    from seatunnel_py.runtime.resume.source_cleanup import drops_later

    return receipt is None or not is_finished(receipt) or drops_later(job.job_id, receipt["notes"])


def _by_job(places: SavepointLocations) -> Mapping[str, tuple[str, ...]]:
    """Names of savepoints by job id. No job starts from a damaged one."""
    found: dict[str, tuple[str, ...]] = {}
    for shelf in places.all():
        for name in shelf.names():
            try:
                job_id = str(shelf.manifest(name)["job"].get("job_id"))
            except SavepointError:
                continue
            found[job_id] = (*found.get(job_id, ()), name)
    return found
