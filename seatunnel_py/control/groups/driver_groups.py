"""Gives each driver a control group of its own, where the service manager lets the server make groups.

A killer in user space, such as systemd-oomd, ends all processes of a group: without this, the server and all of its
drivers.

Rules. (1) Groups are made only beside a group of the name ``SUBGROUP`` that has the server: `Delegate=yes` and
`DelegateSubgroup=server` of a unit make it so. In a group with processes, the kernel counts no memory of groups below.
(2) A group that cannot be made costs nothing: the driver stays where the server is. (3) Empty groups are removed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.runtime.observe.driver_process import PROC
from seatunnel_py.runtime.observe.memory_kill import GROUPS

SUBGROUP = "server"
PREFIX = "driver-"


@dataclass(frozen=True, slots=True)
class DriverGroups:
    """``folder``: the group in which those of drivers are made; None: none can be made."""

    folder: Path | None = None

    @classmethod
    def of_this_process(cls, groups: Path = GROUPS) -> DriverGroups:
        """Beside the group of this process; empty groups of an earlier server are removed."""
        with suppress(OSError, StopIteration):
            lines = (PROC / "self/cgroup").read_text().splitlines()
            own = groups / next(line[3:] for line in lines if line.startswith("0::")).lstrip("/")
            if own.name == SUBGROUP and os.access(own.parent, os.W_OK) and (own.parent / "cgroup.procs").exists():
                with suppress(OSError):  # the manager has no control of memory to pass on
                    (own.parent / "cgroup.subtree_control").write_text("+memory")
                found = cls(own.parent)
                found.sweep()
                return found
        return cls()

    def put(self, pid: int) -> None:
        """Move a process that has just been started into its group; what it starts is born there. Idempotent."""
        if self.folder is not None:
            with suppress(OSError):
                group = self.folder / f"{PREFIX}{pid}"
                group.mkdir(exist_ok=True)
                (group / "cgroup.procs").write_text(str(pid))

    def sweep(self) -> None:
        """Remove the groups in which no process is left."""
        for group in self.folder.glob(f"{PREFIX}*") if self.folder is not None else ():
            with suppress(OSError):  # its JVM may take longer to end
                group.rmdir()
