"""Keeps lineage events that were not delivered, for the next run of this home that sends to the same place.

One file for each run and place. A file is sent by one driver at a time, which locks it; if that driver is killed, the
next one sends the file again, so an event may come twice. At most ``BYTES_MAX`` are kept: the oldest files make room.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.api.process.private_files import open_to_append

BYTES_MAX = 64 * 2**20


@dataclass(frozen=True, slots=True)
class UnsentEvents:
    """``target``: the place that the events go to."""

    directory: Path
    target: str
    bytes_max: int = BYTES_MAX

    @property
    def _prefix(self) -> str:
        return hashlib.sha256(self.target.encode()).hexdigest()[:16] + "-"

    def keep(self, run_id: str, events: Sequence[bytes]) -> None:
        """Keep these events of a run. Raises OSError."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = b"".join(event + b"\n" for event in events)
        self._make_room(len(lines))
        with os.fdopen(open_to_append(self.directory / f"{self._prefix}{run_id}.jsonl"), "wb") as file:
            file.write(lines)

    def send(self, deliver: Callable[[bytes], None]) -> None:
        """Send what is kept for this place, the oldest runs first, and remove each file that is sent. An error of
        ``deliver`` leaves the rest."""
        for path in sorted(self.directory.glob(f"{self._prefix}*.jsonl")):
            with suppress(FileNotFoundError), path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue  # another driver sends it
                for line in file:
                    deliver(line.rstrip(b"\n"))
                path.unlink(missing_ok=True)

    def _make_room(self, wanted: int) -> None:
        found = []
        for path in self.directory.glob("*.jsonl"):
            with suppress(FileNotFoundError):
                about = path.stat()
                found.append((about.st_mtime, about.st_size, path))
        total = sum(size for _, size, _ in found) + wanted
        for _, size, path in sorted(found):
            if total <= self.bytes_max:
                return
            path.unlink(missing_ok=True)
            total -= size
