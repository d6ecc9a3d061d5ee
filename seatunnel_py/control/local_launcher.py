"""Starts drivers on this machine.

Rules. (1) A driver is in a session of its own and holds no descriptor of the server: the end of the server changes
nothing for it. (2) ``waitpid`` shows how a child ended; only its lock shows whether a driver is alive. (3) A signal
goes through a descriptor of the process that was opened before its start was compared: a pid that another process has
by now is never signalled.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from seatunnel_py.api.process.private_files import make_private, open_to_append
from seatunnel_py.control.groups.driver_groups import DriverGroups
from seatunnel_py.control.launching import Launch, LaunchError, ProcessEnd
from seatunnel_py.control.warm_drivers import WarmDrivers
from seatunnel_py.runtime.observe.driver_process import DriverProcess
from seatunnel_py.runtime.observe.memory_kill import MemoryWatch

UMASK = 0o077
OOM_SCORE_MORE = 100


@dataclass(frozen=True, slots=True)
class _Child:
    run: str
    process: subprocess.Popen[bytes]
    output: Path
    memory: MemoryWatch


@dataclass(slots=True)
class LocalLauncher:
    """``Launcher`` on this machine. ``warm``: drivers whose Spark is up already; ``groups``: those of drivers."""

    warm: WarmDrivers | None = None
    groups: DriverGroups = field(default_factory=DriverGroups)
    _children: dict[int, _Child] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def spawn(self, launch: Launch) -> int:
        """Start a driver; return its pid. Raises LaunchError."""
        try:
            make_private(launch.output.parent)
            child = self.warm.take(launch) if self.warm is not None else None
            if child is not None:
                return self._added(launch, child)
            output = open_to_append(launch.output)
            try:
                child = subprocess.Popen(
                    launch.command, cwd=launch.directory, env=dict(launch.environment), stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, close_fds=True, start_new_session=True, umask=UMASK,
                )  # fmt: skip
            finally:
                os.close(output)
        except (OSError, ValueError) as error:
            raise LaunchError(str(error)) from None
        return self._added(launch, child)

    def _added(self, launch: Launch, child: subprocess.Popen[bytes]) -> int:
        self.groups.put(child.pid)
        _prefer_to_end(child.pid)
        with self._lock:
            self._children[child.pid] = _Child(launch.run, child, launch.output, MemoryWatch(child.pid))
        return child.pid

    def close(self) -> None:
        """Let the drivers end that have no job. Other drivers go on."""
        if self.warm is not None:
            self.warm.close()

    def ends(self) -> Sequence[ProcessEnd]:
        """Children that have ended since the last call."""
        if self.warm is not None:
            self.warm.turn()
        found = []
        with self._lock:
            for pid, child in list(self._children.items()):
                code = child.process.poll()
                if code is None:
                    child.memory.look()
                    continue
                del self._children[pid]
                ended_by = -code if code < 0 else None
                why = child.memory.why(ended_by)
                if why:
                    _note(child.output, f"seatunnel server: the driver was killed: {why}\n")
                found.append(ProcessEnd(child.run, pid, None if code < 0 else code, ended_by, why))
        if found:
            self.groups.sweep()
        return found

    def child_of(self, run: str) -> int | None:
        """The pid of a child of this server that was started for the run and has not ended."""
        with self._lock:
            return next((pid for pid, child in self._children.items() if child.run == run), None)

    def signal(self, process: DriverProcess, number: int) -> bool:
        """Send a signal to exactly this process. False: it is not there any more."""
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError:
            return False
        try:
            if not process.is_there:
                return False
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)
        return True


def _note(output: Path, line: str) -> None:
    """Add a line to the output of a driver that has ended, which the page shows."""
    with suppress(OSError), os.fdopen(open_to_append(output), "w", encoding="utf-8") as file:
        file.write(line)


def _prefer_to_end(pid: int) -> None:
    """If memory runs out, the kernel ends a driver before the server. The driver's JVM inherits this."""
    with suppress(OSError, ValueError):  # only Linux has it
        own = int(Path("/proc/self/oom_score_adj").read_text())
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(min(own + OOM_SCORE_MORE, 1_000)))
