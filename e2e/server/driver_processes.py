"""The drivers of a home, as the machine lists them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from tests.servers.process_tree import descendants, words_of


def drivers_of(home: Path) -> Mapping[str, list[int]]:
    """Processes on this machine that run drivers of a home, by run; Spark's own are not among them."""
    found: dict[str, list[int]] = {}
    for entry in Path("/proc").iterdir():
        words = words_of(int(entry.name)) if entry.name.isdigit() else []
        if not any("seatunnel_py.__main__" in word for word in words[:3]) or str(home) not in str(words):
            continue
        run = next((after for word, after in pairwise(words) if word in ("--job-id", "restore")), "")
        found.setdefault(run, []).append(int(entry.name))
    return found


def kill_driver(pid: int) -> None:
    """Kill -9 a driver with all that it has started."""
    for one in [pid, *descendants(pid)]:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def kill_drivers(home: Path) -> None:
    """Kill all drivers of a home."""
    for pids in drivers_of(home).values():
        for pid in pids:
            kill_driver(pid)
