"""The process of a driver: its pid, and its start, which differs from that of a later process with this pid.

Never shows whether a driver is alive: only its lock does. The handle wakes up its user when the process ends, and sends
signals to it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class DriverProcess:
    """``start_ticks``: start of the process in clock ticks since the machine started; ``boot``: id of that start of the
    machine. Linux has both."""

    pid: int
    start_ticks: int
    boot: str
    host: str

    @classmethod
    def of(cls, about: Mapping[str, Any] | None) -> Self | None:
        """The process in a job.json; None: an older release, or another system, wrote it."""
        try:
            return cls(about["pid"], about["start_ticks"], about["boot"], about["host"]) if about else None
        except KeyError:
            return None

    @property
    def is_there(self) -> bool:
        """Whether this very process exists on this machine."""
        here = self.host == socket.gethostname() and self.boot == boot_id()
        return here and start_ticks(self.pid) == self.start_ticks


def this_process() -> dict[str, Any]:
    """Describe this process for job.json."""
    about: dict[str, Any] = {"pid": os.getpid(), "host": socket.gethostname()}
    ticks, boot = start_ticks(os.getpid()), boot_id()
    return about if ticks is None or not boot else {**about, "start_ticks": ticks, "boot": boot}


def boot_id() -> str:
    """The id of this start of the machine; empty: the system has none."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return ""


def start_ticks(pid: int) -> int | None:
    """When the process with this pid has started; None: there is none, or it has ended and waits to be reaped."""
    with suppress(OSError, ValueError, IndexError):
        # The name of the command is in parentheses, and may hold spaces and parentheses itself.
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])
    return None


def kernel_sizes(file: str) -> dict[str, int]:
    """The sizes that a file of the kernel names, such as ``/proc/meminfo``, in bytes. Raises OSError."""
    lines = (line.split() for line in Path(file).read_text(encoding="ascii", errors="replace").splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1_024 for words in lines if len(words) == 3 and words[2] == "kB"}
