"""The file of a backup: a line with its format, length and SHA-256, a line about it, and a database of SQLite.

Rules. (1) A damaged or foreign file is refused before anything changes. (2) The file is whole or not there: it gets its
name when its last byte is durable. (3) It is the same for each place of the database, so a backup also moves a server
from one to the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.local_storage import sync_directory

_MAGIC, _VERSION = b"seatunnel-server-backup", b"1"
_HEAD_BYTES_MAX = 10_000
_COPIED_BYTES = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class BackupError(SeaTunnelError):
    """No copy can be made, or this one cannot be given back. Nothing has changed."""


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """``release``: of seatunnel-py; ``home``: where the database was; ``made_at``: seconds since 1970; ``schema``: the
    version of its tables."""

    release: str
    home: str
    made_at: float
    schema: int


@contextmanager
def drafts(target: Path, count: int) -> Iterator[list[Path]]:
    """New private files beside the target, which are gone afterwards."""
    made: list[Path] = []
    try:
        for _ in range(count):
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            os.close(descriptor)
            made.append(Path(name))
        yield made
    finally:
        for each in made:
            each.unlink(missing_ok=True)


def pack(database: Path, facts: BackupFacts, draft: Path, target: Path) -> None:
    """Write a backup into the draft, and give it its name."""
    with database.open("rb") as rows, draft.open("wb") as file:
        _write(file, json.dumps(asdict(facts)).encode() + b"\n", rows)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(target)
    sync_directory(target.parent)


def _write(file: IO[bytes], about: bytes, rows: IO[bytes]) -> None:
    found = hashlib.sha256(about)
    while piece := rows.read(_COPIED_BYTES):
        found.update(piece)
    size = len(about) + rows.tell()
    file.write(b"%s %s %d %s\n" % (_MAGIC, _VERSION, size, found.hexdigest().encode()))
    file.write(about)
    rows.seek(0)
    shutil.copyfileobj(rows, file, _COPIED_BYTES)


def unpack(backup: Path, draft: Path) -> BackupFacts:
    """Write the database of a backup into a new private file. Raises BackupError for a damaged backup, and OSError."""
    found, size = hashlib.sha256(), 0
    with backup.open("rb") as file, os.fdopen(os.open(draft, _NEW, 0o600), "wb") as into:
        words = file.readline(_HEAD_BYTES_MAX).split()
        if len(words) != 4 or words[0] != _MAGIC:
            raise BackupError(f"{backup} is not a backup of a server", "`seatunnel server backup FILE` makes one")
        if words[1] != _VERSION:
            shown = words[1].decode(errors="replace")
            raise BackupError(f"{backup} has the format {shown}, which this release does not know", "use a newer one")
        about = file.readline(_HEAD_BYTES_MAX)
        found.update(about)
        while piece := file.read(_COPIED_BYTES):
            found.update(piece)
            size += into.write(piece)
    if words[2:] != [b"%d" % (len(about) + size), found.hexdigest().encode()]:
        raise BackupError(f"{backup} is damaged: its checksum or its length is wrong", "take another backup")
    return BackupFacts(**json.loads(about))
