"""Appends lines to a file, and starts a new one at a size limit: a stream that runs for months must not fill its disk.

Rules. (1) A line is never divided between two files. (2) An older generation keeps its name until it is deleted, so a
reader at some offset of it goes on. (3) Files are private (0600), because error texts may hold rows.
"""

from __future__ import annotations

import os
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from seatunnel_py.api.process.private_files import open_to_append
from seatunnel_py.runtime.observe.rotated_files import next_generation, older_generations
from seatunnel_py.runtime.storage.job_directory import expecting, naming

LIMIT_BYTES = 64 * 2**20
GENERATIONS = 4  # with the current one


class RotatingFile:
    """Appends to ``path``, for one writer at a time."""

    def __init__(self, path: Path, limit: int = LIMIT_BYTES, generations: int = GENERATIONS) -> None:
        self._path, self._limit, self._generations = path, limit, generations
        self._open()

    def write(self, line: str) -> None:
        """Append a line, which ends with a line feed."""
        size = len(line) if line.isascii() else len(line.encode())
        if self._size and self._size + size > self._limit:
            self._rotate()
        self._size += size
        with naming(self._path):
            self._file.write(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _open(self) -> None:
        with expecting(self._path.parent):
            descriptor = open_to_append(self._path)
        self._size = os.fstat(descriptor).st_size
        self._file: TextIOWrapper = os.fdopen(descriptor, "w", encoding="utf-8", buffering=1)

    def _rotate(self) -> None:
        """Go on in a new file. If that fails, lines still go to the file that is open."""
        with suppress(OSError):
            self._path.rename(next_generation(self._path))
            for old in older_generations(self._path)[: 1 - self._generations]:
                old.unlink(missing_ok=True)
        before = self._file
        self._open()
        before.close()
