"""Where files lie: the few things that sources and sinks ask of a file system, and the local one.

Everything that other file systems can do alike goes through ``pyarrow.fs``; what makes a rename durable is the
local one's own. Instances are picklable and open nothing when they are made.
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
"""What another try does not mend."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file as it was found. Size and time of change together are its identity. A link that leads nowhere is none:
    it ``is_there`` no more."""

    path: str
    size: int
    mtime_ns: int
    is_there: bool = True

    @property
    def generation(self) -> str:
        return f"{self.size}:{self.mtime_ns}"


def path_of(text: str) -> str:
    """A local path as a job file writes it (``file://`` allowed), absolute and without ``..``."""
    if "\0" in text:
        raise ValueError("the path holds a NUL character")
    for prefix in ("file://", "file:"):
        if text.startswith(prefix):
            text = text[len(prefix) :]
            break
    return os.path.abspath(Path(text).expanduser())  # noqa: PTH100  (links stay as they are written)


def room_for(path: str) -> dict[str, str]:
    """What there is for a directory that is to be written to, itself or the one above it that exists; for people."""
    place = _existing(path)
    if not place.is_dir():
        raise FatalError(f"cannot write to {path}: {place} is no directory", "correct the option path")
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
class LocalStorage:
    """The local file system, and whatever is mounted into it."""

    def filesystem(self) -> pyarrow.fs.FileSystem:
        from pyarrow import fs

        return fs.LocalFileSystem()

    def name_rules(self, path: str) -> NameRules:
        """How the file system compares the names below ``path``: found out by what is there, nothing is made."""
        folds = sys.platform in ("darwin", "win32") or _folds_case(_existing(path))
        return NameRules(folds_case=folds, normalises=sys.platform == "darwin")

    # ------------------------------------------------------------ reading

    def stat(self, path: str) -> FileEntry | None:
        """The file at ``path``; None when there is none, or no plain file."""
        with outside("look at", path):
            info = self.filesystem().get_file_info(path)
        return FileEntry(path, info.size, info.mtime_ns) if info.is_file else None

    def is_directory(self, path: str) -> bool:
        return Path(path).is_dir()

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def walk(self, root: str) -> list[FileEntry]:
        """Every plain file below ``root``, and every link that leads nowhere, by path; a directory that leads back to
        one above it is left out."""
        return sorted(self._found(root), key=lambda entry: entry.path)

    def files(self, root: str) -> Iterator[FileEntry]:
        """The plain files one by one, in no order; what vanishes meanwhile is left out."""
        return (entry for entry in self._found(root) if entry.is_there)

    def _found(self, root: str) -> Iterator[FileEntry]:
        with outside("list", root):
            for folder, folders, names in os.walk(root, followlinks=True, onerror=_raise):
                folders[:] = [name for name in folders if not _leads_back(Path(folder, name))]
                for name in names:
                    if (entry := _entry(Path(folder, name))) is not None:
                        yield entry

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for reading at any place."""
        with outside("open", path):
            return self.filesystem().open_input_file(path)

    # ------------------------------------------------------------ writing

    def make_directory(self, path: str, *, private: bool = False) -> None:
        with outside("create the directory", path):
            Path(path).mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)

    def create(self, path: str) -> IO[bytes]:
        """A new file for writing; that it is there already is an error."""
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
        """Delete a directory with all in it, or a file; a link is deleted, not what it leads to."""
        with outside("delete", path):
            if Path(path).is_dir() and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                Path(path).unlink(missing_ok=True)

    def names(self, path: str) -> list[str]:
        """What lies directly in a directory."""
        with outside("list", path):
            return sorted(entry.name for entry in Path(path).iterdir())

    def delete_empty(self, path: str) -> None:
        """Delete a directory if nothing is in it any more."""
        try:
            Path(path).rmdir()
        except OSError:
            return

    def same_device(self, first: str, second: str) -> bool:
        """Whether a rename can go from one to the other; of paths not there yet the nearest parent counts."""
        return _existing(first).stat().st_dev == _existing(second).stat().st_dev


def _folds_case(place: Path) -> bool:
    """Whether a name is found under another letter case. Asked of what lies in the directory, and of the directory."""
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
    """A plain file, or a link that leads nowhere; None: neither, or it has vanished."""
    try:
        status = path.stat()
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and error.errno != errno.ELOOP:
            raise
        return FileEntry(str(path), 1, 0, is_there=False) if path.is_symlink() else None
    return FileEntry(str(path), status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _leads_back(folder: Path) -> bool:
    """A link to a directory that it lies in, or that other links have led through to it, would be walked for ever."""
    if not folder.is_symlink():
        return False
    target, place = folder.resolve(), folder.parent
    return target in place.resolve().parents or any(target == above.resolve() for above in (place, *place.parents))


def _existing(path: str) -> Path:
    place = Path(path)
    while not place.exists():
        place = place.parent
    return place
