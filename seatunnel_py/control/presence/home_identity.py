"""The identity of a home: a file with a random number, by which a server knows that its home is there.

A mount point whose storage is away is an empty directory: without the identity all runs would seem to be deleted.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sqlalchemy import Connection

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.control.store import settings
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.local_storage import sync_directory

NAME = "home.id"
HOME_ID = "home-id"
BYTES_MAX = 100


@dataclass(frozen=True, slots=True)
class HomeIdentity:
    """``id``: of the home at ``path`` when the server began."""

    path: Path
    id: str

    @classmethod
    def of(cls, home: Path) -> Self:
        """The identity of a home, a new one where there is none. Raises SeaTunnelError."""
        file = home / "server" / NAME
        try:
            make_private(file.parent)
            if not file.exists():
                _make(file)
            return cls(home, _read(file))
        except OSError as error:
            raise SeaTunnelError(f"cannot keep {file}: {error.strerror}", "give the server a home of its own") from None

    def is_here(self) -> bool:
        """Whether the home is there now, and is the same."""
        try:
            return _read(self.path / "server" / NAME) == self.id
        except OSError:
            return False

    def bind(self, connection: Connection) -> None:
        """Let a database serve this home only, for its rows name runs of it. Raises SeaTunnelError for that of another
        one."""
        known = settings.value(connection, HOME_ID)
        if known is None:
            settings.keep(connection, HOME_ID, self.id)
        elif known != self.id:
            file = self.path / "server" / NAME
            raise SeaTunnelError(
                f"the store is that of another home: {known}, and {self.path} is {self.id}",
                f"name another database or schema in `store`; or, if {self.path} is that home in a new place, write "
                f"{known} into {file}",
            )

    @staticmethod
    def unbind(connection: Connection) -> None:
        """Let a copy of a database serve any home."""
        settings.keep(connection, HOME_ID, None)


def _make(file: Path) -> None:
    """Another server may do the same at this moment: one of both wins."""
    draft = file.with_name(f".{NAME}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(secrets.token_hex(8))
            opened.flush()
            os.fsync(opened.fileno())
        try:
            os.link(draft, file)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            draft.rename(file)
        sync_directory(file.parent)  # a store is bound to the number
    finally:
        draft.unlink(missing_ok=True)


def _read(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(BYTES_MAX).decode("utf-8", "replace").strip()
