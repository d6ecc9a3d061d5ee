"""What other machines know of a job: it lies with its checkpoints, where ``checkpoint.location`` is a place of all.

Rules. (1) Each driver writes its own, under its incarnation; the newest counts. (2) Nothing here decides anything: the
records do. It is for people, and for the comparison of a job file with the one before. (3) No secret is in it.

::

    about/00000002-job        what was started, as ``job.json``
    about/00000002-plan       its steps and tables, as ``plan.json``
    about/00000002-receipt    what became of it, once it ended
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import SeaTunnelError

FOLDER = "about"
JOB, PLAN, RECEIPT = "job", "plan", "receipt"


class SharedJob:
    """One job's, in its storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, incarnation: int, what: str, plain: Mapping[str, Any]) -> None:
        """Of this driver; what older ones wrote is of no use any more."""
        self._storage.create(f"{FOLDER}/{incarnation:08}-{what}", json.dumps(plain, default=str).encode())
        for name in self._names(what):
            if int(name.partition("-")[0]) < incarnation:
                self._storage.delete(f"{FOLDER}/{name}")

    def read(self, what: str) -> dict[str, Any] | None:
        """As the newest driver wrote it; None: it has not."""
        newest = max((int(name.partition("-")[0]) for name in self._storage.names(FOLDER)), default=0)
        name = f"{FOLDER}/{newest:08}-{what}"
        data = self._storage.get(name)
        if data is None:
            return None
        try:
            return dict(json.loads(data))
        except (ValueError, TypeError) as error:
            raise SeaTunnelError(f"{self._storage.describe(name)} is damaged: {error}", "remove it") from None

    def _names(self, what: str) -> list[str]:
        return [name for name in self._storage.names(FOLDER) if name.endswith(f"-{what}")]
