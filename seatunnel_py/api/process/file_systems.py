"""Finds the type of the file system that a path is on. Only Linux shows it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str:
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
