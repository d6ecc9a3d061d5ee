"""Removes the directories of jobs.

Rules. (1) A directory is renamed first, to a name that nothing lists: a command that is killed meanwhile leaves a job
that is either whole or gone. (2) The lock is held at the renaming, so no driver works there. (3) ``removal.json`` lists
what is outside of the directory, and is durable before the renaming: a later command deletes the rest. (4) Checkpoints
elsewhere are deleted only if they are of the lineage of the removed job: a new job may have its id meanwhile.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json
from seatunnel_py.runtime.storage.local_storage import sync_directory

PREFIX = ".removed-"
NOTE = "removal"
_BLOCK_BYTES = 512  # of st_blocks, on every system


@dataclass(frozen=True, slots=True)
class OutsideFiles:
    """Files of a job outside of its directory. ``location``: its ``checkpoint.location`` without secrets, or None;
    ``lineage``: of its checkpoints there; ``exchange``: it has an ``exchange.location``; ``quarantine``: its directory
    below ``error.location``, or None."""

    location: str | None = None
    lineage: str = ""
    exchange: bool = False
    quarantine: str | None = None

    @property
    def any(self) -> bool:
        return self.needs_job_file or self.quarantine is not None

    @property
    def needs_job_file(self) -> bool:
        """Whether an address is needed that may hold a secret, which only the job file has."""
        return self.location is not None or self.exchange


@dataclass(frozen=True, slots=True)
class RemovedJob:
    """A job that nothing lists any more, and whose files may still exist."""

    job_id: str
    path: Path

    @property
    def directory(self) -> JobDirectory:
        return JobDirectory(self.job_id, self.path)

    @property
    def outside(self) -> OutsideFiles:
        """The job's files outside of its directory. Raises SeaTunnelError for a damaged note."""
        note = self.directory.read(NOTE)
        known = OutsideFiles.__slots__
        return OutsideFiles() if note is None else OutsideFiles(**{key: note[key] for key in known})

    def erase(self) -> None:
        """Delete its directory, once nothing is left outside of it. May be repeated, and by several processes."""
        (self.path / f"{NOTE}.json").unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)


def bytes_of(path: Path) -> int:
    """Bytes on the disk that are freed if this directory is deleted."""
    total = 0
    with suppress(OSError):  # it is being deleted
        total += path.lstat().st_blocks * _BLOCK_BYTES
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                total += bytes_of(Path(entry.path))
            else:
                total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
    return total


def take_away(place: JobDirectory, outside: OutsideFiles) -> RemovedJob:
    """Rename the directory of a job, so that the job is gone. Raises SeaTunnelError if a driver has just begun."""
    about = place.last_claim or {}
    place = replace(place, driver=str(about.get("driver", "")))
    if place.path.is_symlink():
        raise SeaTunnelError(f"{place.path} is a link", "remove it by hand, and what it points to")
    try:
        if not place.hold():
            raise SeaTunnelError(f"the job {place.job_id!r} has just been started", "try again once it has ended")
        if outside.any:
            write_json(place.path / f"{NOTE}.json", asdict(outside))
        hidden = place.path.with_name(f"{PREFIX}{place.job_id}.{secrets.token_hex(4)}")
        place.path.rename(hidden)
        sync_directory(hidden.parent)
    except OSError as error:
        raise SeaTunnelError(f"cannot remove {place.path}: {error.strerror}", "look at its permissions") from error
    finally:
        place.release()
    return RemovedJob(place.job_id, hidden)


def unfinished_removals(home: Home) -> Iterator[RemovedJob]:
    """Jobs whose removal was interrupted."""
    for path in sorted((home.path / "jobs").glob(f"{PREFIX}*")):
        if path.is_dir() and not path.is_symlink():
            yield RemovedJob(path.name.removeprefix(PREFIX).rpartition(".")[0], path)


def finish_local_removals(home: Home) -> None:
    """Finish the removals of which nothing is left outside of their directories."""
    for one in unfinished_removals(home):
        if not (one.path / f"{NOTE}.json").exists():
            one.erase()
