"""Measures the index of runs over a home with many old runs: scan, list, memory, and a quiet minute of polling.

Bar: 10,000 runs: scan <= 2 s, list <= 200 ms, memory <= 50 MB.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from seatunnel_py.control.run_index import RunFilter, RunIndex
from tests.control.homes import ended_runs


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = ended_runs(Path(folder), runs)
        index, seconds = RunIndex(home, time.monotonic), [0.0]
        before = resident()
        scan = measured(index.scan)
        memory = resident() - before
        lists = [
            measured(lambda: index.page(limit=200)),
            measured(lambda: index.page(RunFilter(frozenset({"FAILED"})), sort="name", limit=200)),
        ]
        index.clock = lambda: time.monotonic() + seconds[0]
        polls = []
        for _ in range(60):
            seconds[0] += 1
            polls.append(measured(index.poll))
    print(f"{runs} old runs: scan {scan:.2f} s, list {1000 * max(lists):.0f} ms, memory {memory / 1e6:.1f} MB")
    print(f"a minute of polling: {sum(polls):.2f} s of computing, {1000 * max(polls):.0f} ms at most in one poll")


def measured(work: object) -> float:
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - began


def resident() -> float:
    """The greatest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
