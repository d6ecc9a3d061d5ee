"""Which storage a job's checkpoints and journal go to: a directory under SEATUNNEL_HOME, or what a URL names.

Rules. (1) A path or ``file://`` URL is a directory; any other scheme is an entry point of the group
``seatunnel_py.storages``. (2) A storage is probed before anything rests on it: of several who create one name at once
exactly one may hear that it did. Where that fails two drivers could both believe to be the only one, so that nothing is
ever promised to be there once. (3) No message shows a secret of the URL.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import unquote, urlsplit

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import FatalError, SeaTunnelError
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.storage.local_storage import LocalStorage

GROUP = "seatunnel_py.storages"
KEY = "checkpoint.location"
SAVEPOINTS = ".savepoints"  # under what would be a job's id they lie beside the jobs, whose ids begin otherwise
FOLDERS = ("incarnations", "claims", "records", "journal", "about", "control")
RACERS, RACES = 4, 3
EXTRAS = {"fsspec": "objectstore", "sqlalchemy": "sqlalchemy", "psycopg": "postgres", "pymysql": "mysql"}


@dataclass(frozen=True, slots=True)
class OpenStorage:
    """A storage, and its address for people; ``exclusive``: what is created is created once."""

    storage: Storage
    location: str = ""
    exclusive: bool = True

    def require_exclusive(self) -> None:
        """For a job that promises exactly-once."""
        for weak in self.notes():
            raise SeaTunnelError(
                weak,
                "use a directory, a database or an object store with conditional writes, or guarantee = at-least-once",
            )

    def notes(self) -> tuple[str, ...]:
        """What people have to know of it."""
        weak = (
            f"{KEY} = {self.location} cannot create a name only where it is absent: two drivers of one job could both "
            "run, and nothing is promised to be there exactly once"
        )
        return () if self.exclusive else (weak,)


def open_storage(location: str | None, job_id: str, default: Path) -> OpenStorage:
    """The storage of a job. SeaTunnelError where it cannot be used."""
    if location is None:
        return OpenStorage(LocalStorage(default))
    return _probed(connect(location, job_id), location)


def connect(location: str, job_id: str) -> Storage:
    """The storage of a job at that place, as it is: for whoever only looks."""
    scheme, path = _parts(location)
    return LocalStorage(path / job_id) if scheme == "file" else _plugin(scheme, location, job_id)


def job_ids(location: str) -> Sequence[str]:
    """The jobs that have something there."""
    scheme, path = _parts(location)
    if scheme != "file":
        return [job_id for job_id in _plugin(scheme, location, "").jobs() if job_id != SAVEPOINTS]
    return sorted(one.parent.name for one in path.glob("[!.]*/incarnations"))


def require_place(location: str, job_id: str, *, fresh: bool) -> None:
    """A shared storage knows jobs of other machines: one that ran before is gone on with, or forgotten (``fresh``)."""
    storage = open_storage(location, job_id, Path()).storage
    try:
        if fresh:
            for folder in FOLDERS:  # incarnations first: whoever still runs is fenced off by that
                for name in storage.names(folder):
                    storage.delete(f"{folder}/{name}")
        elif storage.names(FOLDERS[0]):
            raise SeaTunnelError(
                f"the job {job_id!r} was run before: its checkpoints are in {redacted_text(location)}",
                "`--restore latest` goes on where it stood; `--fresh` forgets it and starts anew, beside rows that are "
                "visible already; another `--job-id` keeps both",
            )
    finally:
        storage.close()


def _parts(location: str) -> tuple[str, Path]:
    """The scheme and, for a directory, its path."""
    if "://" not in location:
        return "file", Path(location).absolute()
    split = urlsplit(location)
    return split.scheme.lower(), Path(unquote(split.path))


def _plugin(scheme: str, location: str, job_id: str) -> Storage:
    found = tuple(entry_points(group=GROUP, name=scheme.partition("+")[0]))
    if len(found) != 1:
        known = ", ".join(sorted({"file", *(point.name for point in entry_points(group=GROUP))}))
        why = "there is none" if not found else "several packages bring one"
        raise SeaTunnelError(f"{KEY}: a storage for {scheme}:// is wanted, but {why}", f"known schemes: {known}")
    try:
        opened: Storage = found[0].load()(location, job_id)
    except ImportError as error:
        name = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(name, name)
        raise SeaTunnelError(
            f"{KEY}: a storage for {scheme}:// needs {name or 'a library'}, which is not installed",
            f"pip install 'seatunnel-py[{extra}]'" if name in EXTRAS else f"install {extra}",
        ) from error
    return opened


def _probed(storage: Storage, location: str) -> OpenStorage:
    """Try everything that will be asked for, once."""
    name = f"probe/{secrets.token_hex(8)}"
    storage.append(name, b"a")
    storage.append(name, b"b")
    whole = storage.get(name) == b"ab" and name.rpartition("/")[2] in storage.names("probe")
    storage.delete(name)
    if not whole or storage.get(name) is not None:
        raise FatalError(f"{KEY} = {redacted_text(location)} does not give back what is put there", "use another place")
    return OpenStorage(storage, redacted_text(location), all(_won(storage) == 1 for _ in range(RACES)))


def _won(storage: Storage) -> int:
    """How many of several who create one name at once hear that they did."""
    name = f"probe/{secrets.token_hex(8)}"
    with ThreadPoolExecutor(RACERS) as racers:
        won = sum(racers.map(lambda number: storage.create(name, b"%d" % number), range(RACERS)))
    storage.delete(name)
    return won
