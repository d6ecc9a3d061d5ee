"""Processes of this machine, looked at and killed from outside: who is below whom, and what it runs.

A process may end while it is looked at: then it is below nobody, and runs nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

DYING_SECONDS_MAX = 10.0


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL a process and all below it, as a power cut would: nobody gets to tidy up.

    The parent is stopped first, so that it neither forks nor reacts to the death of a child. All are dead behind it:
    a server does not start beside one process of its own that still holds its memory.
    """
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGSTOP)
    below = descendants(process.pid)
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait()
    deadline = time.monotonic() + DYING_SECONDS_MAX
    while any(map(is_alive, below)) and time.monotonic() < deadline:
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether it still runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def memory_mb(pid: int, what: str = "VmRSS") -> float | None:
    """What the kernel says of a process's address space, in MB: ``VmRSS`` now, ``VmHWM`` at most so far."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) / 1024
    return None


def descendants(pid: int) -> list[int]:
    """All living processes below pid, nearest first."""
    parents = parent_of_each()
    found, edge = [], {pid}
    while edge:
        edge = {child for child, parent in parents.items() if parent in edge}
        found += sorted(edge)
    return found


def parent_of_each() -> Mapping[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                # The name in brackets may hold spaces; the parent is the second field after it.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return parents


def words_of(pid: int) -> list[str]:
    """The command line of a process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    return [""]


def program_of(pid: int) -> str:
    """The name of the program that a process runs."""
    return words_of(pid)[0].rpartition("/")[2]


def jvms_below(pid: int, main: str = "") -> list[int]:
    """JVMs below a process, nearest first; ``main`` is a word of their command lines."""
    return [one for one in descendants(pid) if program_of(one) == "java" and main in " ".join(words_of(one))]
