"""The lock of a home's servers: two that have no common database would restart the same runs.

Rules. (1) A server with a SQLite file has the home alone. (2) Servers with a common PostgreSQL have it together, each
with a note of its own. (3) Only a lock shows that a server is alive: a note without one is removed.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.errors import SeaTunnelError

BYTES_MAX = 1_000
NOTES = "servers"
OLD_SECONDS = 60.0


class ServerRunsError(SeaTunnelError):
    """Another server has this home."""


@dataclass(frozen=True, slots=True)
class ServerLock:
    """A lock that is held until ``release``, or until the process ends. ``descriptor``: of the file with the note;
    ``note``: that file, if the home is shared, and ``shared``: the descriptor of the lock of the home."""

    descriptor: int
    note: Path | None = None
    shared: int | None = None

    @classmethod
    def take(cls, home: Path, address: str, *, together: bool = False) -> Self:
        """Lock a home; ``address``: where the server answers, for the message of a second one; ``together``: with
        other servers. Raises ServerRunsError."""
        path = home / "server" / "lock"
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if together else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise ServerRunsError(
                f"a server has this home already{_named(cls.noted(home))}",
                "use that one, or end it first; a server for other runs needs another SEATUNNEL_HOME; several servers "
                "of one home need a `store` in PostgreSQL, each of them",
            ) from None
        about = {"address": address, "pid": os.getpid(), "host": socket.gethostname()}
        if not together:
            return cls(descriptor)._noted(about)
        _remove_old(path.parent / NOTES)
        note = path.parent / NOTES / f"{secrets.token_hex(8)}.json"
        own = _opened(note)
        fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(own, note, descriptor)._noted(about)

    def note_probed(self, url: str) -> None:
        """Note where the server answers probes of its own machine, once it listens."""
        self._noted({**json.loads(os.pread(self.descriptor, BYTES_MAX, 0)), "probed": url})

    def _noted(self, about: Mapping[str, Any]) -> Self:
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(about).encode(), 0)
        return self

    @classmethod
    def address(cls, home: Path) -> str | None:
        """The address of the server of a home; None: no server has it."""
        return (cls.noted(home) or {}).get("address")

    @staticmethod
    def noted(home: Path) -> Mapping[str, Any] | None:
        """The notes of the server of a home, of several that of this machine; None: no server has it."""
        alone = _note_of(home / "server" / "lock")
        if alone is not None:
            return alone
        found = [note for file in _files(home / "server" / NOTES) if (note := _note_of(file)) is not None]
        here = [note for note in found if note.get("host") == socket.gethostname()]
        return next(iter([*here, *found]), None)

    def release(self) -> None:
        """Give the lock back."""
        if self.note is not None:
            self.note.unlink(missing_ok=True)
        for one in (self.descriptor, self.shared):
            if one is not None:
                os.close(one)


def _opened(path: Path) -> int:
    try:
        make_private(path.parent)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SeaTunnelError(f"cannot write {path}: {error.strerror}", "give the server a home of its own") from None


def _note_of(file: Path) -> Mapping[str, Any] | None:
    """The note of the process that has this file for itself; None: there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            found = json.loads(os.pread(descriptor, BYTES_MAX, 0))
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}
    finally:
        os.close(descriptor)
    return None


def _files(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(folder.glob("*.json"))


def _remove_old(folder: Path) -> None:
    """Remove the notes of servers that were killed. No name is used twice; one that is new may not be locked yet."""
    for file in _files(folder):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > OLD_SECONDS and _note_of(file) is None:
                file.unlink()


def _named(about: Mapping[str, Any] | None) -> str:
    try:
        return f": {about['address']} (process {about['pid']} on {about['host']})" if about else ""
    except KeyError:
        return ""
