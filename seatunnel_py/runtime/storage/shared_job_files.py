"""Stores facts about a job beside its checkpoints in a shared ``checkpoint.location``, for other machines.

Rules. (1) Each driver writes its own files, under its incarnation; the newest counts. (2) They decide nothing, unlike
records: they are for display, and for the comparison of job files. (3) They contain no secrets. (4) Each
is sealed (``checksum_seal.py``); a damaged one is refused.

::

    about/00000002-job        the job as started, like ``job.json``
    about/00000002-plan       its steps and tables, like ``plan.json``
    about/00000002-receipt    its result, after its end
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.runtime.storage.checkpoint_store import WAYS_ON, StoreError
from seatunnel_py.runtime.storage.checksum_seal import OtherJobFileError, bond_of, is_sealed, sealed, unsealed

FOLDER = "about"
JOB, PLAN, RECEIPT = "job", "plan", "receipt"


class SharedJobFiles:
    """The shared files of one job, in its storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, incarnation: int, what: str, plain: Mapping[str, Any]) -> None:
        """Write a file of this driver, and delete those of older ones."""
        name = f"{FOLDER}/{incarnation:08}-{what}"
        self._storage.create(
            name, sealed(name, json.dumps(plain, default=str).encode(), bond_of(self._storage, incarnation).lineage)
        )
        for name in self._names(what):
            if int(name.partition("-")[0]) < incarnation:
                self._storage.delete(f"{FOLDER}/{name}")

    def read(self, what: str) -> dict[str, Any] | None:
        """Read the newest driver's file; None: it does not exist."""
        newest = max((int(name.partition("-")[0]) for name in self._storage.names(FOLDER)), default=0)
        name = f"{FOLDER}/{newest:08}-{what}"
        data = self._storage.get(name)
        if data is None:
            return None
        try:
            bond = bond_of(self._storage, newest)
            old = not is_sealed(data) and bond.old
            return dict(json.loads(data if old else unsealed(name, data, bond.lineage)))
        except OtherJobFileError:
            mine, driver = self._storage.describe(name), self._storage.describe(f"incarnations/{newest:08}")
            raise StoreError(
                f"{mine} is damaged: it is of another job than {driver}, or that is damaged", WAYS_ON
            ) from None
        except (ValueError, TypeError) as error:
            raise StoreError(f"{self._storage.describe(name)} is damaged: {error}", WAYS_ON) from None

    def _names(self, what: str) -> list[str]:
        return [name for name in self._storage.names(FOLDER) if name.endswith(f"-{what}")]
