"""Memory that a driver has given back: glibc keeps it, for what may come.

It gives threads arenas of their own, up to eight for each core, and each of them keeps what its threads once needed;
and of what is free in an arena only the end goes back to the system by itself. A driver of many threads grew for as
long as it ran while its objects did not. Traces of errors keep the source files that they quote, whole: most of what
did grow.
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
    """From now on threads share ``ARENAS`` of them, and what is free goes back now and then. Other C libraries have
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
