"""Writes the history of a job's checkpoints to ``checkpoints.jsonl``."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from seatunnel_py.redaction import redacted_plain
from seatunnel_py.runtime.diagnosis.rotating_file import RotatingFile
from seatunnel_py.runtime.observe import checkpoint_history
from seatunnel_py.runtime.observe.events import CheckpointCommitted, CheckpointDone, JobEvent, JobStarted

LIMIT_BYTES = 4 * 2**20
"""About 10,000 checkpoints in each of two files."""
_encode = json.JSONEncoder(default=str).encode


class CheckpointLog:
    """A listener that appends each checkpoint to ``path``."""

    def __init__(self, path: Path) -> None:
        self._driver: int | None = None
        self._file = RotatingFile(path, LIMIT_BYTES, generations=2)

    def __call__(self, event: JobEvent) -> None:
        if isinstance(event, JobStarted):
            self._driver = event.driver
        elif isinstance(event, CheckpointDone | CheckpointCommitted):
            line = checkpoint_history.line_of(event, self._driver)
            if line is not None:
                self._file.write(_encode(redacted_plain(line)) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the file. A full disk does not change the job's result."""
        with suppress(OSError):
            self._file.close()
