"""Lists, copies and deletes segments on any file system.

A driver does this for local files without Arrow, which would take a fifth of a second of each start.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from seatunnel_py.api.process.private_files import private_directory, private_output

if TYPE_CHECKING:
    from pyarrow import fs

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_OF_UNIT = re.compile(r"(\d+)\..+\.segment(\.part)?")


def filesystem(location: str) -> tuple[fs.FileSystem, str]:
    """The file system of a location and the path in it. A location is a directory, or a URL."""
    from pyarrow import fs

    if _URL.match(location):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(location)
        return found
    return fs.LocalFileSystem(), location


def _local(location: str) -> Path | None:
    """The local path of a location; None: it lies elsewhere."""
    if _URL.match(location) is None:
        return Path(location)
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None


def left_in(location: str) -> Iterator[tuple[int, str]]:
    """List the files that units have written at a location, half-written segments included: the incarnation of their
    driver, and the URL."""
    for name in _names(location):
        if named := _OF_UNIT.fullmatch(name):
            yield int(named[1]), f"{location.rstrip('/')}/{name}"


def _names(location: str) -> list[str]:
    if (local := _local(location)) is not None:
        return sorted(one.name for one in local.iterdir()) if local.is_dir() else []
    from pyarrow import fs

    files, directory = filesystem(location)
    return [found.base_name for found in files.get_file_info(fs.FileSelector(directory, allow_not_found=True))]


def exists(segment: str) -> bool:
    """Whether the segment exists."""
    if (local := _local(segment)) is not None:
        return local.exists()
    from pyarrow import fs

    files, path = filesystem(segment)
    found: bool = files.get_file_info(path).type is not fs.FileType.NotFound
    return found


def copy(segment: str, to: str) -> None:
    """Copy the segment to another place, on any file system."""
    from pyarrow import fs

    files, path = filesystem(segment)
    other, target = filesystem(to)
    private_directory(other, target.rpartition("/")[0])
    private_output(other, target).close()
    fs.copy_files(path, target, source_filesystem=files, destination_filesystem=other)


def remove(segments: Iterable[str]) -> None:
    """Delete segments; a missing one is not an error."""
    for segment in segments:
        if (local := _local(segment)) is not None:
            local.unlink(missing_ok=True)
            continue
        files, path = filesystem(segment)
        with suppress(FileNotFoundError):
            files.delete_file(path)


def remove_all(location: str) -> None:
    """Delete the whole location."""
    with suppress(FileNotFoundError):
        if (local := _local(location)) is not None:
            shutil.rmtree(local)
            return
        files, path = filesystem(location)
        files.delete_dir(path)


def discard(segment: str) -> None:
    """Delete a segment if it exists."""
    if exists(segment):
        remove((segment,))
