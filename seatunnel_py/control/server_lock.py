"""The lock of a home's server: two servers would restart the same runs."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.errors import SeaTunnelError

BYTES_MAX = 1_000


class ServerRunsError(SeaTunnelError):
    """Another server has this home."""


@dataclass(frozen=True, slots=True)
class ServerLock:
    """A lock that is held until ``release``, or until the process ends."""

    descriptor: int

    @classmethod
    def take(cls, home: Path, address: str) -> Self:
        """Lock a home; ``address``: where the server answers, for the message of a second one. Raises
        ServerRunsError."""
        path = home / "server" / "lock"
        try:
            make_private(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SeaTunnelError(
                f"cannot write {path}: {error.strerror}", "give the server a home of its own"
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, BYTES_MAX).decode(errors="replace")
            os.close(descriptor)
            raise ServerRunsError(
                f"a server has this home already{_named(owner)}",
                "use that one, or end it first; a server for other runs needs another SEATUNNEL_HOME",
            ) from None
        about = {"address": address, "pid": os.getpid(), "host": socket.gethostname()}
        return cls(descriptor)._noted(about)

    def note_probed(self, url: str) -> None:
        """Note where the server answers probes of its own machine, once it listens."""
        self._noted({**json.loads(os.pread(self.descriptor, BYTES_MAX, 0)), "probed": url})

    def _noted(self, about: Mapping[str, Any]) -> Self:
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(about).encode(), 0)
        return self

    @classmethod
    def address(cls, home: Path) -> str | None:
        """The address of the server of a home; None: no server has it."""
        return (cls.noted(home) or {}).get("address")

    @staticmethod
    def noted(home: Path) -> Mapping[str, Any] | None:
        """The notes of the server of a home; None: no server has it."""
        try:
            descriptor = os.open(home / "server" / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                found = json.loads(os.pread(descriptor, BYTES_MAX, 0))
            except ValueError:
                return {}
            return found if isinstance(found, dict) else {}
        finally:
            os.close(descriptor)
        return None

    def release(self) -> None:
        """Give the lock back."""
        os.close(self.descriptor)


def _named(owner: str) -> str:
    try:
        about = json.loads(owner)
        return f": {about['address']} (process {about['pid']} on {about['host']})"
    except (ValueError, KeyError, TypeError):
        return ""
