"""Opens the storage of a job's checkpoints and journal: a directory under SEATUNNEL_HOME, or a URL.

Rules. (1) A path or ``file://`` URL is a directory; any other scheme is an entry point of the group
``seatunnel_py.storages``. (2) A storage is tested first: of concurrent calls that create one name exactly one may
succeed. Exactly-once is refused on a storage that fails the test: two drivers could run one job. (3) No message shows a
secret of the URL.
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
SAVEPOINTS = ".savepoints"  # in place of a job id, which never starts with a dot
FOLDERS = ("incarnations", "claims", "records", "journal", "about", "control")
RACERS, RACES = 4, 3
EXTRAS = {"fsspec": "objectstore", "sqlalchemy": "sqlalchemy", "psycopg": "postgres", "pymysql": "mysql"}


@dataclass(frozen=True, slots=True)
class OpenStorage:
    """A storage, and its address for messages; ``exclusive``: only one of concurrent creates succeeds."""

    storage: Storage
    location: str = ""
    exclusive: bool = True

    def require_exclusive(self) -> None:
        """Raise unless the storage supports exactly-once."""
        for weak in self.notes():
            raise SeaTunnelError(
                weak,
                "use a directory, a database or an object store with conditional writes, or guarantee = at-least-once",
            )

    def notes(self) -> tuple[str, ...]:
        """Warnings about the storage."""
        weak = (
            f"{KEY} = {self.location} cannot create a name only where it is absent: two drivers of one job could both "
            "run, and nothing is promised to be there exactly once"
        )
        return () if self.exclusive else (weak,)


def open_storage(location: str | None, job_id: str, default: Path) -> OpenStorage:
    """Open and test the storage of a job. Raises SeaTunnelError if it cannot be used."""
    if location is None:
        return OpenStorage(LocalStorage(default))
    return _probed(connect(location, job_id), location)


def connect(location: str, job_id: str) -> Storage:
    """Open the storage of a job without a test, for reading."""
    scheme, path = _parts(location)
    return LocalStorage(path / job_id) if scheme == "file" else _plugin(scheme, location, job_id)


def job_ids(location: str) -> Sequence[str]:
    """The ids of jobs with data at this location."""
    scheme, path = _parts(location)
    if scheme != "file":
        return [job_id for job_id in _plugin(scheme, location, "").jobs() if job_id != SAVEPOINTS]
    return sorted(one.parent.name for one in path.glob("[!.]*/incarnations"))


def require_place(location: str, job_id: str, *, fresh: bool) -> None:
    """Refuse a job that has run before, also on another machine, or delete its state (``fresh``)."""
    storage = open_storage(location, job_id, Path()).storage
    try:
        if fresh:
            delete_state(storage)
        elif storage.names(FOLDERS[0]):
            raise SeaTunnelError(
                f"the job {job_id!r} was run before: its checkpoints are in {redacted_text(location)}",
                "`--restore latest` resumes it; `--fresh` deletes its state and starts again, beside rows that are "
                "already visible; another `--job-id` keeps both",
            )
    finally:
        storage.close()


def delete_state(storage: Storage) -> None:
    """Delete the state of a job: incarnations first, which fences a driver that still runs."""
    for folder in FOLDERS:
        for name in storage.names(folder):
            storage.delete(f"{folder}/{name}")


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
    """Test every method once."""
    name = f"probe/{secrets.token_hex(8)}"
    storage.append(name, b"a")
    storage.append(name, b"b")
    whole = storage.get(name) == b"ab" and name.rpartition("/")[2] in storage.names("probe")
    storage.delete(name)
    if not whole or storage.get(name) is not None:
        raise FatalError(f"{KEY} = {redacted_text(location)} does not return written data", "use another place")
    return OpenStorage(storage, redacted_text(location), all(_won(storage) == 1 for _ in range(RACES)))


def _won(storage: Storage) -> int:
    """Number of successes among concurrent creates of one name."""
    name = f"probe/{secrets.token_hex(8)}"
    with ThreadPoolExecutor(RACERS) as racers:
        won = sum(racers.map(lambda number: storage.create(name, b"%d" % number), range(RACERS)))
    storage.delete(name)
    return won
