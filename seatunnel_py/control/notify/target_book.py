"""The targets of now: the settings file is read again after it has changed.

Rules. (1) A file that is wrong at the start of the server stops it. A file that becomes wrong later changes nothing:
``fault`` names the mistake until it is mended. (2) Names of hosts are looked up when a file is taken, for a short time
only: one that cannot be looked up then is checked by each connection, as the others are again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seatunnel_py.control.notify.sending.pinned_socket import RefusedAddressError, SendError, addresses_of
from seatunnel_py.control.notify.target_settings import NotifySettings, NotifyTarget, read_settings
from seatunnel_py.errors import SeaTunnelError

LOOK_UP_SECONDS = 3.0


class TargetBook:
    """The targets of a settings file; ``path``: None: there is none. ``environment``: for references to secrets."""

    def __init__(self, path: Path | None, environment: Mapping[str, str]) -> None:
        self._path, self._environment = path, environment
        self._signature = self._read = _signature(path)
        self.settings = NotifySettings() if path is None else taken(path, environment)
        self.fault = ""

    def target(self, name: str) -> NotifyTarget | None:
        """The target of this name."""
        return self.settings.targets.get(name)

    def changed(self) -> NotifySettings | None:
        """Read the file if it has changed; return the settings that are to be taken. A mistake becomes the fault."""
        signature = _signature(self._path)
        if self._path is None or signature == self._signature:
            return None
        try:
            found = taken(self._path, self._environment)
        except SeaTunnelError as error:
            self._signature, self.fault = signature, error.message
            return None
        self._read = signature
        return found

    def take(self, settings: NotifySettings) -> None:
        """Let these settings count from now on: the last ones that the file has had."""
        self.settings, self._signature, self.fault = settings, self._read, ""


def taken(path: Path, environment: Mapping[str, str]) -> NotifySettings:
    """Read a file, and look its hosts up. Raises SeaTunnelError."""
    settings = read_settings(path, environment)
    refused: list[RefusedAddressError] = []
    threads = [_looking(target, refused.append) for target in settings.targets.values()]
    for thread in threads:
        thread.join(LOOK_UP_SECONDS)
    if refused:
        raise refused[0]
    return settings


def _looking(target: NotifyTarget, refuse: Callable[[RefusedAddressError], None]) -> threading.Thread:
    def look() -> None:
        try:
            addresses_of(target.route)
        except RefusedAddressError as error:
            refuse(RefusedAddressError(f"notify.targets.{target.name}: {error.message}", error.remedy))
        except SendError:
            return  # each connection looks again

    made = threading.Thread(target=look, name=f"address of {target.name}", daemon=True)
    made.start()
    return made


def _signature(path: Path | None) -> Any:
    try:
        about = None if path is None else path.stat()
    except OSError:
        return None
    return None if about is None else (about.st_mtime_ns, about.st_ino, about.st_size)
