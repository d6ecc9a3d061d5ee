"""Reads the lines that a driver has added to the log of its run since a position, a bounded part at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatunnel_py.runtime.observe.rotated_files import generations

PART_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class EventLines:
    """``lines``: those with one of the wanted texts; ``position``: where the next part begins, ``INODE:OFFSET``;
    ``more``: another part is there."""

    lines: Sequence[dict[str, Any]]
    position: str
    more: bool = False


def read_on(path: Path, position: str, wanted: Sequence[bytes]) -> EventLines:
    """Read on from a position; empty: from the oldest line that is there. Of a file that was deleted or cut, what is
    there now is read: the ids of events show what was read before. A link is not followed."""
    name, _, offset = position.partition(":")
    paths = list(generations(path))
    found = [(one, about) for one in paths if (about := _about(one)) is not None]
    at = next((number for number, (_, about) in enumerate(found) if f"{about.st_ino:x}" == name), None)
    begin = int(offset or 0) if at is not None else 0
    for number in range(at or 0, len(found)):
        one, about = found[number]
        begin = begin if begin <= about.st_size else 0
        data = _read(one, begin)
        if data is None:
            return EventLines((), position)
        if data:
            end = begin + len(data)
            return EventLines(_lines(data, wanted), f"{about.st_ino:x}:{end}", end < about.st_size or one != path)
        position, begin = f"{about.st_ino:x}:{begin}", 0
    return EventLines((), position)


def _about(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _read(path: Path, begin: int) -> bytes | None:
    """Whole lines from an offset. Half a last line waits; of one that is longer than a part, the part is skipped."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        data = os.pread(descriptor, PART_BYTES, begin)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    whole = data.rfind(b"\n") + 1
    return data[:whole] if whole or len(data) < PART_BYTES else data


def _lines(data: bytes, wanted: Sequence[bytes]) -> list[dict[str, Any]]:
    found = []
    for line in data.splitlines():
        if any(text in line for text in wanted):
            try:
                plain = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(plain, dict):
                found.append(plain)
    return found
