"""Whether the kernel has ended a process because memory ran out.

Rules. (1) A kill is proved by signal 9 and a count of the kernel that has grown meanwhile: that of a control group in
which the server is not, or that of the machine where the process had most of the memory. (2) Everything else is only
shown as what is known, without a claim. (3) The count that is compared is that of the look before the last: the kernel
may have counted a kill before the process is seen to have ended.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from seatunnel_py.nouns import counted
from seatunnel_py.runtime.observe.driver_process import PROC, kernel_sizes

GROUPS = Path("/sys/fs/cgroup")
MOST = 0.5
REMEDY = "give it more memory, or lower spark.driver.memory and env.parallelism"


@dataclass(frozen=True, slots=True)
class _KillCounts:
    """Kills for lack of memory so far; None: not known."""

    group: int | None = None
    machine: int | None = None


@dataclass(slots=True)
class MemoryWatch:
    """Looks at a process as long as it is there. ``proc``, ``groups``: where the kernel shows its files."""

    pid: int
    proc: Path = PROC
    groups: Path = GROUPS
    _file: Path | None = None
    _own: bool = False
    _size: int = 0
    _counts: list[_KillCounts] = field(default_factory=list)

    def look(self) -> None:
        """Note the size of the process and the counts of the kernel."""
        file = _file_of(self.proc / str(self.pid) / "cgroup", self.groups)
        if file is not None and file != self._file:  # the process may be moved after its start
            self._file, self._counts = file, []
            self._own = file != _file_of(self.proc / str(os.getpid()) / "cgroup", self.groups)
        with suppress(OSError, KeyError):
            self._size = kernel_sizes(str(self.proc / str(self.pid) / "status"))["VmRSS"]
        self._counts = [*self._counts[-1:], self._now()]

    def why(self, ended_by: int | None) -> str:
        """The facts about a kill for lack of memory; ``ended_by``: the signal. Empty: there are none."""
        if ended_by != signal.SIGKILL or not self._counts:
            return ""
        before, now = self._counts[0], self._now()
        in_group, on_machine = _more(before.group, now.group), _more(before.machine, now.machine)
        size = f"it had {_gib(self._size)} when it was last seen"
        if in_group and self._own:
            return f"out of memory: the kernel ended it, as the count of its control group shows; {size}; {REMEDY}"
        if on_machine and self._size >= MOST * self._total() > 0:
            return f"out of memory: the kernel ended a process for memory, and most was its own: {size}; {REMEDY}"
        if in_group or on_machine:
            where = "the control group that it shares with the server" if in_group else "this machine"
            number = counted(in_group or on_machine, "kill")
            return f"signal 9; the kernel counted {number} for memory in {where} at that time, maybe this one; {size}"
        return ""

    def _now(self) -> _KillCounts:
        group = None if self._file is None else _count(self._file)
        return _KillCounts(group, _count(self.proc / "vmstat"))

    def _total(self) -> int:
        try:
            return kernel_sizes(str(self.proc / "meminfo"))["MemTotal"]
        except (OSError, KeyError):
            return 0


def _file_of(about: Path, groups: Path) -> Path | None:
    """The file with the counts of a process's control group, of version 2 or 1."""
    with suppress(OSError):
        for line in about.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            name = path.lstrip("/")
            if not kinds and (groups / name / "memory.events").is_file():
                return groups / name / "memory.events"
            if "memory" in kinds.split(",") and (groups / "memory" / name / "memory.oom_control").is_file():
                return groups / "memory" / name / "memory.oom_control"
    return None


def _count(file: Path) -> int | None:
    with suppress(OSError, ValueError):
        words = (line.split() for line in file.read_text().splitlines())
        return next((int(one[1]) for one in words if len(one) == 2 and one[0] == "oom_kill"), None)
    return None


def _more(before: int | None, now: int | None) -> int:
    return 0 if before is None or now is None else max(0, now - before)


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
