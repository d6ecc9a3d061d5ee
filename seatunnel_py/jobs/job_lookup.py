"""Finds a job for a command: in SEATUNNEL_HOME, in the place named by its ``checkpoint.location``, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import JobFileError, SeaTunnelError
from seatunnel_py.runtime.control.requests import RequestStore
from seatunnel_py.runtime.observe.run_summary import state_of
from seatunnel_py.runtime.storage.home import Home, JobIdError, require_job_id
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.local_storage import LocalStorage

if TYPE_CHECKING:
    from seatunnel_py.api.storage import Storage
    from seatunnel_py.config.env import EnvOptions
    from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations


@dataclass(frozen=True, slots=True)
class JobLocation:
    """``file``: a job file whose ``checkpoint.location`` is searched too, for jobs of other machines."""

    file: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def location(self) -> str | None:
        """None: no job file was given."""
        if self.file is None:
            return None
        location = env_of(self.file, self.variables).checkpoint_location
        if location is None:
            raise SeaTunnelError(
                f"{self.file} names no checkpoint.location: its jobs are known only on the machine that runs them",
                "run the command there, or omit --file",
            )
        return location

    def savepoints(self) -> SavepointLocations:
        """Places of savepoints: on this machine, and where the job file names them."""
        from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations

        home = Home.of_environment().savepoints
        return (
            SavepointLocations(home)
            if self.file is None
            else SavepointLocations.of(home, env_of(self.file, self.variables))
        )


class KnownJob:
    """``place`` need not exist; ``location``: where its checkpoints are, if not there. Everything that it opens stays
    open until the command ends."""

    def __init__(self, place: JobDirectory, location: str | None = None) -> None:
        self.place = place
        self.location = location
        self.away = ""  # why the shared state could not be read, so that only local state is known

    @property
    def job_id(self) -> str:
        return self.place.job_id

    @property
    def here(self) -> bool:
        """Whether its driver runs on this machine."""
        return self.place.running

    @cached_property
    def about(self) -> dict[str, Any] | None:
        """The latest start of the job: which job, by which driver."""
        own, shared = self._read("job")
        ours = own is not None and (shared is None or own.get("driver") == shared.get("driver"))
        return own if ours else shared

    @property
    def plan(self) -> dict[str, Any] | None:
        own, shared = self._read("plan")
        return shared or own

    @property
    def receipt(self) -> dict[str, Any] | None:
        """Receipt of the job's current driver; None: it is running, or was killed."""
        own, shared = self._read("receipt")
        mine = self.place.last_claim or {}
        ours = mine.get("driver") == (self.about or {}).get("driver")
        return shared or (own if ours else None)

    @property
    def counters(self) -> dict[str, Any] | None:
        """Counters of its driver, if that runs or ran on this machine."""
        counters = self.place.counters
        return counters if counters and counters["run"] == (self.about or {}).get("driver") else None

    @property
    def state(self) -> str:
        """State of the job; its lock shows whether a driver is alive. From another machine a dead driver looks like a
        running one."""
        here = self.here
        receipt = None if here else self.receipt
        return state_of(self.about, receipt, alive=here, far=self.location is not None)

    def _read(self, what: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Local state merged with the shared state, which may be newer."""
        own = self.place.receipt if what == "receipt" else self.place.read(what)
        if self.location is None or self.here:
            return own, None
        from seatunnel_py.runtime.storage.shared_job_files import SharedJobFiles

        try:
            return own, SharedJobFiles(self.storage).read(what)
        except SeaTunnelError as error:
            if own is None:
                raise
            self.away = error.message
            return own, None

    @cached_property
    def storage(self) -> Storage:
        """Location of its checkpoints."""
        from seatunnel_py.runtime.storage.open_storage import connect

        if self.location is not None:
            return connect(self.location, self.job_id)
        return LocalStorage(self.place.checkpoints)

    def control(self) -> RequestStore:
        """Place of its requests: on its own machine in its directory there, which needs no address."""
        if self.here or self.location is None:
            return RequestStore(LocalStorage(self.place.path))
        return RequestStore(self.storage)


def known(job_id: str, where: JobLocation, *, stored: bool = False) -> KnownJob:
    """Find the job of this id. Raises JobIdError if it is unknown; ``stored``: the checkpoints are needed, in any
    place."""
    home = Home.of_environment()
    location = where.location()
    if location is not None:
        require_job_id(job_id, known=lambda: True)  # it becomes a part of a path
        found = KnownJob(home.place(job_id), location)
        if found.about is None:
            raise JobIdError(f"there is no job {job_id!r} in the checkpoint.location of {where.file}", _OTHERS)
        return found
    try:
        place = home.job(job_id)
    except JobIdError as error:
        raise JobIdError(error.message, f"{error.remedy}; a job of another machine: add --file JOB_FILE") from None
    about = place.read("job") or {}
    if not about.get("checkpoint_location") or (place.running and not stored):
        return KnownJob(place)
    return KnownJob(place, _location_again(about))


_OTHERS = "`seatunnel jobs list --file JOB_FILE` lists the existing ones"


def env_of(file: Path, variables: Mapping[str, str]) -> EnvOptions:
    """The options of a job file. Raises JobFileError."""
    from seatunnel_py.config.job_file import load

    return load(file, variables).env


def _location_again(about: Mapping[str, Any]) -> str:
    """A URL may hold a secret, so only the job file knows it."""
    file = Path(str(about.get("job_file", "")))
    try:
        location = env_of(file, {}).checkpoint_location
    except (JobFileError, SeaTunnelError, OSError):
        location = None
    if location is None or "${" in location:
        raise SeaTunnelError(
            f"the checkpoints of this job are in {about['checkpoint_location']}, and {file} does not locate them",
            "add --file JOB_FILE, and -i where that has variables",
        )
    return location
