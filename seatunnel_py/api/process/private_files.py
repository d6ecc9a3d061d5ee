"""Creates files for rows, state or secrets: mode 0600 in directories of 0700, for any umask (S14, S15).

Rules. (1) Each created directory is 0700; an existing one keeps its mode. (2) A file is 0600 before its first byte is
written. (3) Object stores use their own permissions.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

LOCAL = "local"


def make_private(directory: Path) -> None:
    """Create this directory, and its missing parents."""
    for each in reversed([one for one in (directory, *directory.parents) if not one.is_dir()]):
        with suppress(FileExistsError):  # another process has just created it
            each.mkdir(mode=0o700)
    directory.mkdir(mode=0o700, exist_ok=True)  # FileExistsError where it is a file


def make_file_private(path: Path) -> None:
    """Create an empty file with mode 0600, or set that mode on an existing file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def open_to_append(path: Path) -> int:
    """Open a private file that is written at its end, and return the descriptor. Refuses a link with OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)


def make_private_file(path: str) -> None:
    """Create a private file and its directories, for a library that opens the path afterwards."""
    make_private(Path(path).absolute().parent)
    make_file_private(Path(path))


def private_directory(files: Any, path: str) -> None:
    """Create a private directory on a file system of pyarrow."""
    if files.type_name == LOCAL:
        make_private(Path(path))
    else:
        files.create_dir(path, recursive=True)


def private_output(files: Any, path: str) -> Any:
    """Open a new private file for writing on a file system of pyarrow."""
    if files.type_name == LOCAL:
        make_file_private(Path(path))
    return files.open_output_stream(path)
