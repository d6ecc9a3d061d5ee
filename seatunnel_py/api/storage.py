"""Storages: where a driver keeps what has to outlive it, its checkpoints and its journal.

A storage holds bytes under names like ``records/00000002-00000017``: a folder and a name of letters, digits, ``-`` and
``.``. It is found through an entry point of the group ``seatunnel_py.storages`` whose name is the scheme of a URL; the
entry point is called with the URL and the job's id, and answers with the storage of that job. Savepoints of all jobs
are kept under the id ``.savepoints``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from seatunnel_py.errors import FatalError


class Storage(ABC):
    """One job's. Every method may block; only ``create`` is called by several processes under one name. What cannot be
    done raises RetriableError, where the same call may succeed later (a running job makes it again), or FatalError, and
    never shows a secret of the URL."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Make ``name`` with this content, whole and durable; false where it is there already. Of several who try at
        once exactly one may hear true: on this rests that there is one driver. A process that dies in the middle leaves
        nothing under the name."""

    @abstractmethod
    def append(self, name: str, data: bytes) -> None:
        """Put ``data`` behind what ``name`` holds, durably. A process that dies in the middle may leave a part of it, a
        RetriableError all or nothing."""

    @abstractmethod
    def get(self, name: str) -> bytes | None:
        """What was created and appended under this name; None: nothing was."""

    @abstractmethod
    def names(self, folder: str) -> Sequence[str]:
        """The names in this folder, in order, without the folder; what was just created is there."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Nothing is under this name afterwards."""

    def jobs(self) -> Sequence[str]:
        """The ids of all jobs that have something at this URL, in order; this storage was made for the id ""."""
        raise FatalError(f"{type(self).__name__} cannot say which jobs there are", "name the job")

    def describe(self, name: str) -> str:
        """Where that is, for people, without a secret."""
        return name

    def close(self) -> None:
        """Let go of connections."""
        return
