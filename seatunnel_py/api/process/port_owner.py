"""Names the process that listens on a port of this machine, where Linux shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"
PROC = Path("/proc")


def owner_of(port: int) -> str:
    """The end of a sentence, as in `` by the process 17 (python)``; empty if it is not known."""
    process = listener(port, lambda pid: True)
    if process is not None:
        with suppress(OSError):  # it has just ended
            return f" by the process {process} ({(PROC / str(process) / 'comm').read_text().strip()})"
    return ""


def listener(port: int, chosen: Callable[[int], bool]) -> int | None:
    """The pid of a process that listens on a port, of those that are ``chosen``; None: there is none, or it is of
    another user. ``chosen`` may raise OSError for a process that has ended."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in PROC.iterdir() if wanted and PROC.is_dir() else ():
        if not process.name.isdecimal():
            continue
        with suppress(OSError):  # a process of another user, or one that has just ended
            if chosen(int(process.name)) and any(str(link.readlink()) in wanted for link in (process / "fd").iterdir()):
                return int(process.name)
    return None


def _inodes(port: int) -> set[str]:
    found = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / name).read_text().splitlines()[1:]:
                words = line.split()
                if int(words[1].rpartition(":")[2], 16) == port and words[3] == _LISTENS:
                    found.add(words[9])
    return found
