"""Caches files that serve later jobs too: class-data archives, and files shipped to clusters.

Rules. (1) A process that uses a file renews its time, and holds a shared lock on it until the process ends: executors
that start late still fetch it. (2) A process that makes a new file removes those that were not used for a week and have
no lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

UNUSED_SECONDS = 7 * 86_400.0


def held(file: Path) -> bool:
    """Whether the file exists; this process then holds it up to its end."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with suppress(OSError):  # a file system without locks: only the time counts
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    with suppress(OSError):  # a file of another user, who has to renew it
        os.utime(descriptor)
    if os.fstat(descriptor).st_nlink:
        return True  # the descriptor is never closed: it holds the lock
    os.close(descriptor)  # removed during the wait
    return False


def drop_unused(files: Iterable[Path]) -> None:
    """Remove files that have not been used for long, and directories that become empty with them."""
    for file in files:
        with suppress(OSError):  # locked, or already removed; the next process that makes a file checks again
            if time.time() - file.stat().st_mtime < UNUSED_SECONDS:
                continue
            with file.open("rb") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink()
            file.parent.rmdir()
