"""Processor seconds: on a busy machine they say more than the clock does.

Both are rising figures; the difference of two is what was used between them.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from tests.servers.postgres import PostgresServer
from tests.servers.process_tree import descendants, program_of

TICKS = os.sysconf("SC_CLK_TCK")


def of_children() -> float:
    """What this process's children used that have ended."""
    ours = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ours.ru_utime + ours.ru_stime


def of_workers(command: int) -> float:
    """What the living Python processes below a command used."""
    return _of_program(command, "python")


def of_jvm(command: int) -> float:
    """What the living JVM below a command used."""
    return _of_program(command, "java")


def _of_program(command: int, program: str) -> float:
    return sum(_used(pid, 13) for pid in descendants(command) if program_of(pid).startswith(program))


def of_server(server: PostgresServer) -> float:
    """What the server used: its finished and its living backends and parallel workers, its background."""
    # For the postmaster, those of its reaped children too.
    return sum(_used(pid, 15 if pid == server.pid else 13) for pid in (server.pid, *descendants(server.pid)))


def _used(pid: int, end: int) -> float:
    """utime and stime of a process, and what stands behind them up to ``end``."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:end]) / TICKS
    return 0.0
