"""Threads share arenas, and free memory goes back, where the C library has arenas."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no arenas")

# Forty threads that all hold memory at one time: each takes an arena of its own where it may.
THREADS = """
import ctypes, sys, threading
from seatunnel_py.cli.memory_trim import keep_small
if sys.argv[1] == "small":
    keep_small()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
together = threading.Barrier(40)
def hold():
    libc.malloc(1000)
    together.wait()
threads = [threading.Thread(target=hold) for _ in range(40)]
for one in threads: one.start()
for one in threads: one.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""

# Blocks too small to be mapped by themselves, and above them one that stays: nothing can be cut off at the end.
HOLES = """
import ctypes, sys, time
from seatunnel_py.cli import memory_trim
memory_trim.TRIM_SECONDS = 0.1
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def block():
    address = libc.malloc(50_000)
    libc.memset(address, 1, 50_000)
    return address
blocks = [block() for _ in range(1000)]
block()
for one in blocks: libc.free(one)
before = resident()
if sys.argv[1] == "small":
    memory_trim.keep_small()
time.sleep(1)
print(before - resident())
"""


# A trace quotes a line of a file, and the whole file stays.
QUOTED = """
import linecache, sys, time
from seatunnel_py.cli import memory_trim
memory_trim.TRIM_SECONDS = 0.1
linecache.getline(memory_trim.__file__, 1)
if sys.argv[1] == "small":
    memory_trim.keep_small()
time.sleep(1)
print(memory_trim.__file__ in linecache.cache)
"""


def said(program: str, how: str) -> str:
    return subprocess.run([sys.executable, "-c", program, how], capture_output=True, text=True, check=True).stdout


def test_threads_share_arenas() -> None:
    assert said(THREADS, "small").count("<heap nr=") <= 3 < said(THREADS, "as it is").count("<heap nr=")


def test_files_that_traces_have_quoted_are_let_go() -> None:
    assert (said(QUOTED, "small"), said(QUOTED, "as it is")) == ("False\n", "True\n")


def test_what_is_free_goes_back() -> None:
    assert int(said(HOLES, "small")) > 40_000_000 > int(said(HOLES, "as it is"))
