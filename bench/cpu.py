"""Processor seconds: on a busy machine they say more than the clock does.

Both are rising figures; the difference of two is what was used between them.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from tests.servers.postgres import PostgresServer
from tests.servers.process_tree import descendants

TICKS = os.sysconf("SC_CLK_TCK")


def of_children() -> float:
    """What this process's children used that have ended."""
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ours.ru_utime + ours.ru_stime


def of_server(server: PostgresServer) -> float:
    """What the server used: its finished and its living backends and parallel workers, its background."""
    total = 0.0
    for pid in (server.pid, *descendants(server.pid)):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            # utime and stime, and for the postmaster those of its reaped children.
            total += sum(int(field) for field in fields[11 : 15 if pid == server.pid else 13]) / TICKS
    return total
