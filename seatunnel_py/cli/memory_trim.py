"""Returns freed memory of a driver to the system: glibc keeps it for later use.

glibc gives threads their own arenas, up to eight for each core, and each keeps the memory that its threads once needed.
Only the free end of an arena goes back to the system by itself. A driver with many threads grew as long as it ran while
its objects did not. Tracebacks keep the source files that they quote, whole: most of the growth.
"""

from __future__ import annotations

import ctypes
import linecache
import threading
import time
from functools import cache

M_ARENA_MAX = -8  # malloc.h
ARENAS = 2
TRIM_SECONDS = 60.0


@cache
def keep_small() -> None:
    """Let threads share ``ARENAS`` arenas from now on, and return free memory now and then. Other C libraries have
    neither arenas nor these calls."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim"):
        libc.mallopt(M_ARENA_MAX, ARENAS)
        threading.Thread(target=_trim, args=(libc,), name="trim", daemon=True).start()


def _trim(libc: ctypes.CDLL) -> None:
    while True:
        time.sleep(TRIM_SECONDS)
        linecache.clearcache()
        libc.malloc_trim(0)
