"""Compares files for ``sync_mode = update``: files that the target has unchanged are not copied again."""

from __future__ import annotations

from pathlib import PurePosixPath

from seatunnel_connectors.files.read.options import CompareMode, FileReadOptions, UpdateStrategy
from seatunnel_connectors.files.storage import FileEntry, LocalFiles, outside, path_of

BLOCK = 1 << 20
MILLISECOND_NS = 1_000_000  # resolution that file systems share when a copy keeps the time


def is_there(storage: LocalFiles, options: FileReadOptions, root: str, entry: FileEntry) -> bool:
    """True if the target has the same file under this name, by the comparison that the options ask for."""
    path = PurePosixPath(entry.path)
    below = path.name if entry.path == root else str(path.relative_to(root))
    copy = storage.stat(str(PurePosixPath(path_of(options.target_path or ""), below)))
    if copy is None or copy.size != entry.size:
        return False
    if options.update_strategy is UpdateStrategy.DISTCP:
        return copy.mtime_ns >= entry.mtime_ns
    if options.compare_mode is CompareMode.CHECKSUM:
        return _same_bytes(storage, entry, copy)
    return copy.mtime_ns // MILLISECOND_NS == entry.mtime_ns // MILLISECOND_NS


def _same_bytes(storage: LocalFiles, one: FileEntry, other: FileEntry) -> bool:
    both = f"{one.path} with {other.path}"
    with storage.open_input(one.path) as mine, storage.open_input(other.path) as theirs, outside("compare", both):
        while block := mine.read(BLOCK):
            if block != theirs.read(BLOCK):
                return False
        return True
