"""Files that are made once and serve later jobs too: class-data archives, and what travels to clusters.

Rules. (1) Who uses one renews its time, and holds a shared lock on it for as long as the process lives: executors that
come late still fetch it. (2) Who makes a new one removes those that nobody has used for a week and nobody holds.
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
    """Whether the file is there; then this process holds it up to its end."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with suppress(OSError):  # a file system without locks: the time alone speaks for it
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    with suppress(OSError):  # somebody else's file, who has to see to it himself
        os.utime(descriptor)
    if os.fstat(descriptor).st_nlink:
        return True  # the descriptor is never closed: that is what holds it
    os.close(descriptor)  # removed while we waited
    return False


def drop_unused(files: Iterable[Path]) -> None:
    """Remove those that have not been used for long, and directories that become empty with them."""
    for file in files:
        with suppress(OSError):  # somebody holds it, or removes it too; the next one who makes something looks again
            if time.time() - file.stat().st_mtime < UNUSED_SECONDS:
                continue
            with file.open("rb") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink()
            file.parent.rmdir()
