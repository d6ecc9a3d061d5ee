"""Whether a run may have its driver on another machine, which shares the home with this one.

Rules. (1) Only a home on a network file system is shared: elsewhere a lock that is free proves that no driver is alive,
whatever name the machine had. (2) There the lock may be one of this machine only. A driver of another machine without a
receipt may live: it is never taken for dead. (3) A machine with another name but the same start of its kernel is this
one, as in a container.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from seatunnel_py.runtime.observe.driver_process import PROC, boot_id

NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
        "afs", "ocfs2", "gfs2", "pvfs2", "orangefs",
    }
)  # fmt: skip


def is_shared(path: Path, mounts: Path = PROC / "self/mountinfo") -> bool:
    """Whether a directory is on a file system that other machines may have, too. Only Linux shows it."""
    found, longest = "", -1
    with suppress(OSError, ValueError, IndexError):
        for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            point = Path(_plain(before.split()[4]))
            if path.absolute().is_relative_to(point) and len(point.parts) >= longest:
                found, longest = after.split()[0], len(point.parts)
    return found in NETWORK or found.startswith("fuse.")


def is_elsewhere(about: Mapping[str, Any]) -> bool:
    """Whether the driver in this job.json was started on another machine."""
    host, boot = about.get("host", ""), about.get("boot", "")
    return bool(host) and host != socket.gethostname() and (not boot or boot != boot_id())


def _plain(point: str) -> str:
    """A mount point without the escapes of the kernel."""
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        point = point.replace(f"\\{code}", character)
    return point
