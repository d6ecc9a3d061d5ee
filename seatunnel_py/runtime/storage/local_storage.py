"""A storage in a directory of a local or shared file system, the default of jobs.

Rules. (1) A file gets its name when it is complete and on the disk; the first process to create it wins (``link``). (2)
Incomplete files of dead processes are deleted when they are too old to belong to a live one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from seatunnel_py.api.process.private_files import make_private, open_to_append
from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import FatalError
from seatunnel_py.runtime.values import failpoints

TORN_SECONDS = 3600.0  # age at which no live driver can still be writing the file


class LocalStorage(Storage):
    """Directories are 0700 and files 0600: states may hold values of rows (S14)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._appending: dict[str, int] = {}
        with self._told(path):
            make_private(path)
            for torn in path.glob("*/.*"):
                _forget_torn(torn)

    def create(self, name: str, data: bytes) -> bool:
        path = self._placed(name)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{id(data):x}")
        with self._told(path):
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                _write_and_close(descriptor, data)
                failpoints.DRAFTED.hit()
                os.link(temporary, path)
                sync_directory(path.parent)
            except FileExistsError:
                return False
            finally:
                with suppress(OSError):
                    temporary.unlink()
        return True

    def append(self, name: str, data: bytes) -> None:
        path = self._placed(name)
        with self._told(path):
            if name not in self._appending:
                self._appending[name] = open_to_append(path)
                sync_directory(path.parent)
            _write_whole(self._appending[name], data)
            os.fdatasync(self._appending[name])

    def get(self, name: str) -> bytes | None:
        path = self.path / name
        with self._told(path):
            try:
                return path.read_bytes()
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> Sequence[str]:
        with self._told(self.path / folder):
            return sorted(path.name for path in (self.path / folder).glob("[!.]*"))

    def delete(self, name: str) -> None:
        with self._told(self.path / name):
            if name in self._appending:
                os.close(self._appending.pop(name))
            (self.path / name).unlink(missing_ok=True)

    def describe(self, name: str) -> str:
        return str(self.path / name)

    def close(self) -> None:
        while self._appending:
            os.close(self._appending.popitem()[1])

    def _placed(self, name: str) -> Path:
        path = self.path / name
        with self._told(path):
            path.parent.mkdir(exist_ok=True, mode=0o700)
        return path

    @contextmanager
    def _told(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FatalError(f"{path} cannot be used: {error.strerror}", "look at space and permissions") from error


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_whole(descriptor: int, data: bytes) -> None:
    """Write all or nothing: a partial line on a full disk would precede later lines."""
    size = os.fstat(descriptor).st_size
    try:
        _write(descriptor, data)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def _write_and_close(descriptor: int, data: bytes) -> None:
    try:
        _write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _forget_torn(file: Path) -> None:
    """Delete an incomplete file of a dead driver, unless it is so young that its driver may be alive."""
    with suppress(FileNotFoundError):
        if time.time() - file.stat().st_mtime > TORN_SECONDS:
            file.unlink()
