"""Files that hold rows, states or secrets: 0600 in directories of 0700, whatever the umask (S14, S15).

Rules. (1) Every directory that is made on the way is 0700; one that is there already keeps its mode. (2) A file is 0600
from its first byte on. (3) Object stores have rules of their own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

LOCAL = "local"


def make_private(directory: Path) -> None:
    """This directory, and those above it that are missing."""
    for each in reversed([one for one in (directory, *directory.parents) if not one.is_dir()]):
        with suppress(FileExistsError):  # somebody else has just made it
            each.mkdir(mode=0o700)
    directory.mkdir(mode=0o700, exist_ok=True)  # FileExistsError where it is a file


def make_file_private(path: Path) -> None:
    """An empty file, if none is there; an old one belongs to its owner alone from now on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def make_private_file(path: str) -> None:
    """The same for a path that another library opens then; the directories above it are made as well."""
    make_private(Path(path).absolute().parent)
    make_file_private(Path(path))


def private_directory(files: Any, path: str) -> None:
    """The directory on a file system of pyarrow."""
    if files.type_name == LOCAL:
        make_private(Path(path))
    else:
        files.create_dir(path, recursive=True)


def private_output(files: Any, path: str) -> Any:
    """A stream into a new file on a file system of pyarrow."""
    if files.type_name == LOCAL:
        make_file_private(Path(path))
    return files.open_output_stream(path)
