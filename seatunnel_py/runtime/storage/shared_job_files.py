"""What other machines know of a job: it lies with its checkpoints, where ``checkpoint.location`` is a place of all.

Rules. (1) Each driver writes its own, under its incarnation; the newest counts. (2) Nothing here decides anything: the
records do. It is for people, and for the comparison of a job file with the one before. (3) No secret is in it. (4) Each
is sealed (``checksum_seal.py``); a damaged one is refused.

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
from seatunnel_py.runtime.storage.checkpoint_store import WAYS_ON, StoreError
from seatunnel_py.runtime.storage.checksum_seal import bond_of, is_sealed, sealed, unsealed

FOLDER = "about"
JOB, PLAN, RECEIPT = "job", "plan", "receipt"


class SharedJobFiles:
    """One job's, in its storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, incarnation: int, what: str, plain: Mapping[str, Any]) -> None:
        """Of this driver; what older ones wrote is of no use any more."""
        name = f"{FOLDER}/{incarnation:08}-{what}"
        self._storage.create(
            name, sealed(name, json.dumps(plain, default=str).encode(), bond_of(self._storage, incarnation).lineage)
        )
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
            bond = bond_of(self._storage, newest)
            old = not is_sealed(data) and bond.old
            return dict(json.loads(data if old else unsealed(name, data, bond.lineage)))
        except (ValueError, TypeError) as error:
            raise StoreError(f"{self._storage.describe(name)} is damaged: {error}", WAYS_ON) from None

    def _names(self, what: str) -> list[str]:
        return [name for name in self._storage.names(FOLDER) if name.endswith(f"-{what}")]
