"""Storages keep the checkpoints and the journal of a job, which outlive the driver.

A storage holds bytes under names like ``records/00000002-00000017``: a folder and a name of letters, digits, ``-`` and
``.``. A storage is registered as an entry point of the group ``seatunnel_py.storages``, under the scheme of its URLs;
the entry point is called with the URL and the job id, and returns the storage of that job. Savepoints of all jobs are
stored under the job id ``.savepoints``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from seatunnel_py.errors import FatalError


class Storage(ABC):
    """The storage of one job. Every method may block; only ``create`` is called by several processes for one name. A
    method raises RetriableError if the same call may succeed later (a running job repeats it), else FatalError, and
    never shows a secret of the URL."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Create ``name`` with this content, atomic and durable; return False if it exists. Of concurrent calls exactly
        one may return True: this ensures that a job has one driver. A process that dies in the middle leaves nothing
        under the name."""

    @abstractmethod
    def append(self, name: str, data: bytes) -> None:
        """Append ``data`` to ``name``, durably. A process that dies in the middle may leave a part of it; a
        RetriableError leaves all or nothing."""

    @abstractmethod
    def get(self, name: str) -> bytes | None:
        """Return the content of ``name``, or None if it does not exist."""

    @abstractmethod
    def names(self, folder: str) -> Sequence[str]:
        """Return the names in this folder, sorted, without the folder, including those just created."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete ``name``, if it exists."""

    def jobs(self) -> Sequence[str]:
        """Return the sorted ids of all jobs with data at this URL. Called on a storage with the job id ""."""
        raise FatalError(f"{type(self).__name__} cannot list jobs", "name the job")

    def describe(self, name: str) -> str:
        """Return the location of ``name`` for messages, without secrets."""
        return name

    def close(self) -> None:
        """Close connections."""
        return
