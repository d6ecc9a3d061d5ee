"""Provides the file system operations that sources and sinks need, and the local file system.

Operations that are the same on other file systems go through ``pyarrow.fs``; the local one adds durable renames.
Instances are picklable and open nothing when they are made.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from seatunnel_py.api import FatalError, NameRules, PluginError, RetriableError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs

LOOKED_AT_MAX = 100
FINAL_ERRORS = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    FileExistsError,
)
FINAL_NUMBERS = frozenset({errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors that a retry cannot solve."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file when it was found. Size and time of change together are its identity. A dangling link has ``is_there``
    False."""

    path: str
    size: int
    mtime_ns: int
    is_there: bool = True

    @property
    def generation(self) -> str:
        return f"{self.size}:{self.mtime_ns}"


def path_of(text: str) -> str:
    """A local path from a job file (``file://`` allowed), absolute and without ``..``."""
    if "\0" in text:
        raise ValueError("the path holds a NUL character")
    for prefix in ("file://", "file:"):
        if text.startswith(prefix):
            text = text[len(prefix) :]
            break
    return os.path.abspath(Path(text).expanduser())  # noqa: PTH100  (links stay as they are written)


def room_for(path: str) -> dict[str, str]:
    """Free space for a directory to write to, or for its nearest existing parent; for display."""
    place = _existing(path)
    if not place.is_dir():
        raise FatalError(f"cannot write to {path}: {place} is not a directory", "correct the option path")
    if not os.access(place, os.W_OK | os.X_OK):
        raise FatalError(
            f"cannot write to {path}: {place} may not be written to", "grant the right, or take another path"
        )
    free = shutil.disk_usage(place).free
    return {
        "directory": str(place) if str(place) == path else f"{path} (is made)",
        "free": f"{free / 1024**3:,.1f} GiB",
    }


@contextmanager
def outside(action: str, path: str) -> Iterator[None]:
    """Turn an operating system's error into a typed one that names the file."""
    try:
        yield
    except PluginError:
        raise
    except FINAL_ERRORS as error:
        raise FatalError(f"cannot {action} {path}: {error.strerror or error}") from error
    except OSError as error:
        if error.errno in FINAL_NUMBERS:
            raise FatalError(f"cannot {action} {path}: {error.strerror or error}") from error
        remedy = "make room on its disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise RetriableError(f"cannot {action} {path}: {error.strerror or error}", remedy) from error


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """The local file system, and file systems mounted into it."""

    def filesystem(self) -> pyarrow.fs.FileSystem:
        from pyarrow import fs

        return fs.LocalFileSystem()

    def name_rules(self, path: str) -> NameRules:
        """How the file system compares names below ``path``: found from existing files, nothing is created."""
        folds = sys.platform in ("darwin", "win32") or _folds_case(_existing(path))
        return NameRules(folds_case=folds, normalises=sys.platform == "darwin")

    # ------------------------------------------------------------ reading

    def stat(self, path: str) -> FileEntry | None:
        """The file at ``path``; None if there is none, or if it is not a plain file."""
        with outside("look at", path):
            info = self.filesystem().get_file_info(path)
        return FileEntry(path, info.size, info.mtime_ns) if info.is_file else None

    def is_directory(self, path: str) -> bool:
        return Path(path).is_dir()

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def walk(self, root: str) -> list[FileEntry]:
        """Every plain file below ``root``, and every dangling link, by path. A directory link that leads back to a
        parent is skipped."""
        return sorted(self._found(root), key=lambda entry: entry.path)

    def files(self, root: str) -> Iterator[FileEntry]:
        """Yield the plain files one by one, in no order; files that vanish meanwhile are skipped."""
        return (entry for entry in self._found(root) if entry.is_there)

    def _found(self, root: str) -> Iterator[FileEntry]:
        with outside("list", root):
            for folder, folders, names in os.walk(root, followlinks=True, onerror=_raise):
                folders[:] = [name for name in folders if not _leads_back(Path(folder, name))]
                for name in names:
                    if (entry := _entry(Path(folder, name))) is not None:
                        yield entry

    def open_input(self, path: str) -> pa.NativeFile:
        """The file, for random access."""
        with outside("open", path):
            return self.filesystem().open_input_file(path)

    # ------------------------------------------------------------ writing

    def make_directory(self, path: str, *, private: bool = False) -> None:
        with outside("create the directory", path):
            Path(path).mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)

    def create(self, path: str) -> IO[bytes]:
        """Create a file for writing; an existing one is an error."""
        with outside("create", path):
            return Path(path).open("xb")

    def sync(self, file: IO[bytes]) -> None:
        file.flush()
        os.fsync(file.fileno())

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable."""
        with outside("sync the directory", path):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def rename(self, source: str, target: str) -> None:
        """Atomic within one file system; replaces ``target``."""
        with outside(f"rename {source} to", target):
            Path(source).replace(target)

    def delete(self, path: str) -> None:
        with outside("delete", path):
            Path(path).unlink(missing_ok=True)

    def delete_tree(self, path: str) -> None:
        """Delete a directory with its content, or a file; a link is deleted, not its target."""
        with outside("delete", path):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink(missing_ok=True)

    def names(self, path: str) -> list[str]:
        """Names directly in a directory."""
        with outside("list", path):
            return sorted(entry.name for entry in Path(path).iterdir())

    def delete_empty(self, path: str) -> None:
        """Delete a directory if it is empty."""
        try:
            Path(path).rmdir()
        except OSError:
            return

    def same_device(self, first: str, second: str) -> bool:
        """True if a file can be renamed from one path to the other; a missing path is judged by its nearest parent."""
        return _existing(first).stat().st_dev == _existing(second).stat().st_dev


def _folds_case(place: Path) -> bool:
    """True if names are found in another letter case. Tested on the directory's entries, and on the directory."""
    named = [*islice(place.iterdir(), LOOKED_AT_MAX), *(one for one in (place, *place.parents) if one.name)]
    for one in named:
        other = one.with_name(one.name.swapcase())
        if other.name != one.name:
            return other.exists() and one.exists() and other.samefile(one)
    return False


def _raise(error: OSError) -> None:
    with outside("list", str(error.filename)):
        raise error


def _entry(path: Path) -> FileEntry | None:
    """A plain file, or a dangling link; None: neither, or it has vanished."""
    try:
        status = path.stat()
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and error.errno != errno.ELOOP:
            raise
        return FileEntry(str(path), 1, 0, is_there=False) if path.is_symlink() else None
    return FileEntry(str(path), status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _leads_back(folder: Path) -> bool:
    """True for a link to a directory that contains it, or that links have led through already: the walk would never
    end."""
    if not folder.is_symlink():
        return False
    target, place = folder.resolve(), folder.parent
    return target in place.resolve().parents or any(target == above.resolve() for above in (place, *place.parents))


def _existing(path: str) -> Path:
    place = Path(path)
    while not place.exists():
        place = place.parent
    return place
