"""Keeps a run's mark in its target directory: a small hidden file by which its commits recognise the directory.

A directory that was deleted and created again under the same name may get the very same inode numbers, so these prove
nothing. The set-up writes the mark, and the last commit removes it. The mark also lists the content of a file that is
assembled at the end (``single_file``): nothing else would show that a collected file is missing.

A draft names the owner, because its content may be incomplete: the next run of that owner, which may have another
mark, removes it.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, astuple, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from seatunnel_connectors.files.storage import LocalFiles
from seatunnel_connectors.files.write.file_names import STAGING
from seatunnel_py.api import CannotResumeError, CommitLostError

_NAME = re.compile(r"run-([0-9a-f]{8})\.json")
BEGIN_ANEW = "delete the files of this run that are there, and run the job again with --fresh"


@dataclass(frozen=True, slots=True)
class Owner:
    """Run that owns a mark."""

    job: str
    step: str
    table: str

    @property
    def suffix(self) -> str:
        """The suffix of its drafts."""
        return f".{sha256(repr(astuple(self)).encode()).hexdigest()[:8]}.draft"


@dataclass(frozen=True, slots=True)
class DirectoryMark:
    """The mark of one run in ``root``; ``token`` was drawn at planning."""

    storage: LocalFiles
    root: str
    token: str

    @property
    def path(self) -> str:
        return str(Path(self.root, STAGING, f"run-{self.token}.json"))

    def make(self, owner: Owner) -> None:
        """Write the mark once: a repeated set-up keeps the existing one."""
        if not self.is_there():
            self.storage.make_directory(self.root)
            self.storage.make_directory(self._hidden, private=True)
            for name in self.storage.names(self._hidden):
                if name.endswith(owner.suffix):
                    self.storage.delete(str(Path(self._hidden, name)))
            write_json(self.storage, self.path, {**asdict(owner), "collected": []}, owner.suffix)
            self.storage.sync_directory(self.root)

    @property
    def _hidden(self) -> str:
        return str(Path(self.path).parent)

    def is_there(self) -> bool:
        return self.storage.stat(self.path) is not None

    @property
    def owner(self) -> Owner:
        found = self._read()
        return Owner(found["job"], found["step"], found["table"])

    def collected(self) -> dict[str, dict[str, Any]]:
        """Collected files by name. Raises LOST if the mark is missing."""
        if not self.is_there():
            raise self.lost()
        return {str(one["name"]): one for one in self._read()["collected"]}

    def collect(self, files: dict[str, dict[str, Any]]) -> None:
        found = {**self._read(), "collected": [files[name] for name in sorted(files)]}
        write_json(self.storage, self.path, found, self.owner.suffix)

    def _read(self) -> dict[str, Any]:
        with self.storage.open_input(self.path) as file:
            found: dict[str, Any] = json.loads(file.read())
        return found

    def others(self) -> list[DirectoryMark]:
        """Marks of other runs in this directory."""
        names = self.storage.names(self._hidden) if self.storage.is_directory(self._hidden) else []
        tokens = [found.group(1) for name in names if (found := _NAME.fullmatch(name))]
        return [replace(self, token=token) for token in tokens if token != self.token]

    def remove(self) -> None:
        self.storage.delete(self.path)
        self.storage.delete_empty(self._hidden)

    def lost(self) -> CannotResumeError:
        return CommitLostError(
            f"LOST: the directory {self.root} was removed and created again during the run: it has lost the mark "
            f"{self.path} of this run, and the files that were written to it before",
            BEGIN_ANEW,
        )


def write_json(storage: LocalFiles, path: str, value: Any, suffix: str = ".draft") -> None:
    """Write a complete and durable file. ``suffix``: of its draft."""
    draft = path + suffix
    storage.delete(draft)
    with storage.create(draft) as file:
        file.write(json.dumps(value).encode())
        storage.sync(file)
    storage.rename(draft, path)
    storage.sync_directory(str(Path(path).parent))
