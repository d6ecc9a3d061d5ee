"""Makes staged files visible, by renames that can be repeated.

A file has its staged size when it is renamed. A file is *done* when its temporary name no longer exists and its final
name has the staged size and checksum; when neither name exists it is *lost*, and that is an error: absence is never
taken for success. The directory must be the one that the run began with (``directory_mark``).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from seatunnel_connectors.files import failpoints
from seatunnel_connectors.files.storage import FileEntry, LocalFiles
from seatunnel_connectors.files.write import cleanup
from seatunnel_connectors.files.write.directory_mark import BEGIN_ANEW, DirectoryMark
from seatunnel_connectors.files.write.file_names import UnitNames, incarnation_of
from seatunnel_connectors.files.write.writer import FileWriter, WritePlan
from seatunnel_py.api import CommitContext, CommitLostError, Committer, Piece, WriteContext

READ_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileCommitter(Committer):
    """Commits the pieces of one sink and table."""

    plan: WritePlan

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        storage = self.plan.storage
        files = [file for piece in pieces for file in staged_files(piece)]
        failpoints.BEFORE.hit()
        self._expect_directory(files, context)
        publish(storage, self.plan.root, files)
        failpoints.PUBLISHED.hit()
        for piece in pieces:
            storage.delete_tree(str(piece.data["directory"]))
        if context.final:
            if not files and self.plan.options.leaves_empty_file:
                self._write_empty(context)
            self._sweep(context)
            self._unmark(context)
        elif any(incarnation_of(Path(str(piece.data["directory"])).name) == context.incarnation for piece in pieces):
            # This driver's own units are in a checkpoint: everything in older drivers' checkpoints is committed by now.
            self._sweep_attempts(context, context.incarnation - 1)
        failpoints.AFTER.hit()

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        for piece in pieces:
            for file in staged_files(piece):
                self.plan.storage.delete(file["temp"])
            self.plan.storage.delete_tree(str(piece.data["directory"]))
        if context.final:
            self._sweep_attempts(context, context.incarnation)
            self._unmark(context)

    def sweep(self, context: CommitContext) -> Sequence[str]:
        mark, staging = self._mark(context), context.setup.get("staging")
        plan = replace(self.plan, staging=staging) if isinstance(staging, str) else self.plan
        return cleanup.sweep(plan, mark, context) if mark is not None else ()

    def _mark(self, context: CommitContext) -> DirectoryMark | None:
        """The mark of this run; None: an older version did the set-up."""
        token = context.setup.get("mark")
        return DirectoryMark(self.plan.storage, self.plan.root, token) if isinstance(token, str) else None

    def _unmark(self, context: CommitContext) -> None:
        if (mark := self._mark(context)) is not None:
            mark.remove()

    def _expect_directory(self, files: Sequence[Mapping[str, Any]], context: CommitContext) -> None:
        """Raise LOST if another directory has taken the name of the one with this run's files. If the last commit is
        repeated, it finds its files but no mark."""
        mark = self._mark(context)
        if mark is None or mark.is_there():
            return
        storage, scope = self.plan.storage, self._names(context).scope[:6]
        waiting = any(storage.stat(file["temp"]) is not None for file in files)
        if waiting or not any(scope in Path(entry.path).name for entry in self._published()):
            raise mark.lost()

    def _published(self) -> Iterable[FileEntry]:
        return self.plan.storage.files(self.plan.root) if self.plan.storage.is_directory(self.plan.root) else ()

    def _sweep(self, context: CommitContext) -> None:
        """Delete leftovers of this sink and table: files of dead attempts, and empty directories."""
        directory = self._scope(context)
        self.plan.storage.delete_tree(str(directory))
        self._sweep_empty(directory)

    def _sweep_attempts(self, context: CommitContext, newest: int) -> None:
        """Delete the files of attempts whose worker died without reporting them. Keep those of incarnations newer than
        ``newest``, which are still in use, and those that commits have kept."""
        storage, directory = self.plan.storage, self._scope(context)
        for name in storage.names(str(directory)) if storage.is_directory(str(directory)) else []:
            incarnation = incarnation_of(name)
            if incarnation is not None and incarnation <= newest:
                storage.delete_tree(str(directory / name))
        self._sweep_empty(directory)

    def _sweep_empty(self, directory: Path) -> None:
        for place in (directory, directory.parent, directory.parent.parent):
            self.plan.storage.delete_empty(str(place))

    def _scope(self, context: CommitContext) -> Path:
        """Directory with all staged files of this sink and table; as the set-up stored it, not as it would be chosen
        now."""
        staging = context.setup.get("staging")
        plan = replace(self.plan, staging=staging) if isinstance(staging, str) else self.plan
        return Path(plan.scope_directory(context.lineage, self._names(context).scope))

    def _names(self, context: CommitContext) -> UnitNames:
        return UnitNames(context.job_id, context.lineage, context.step, self.plan.table.path, "empty")

    def _write_empty(self, context: CommitContext) -> None:
        """Write a file without rows, unless an earlier commit of this lineage wrote one with rows."""
        storage, names = self.plan.storage, self._names(context)
        storage.make_directory(self.plan.root)
        if any(names.scope[:6] in Path(entry.path).name for entry in self._published()):
            return
        directory = str(self._scope(context) / f"empty.{context.incarnation}")
        storage.delete_tree(directory)
        who = WriteContext(context.job_id, context.lineage, context.step, names.data_id)
        writer = FileWriter(self.plan, who, directory)
        writer.touch()
        publish(storage, self.plan.root, staged_files(writer.stage()))


def staged_files(piece: Piece) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", piece.data["files"])


def publish(storage: LocalFiles, root: str, files: Iterable[Mapping[str, Any]]) -> None:
    """Rename every file to its final name, and make the names durable. Idempotent."""
    directories: set[Path] = set()
    for file in files:
        directory = Path(file["final"]).parent
        staged = storage.stat(file["temp"])
        if staged is None:
            check_done(storage, file)
        else:
            if staged.size != file["size"]:
                raise CommitLostError(
                    f"LOST: the staged file {file['temp']} ({file['rows']} rows) has {staged.size} bytes, and "
                    f"{file['size']} were staged",
                    f"someone changed files of a running job; {BEGIN_ANEW}",
                )
            if directory not in directories:
                storage.make_directory(str(directory))
            storage.rename(file["temp"], file["final"])
            failpoints.INSIDE.hit()
        while directory not in directories:
            directories.add(directory)
            if directory == Path(root) or directory == directory.parent:
                break
            directory = directory.parent
    for place in sorted(directories, key=lambda path: len(path.parts), reverse=True):
        storage.sync_directory(str(place))


def check_done(storage: LocalFiles, file: Mapping[str, Any]) -> None:
    """Check a file whose temporary name no longer exists: an earlier commit must have renamed it."""
    found = storage.stat(file["final"])
    if found is None:
        raise CommitLostError(
            f"LOST: the staged file {file['temp']} ({file['rows']} rows) is gone, and {file['final']} is not there",
            f"someone removed files of a running job; {BEGIN_ANEW}",
        )
    if found.size != file["size"] or checksum(storage, file["final"]) != file["crc32"]:
        raise CommitLostError(
            f"LOST: the staged file {file['temp']} is gone, and {file['final']} is not what was staged",
            f"someone changed files of a running job; {BEGIN_ANEW}",
        )


def checksum(storage: LocalFiles, path: str) -> int:
    crc32 = 0
    with storage.open_input(path) as file:
        while chunk := file.read(READ_BYTES):
            crc32 = zlib.crc32(chunk, crc32)
    return crc32
