"""Finds out if a path is on a network file system, which other machines may share. Only Linux shows that."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
        "afs", "ocfs2", "gfs2", "pvfs2", "orangefs",
    }
)  # fmt: skip


def is_on_network(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether other machines may have this path, too. True for every type of FUSE: most of them are shared."""
    found = _type_of(path, mounts)
    return found in NETWORK or found.startswith("fuse.")


def _type_of(path: Path, mounts: Path) -> str:
    """The type, such as ``ext4``, ``nfs4`` or ``fuse.sshfs``; empty: it is not known."""
    found, longest = "", -1
    with suppress(OSError, ValueError, IndexError):
        for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            point = Path(_plain(before.split()[4]))
            if path.absolute().is_relative_to(point) and len(point.parts) >= longest:
                found, longest = after.split()[0], len(point.parts)
    return found


def _plain(point: str) -> str:
    """A mount point without the escapes of the kernel."""
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        point = point.replace(f"\\{code}", character)
    return point
