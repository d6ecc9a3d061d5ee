"""Keeps a few drivers ready whose Spark is up: the next job begins in one of them.

Rules. (1) A warm driver is a child with a socket, and knows no job. Such a driver ends with the socket, so a server
that ends, or is killed, leaves none. (2) A request is one line: a driver that has read half of it does nothing. (3) It
is given only to a start with the same environment, because its Spark and its workers have that already. (4) One that
has ended is replaced, later each time; a new one waits until the job that took the last one has begun, and until there
is memory.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.control.backoff import backoff_seconds
from seatunnel_py.control.groups.driver_groups import DriverGroups
from seatunnel_py.control.launching import Launch
from seatunnel_py.runtime.observe.driver_process import kernel_sizes
from seatunnel_py.runtime.storage.job_directory import is_locked

WARM_PROGRAM = (sys.executable, "-m", "seatunnel_py.cli.warm_driver")
READY = b"ready\n"
PAUSE_SECONDS = 3.0
MEMORY_BYTES = 1_500 * 2**20
"""Least memory that is free before another one starts: it takes about 600 MB, and its job needs some, too."""
UMASK = 0o077


@dataclass(slots=True)
class WarmDriver:
    """A child that prepares itself, or is ready. ``place``: its directory."""

    child: subprocess.Popen[bytes]
    channel: socket.socket
    place: Path
    ready: bool = False

    def look(self) -> bool:
        """Note whether it is ready. False: it has ended."""
        with suppress(BlockingIOError):
            while received := self.channel.recv(len(READY)):
                self.ready = self.ready or received.endswith(READY[-1:])
            return False
        return self.child.poll() is None

    def end(self) -> None:
        """Kill the driver. Its JVM ends with it."""
        self.channel.close()
        self.child.kill()
        self.child.wait()


@dataclass(slots=True)
class WarmDrivers:
    """At most ``wanted`` of them. ``program``: the command line of drivers before their arguments; ``environment``: of
    a start without variables of its own; ``folder``: for their directories; ``clock``: monotonic seconds; ``groups``:
    each is moved into its own before it starts its JVM."""

    program: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    wanted: int
    clock: Callable[[], float]
    free_memory: Callable[[], int] = field(default=lambda: free_memory())
    warm_program: Sequence[str] = WARM_PROGRAM
    groups: DriverGroups = field(default_factory=DriverGroups)
    _warm: list[WarmDriver] = field(default_factory=list)
    _not_before: float = float("-inf")
    _failures: int = 0

    @property
    def ready(self) -> int:
        """The number of those that a job could take now."""
        return sum(one.ready for one in self._warm)

    def turn(self) -> None:
        """Do what is due; called at least once a second."""
        for one in list(self._warm):
            if not one.look():
                self._warm.remove(one)
                self._lost(one)
        if len(self._warm) < self.wanted and self.clock() >= self._not_before:
            self._add()

    def take(self, launch: Launch) -> subprocess.Popen[bytes] | None:
        """Give a start to a driver that is ready. None: no ready driver fits."""
        if launch.environment != self.environment or tuple(launch.command[: len(self.program)]) != tuple(self.program):
            return None
        for one in [warm for warm in self._warm if warm.ready]:
            self._warm.remove(one)
            if one.look() and _sent(one.channel, _request(launch, len(self.program))):
                one.channel.close()
                self._not_before, self._failures = self.clock() + PAUSE_SECONDS, 0
                return one.child
            self._lost(one)
        return None

    def close(self) -> None:
        """End all of them: they have nothing to lose."""
        for one in self._warm:
            one.end()
        self._warm.clear()

    def _add(self) -> None:
        """Start another one. On a disk that is full, or without memory, jobs begin without it."""
        if self.free_memory() < MEMORY_BYTES:
            return
        try:
            self._sweep()
            self._warm.append(self._begin())
        except OSError:
            self._delay()

    def _begin(self) -> WarmDriver:
        place = self.folder / secrets.token_hex(4)
        make_private(place)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs, (place / "output.log").open("ab") as output:
            child = subprocess.Popen(
                [*self.warm_program, str(theirs.fileno()), str(place)], cwd=place, env=dict(self.environment),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=(theirs.fileno(),),
                start_new_session=True, umask=UMASK,
            )  # fmt: skip
        self.groups.put(child.pid)
        return WarmDriver(child, ours, place)

    def _lost(self, one: WarmDriver) -> None:
        one.end()
        self._delay()

    def _delay(self) -> None:
        self._failures += 1
        self._not_before = self.clock() + backoff_seconds(self._failures, 0.5)

    def _sweep(self) -> None:
        """Remove the directories of drivers that have ended: each holds a lock until its end."""
        with suppress(FileNotFoundError):
            for place in self.folder.iterdir():
                if place.is_dir() and all(place != one.place for one in self._warm) and not is_locked(place / "lock"):
                    shutil.rmtree(place, ignore_errors=True)


def _request(launch: Launch, program: int) -> bytes:
    plain = {
        "arguments": launch.command[program:],
        "directory": str(launch.directory),
        "output": str(launch.output),
    }
    return json.dumps(plain).encode() + b"\n"


def _sent(channel: socket.socket, request: bytes) -> bool:
    """Whether all of it was sent: it is far smaller than the socket's buffer."""
    try:
        return channel.send(request) == len(request)
    except OSError:
        return False


def free_memory() -> int:
    """Bytes that are available, as the kernel estimates; without such an estimate as many as needed."""
    with suppress(OSError):
        return kernel_sizes("/proc/meminfo").get("MemAvailable", MEMORY_BYTES)
    return MEMORY_BYTES
