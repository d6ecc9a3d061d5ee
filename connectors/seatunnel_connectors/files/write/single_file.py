"""Writes one file per table (and partition) for ``single_file_mode``, when the job is finished.

Units stage their rows as Arrow files, and commits only collect them. The last commit of a bounded job, or every commit
of a streaming one, assembles the file. Before the file becomes visible, a small record of its parts is written, so that
a repeated commit finishes or recognises it; it stays, hidden, as the proof.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from seatunnel_connectors.files import failpoints
from seatunnel_connectors.files.formats.writers.base import Counted
from seatunnel_connectors.files.storage import outside
from seatunnel_connectors.files.write.committer import FileCommitter, publish, staged_files
from seatunnel_connectors.files.write.directory_mark import BEGIN_ANEW, DirectoryMark, write_json
from seatunnel_connectors.files.write.writer import FileWriter, WritePlan, kept_rows, unit_directory
from seatunnel_py.api import Batch, CommitContext, CommitLostError, Piece, Plain, WriteContext, Writer

HELD = "held"


@dataclass(frozen=True, slots=True)
class CollectedFile:
    """A collected file and its expected row count; None: an older version did not record it."""

    path: str
    rows: int | None = None


@dataclass(slots=True)
class HoldingWriter(Writer):
    """Stages the rows of one unit unchanged."""

    plan: WritePlan
    context: WriteContext
    temp: str = ""
    file: IO[bytes] | None = None
    counted: Counted | None = None
    stream: Any = None
    rows: int = 0
    merged: int = 0

    def write(self, batch: Batch) -> None:
        import pyarrow as pa

        data = kept_rows(self.plan.options, batch)
        if self.stream is None:
            directory = unit_directory(self.plan, self.context)
            self.plan.storage.make_directory(self.plan.root)
            self.plan.storage.make_directory(directory, private=True)
            self.temp = str(Path(directory, "rows.arrow"))
            self.file = self.plan.storage.create(self.temp)
            self.counted = Counted(self.file)
            settings = pa.ipc.IpcWriteOptions(compression="lz4")
            self.stream = pa.ipc.new_stream(pa.PythonFile(self.counted, "w"), data.schema, options=settings)
        with outside("write", self.temp):
            self.stream.write_batch(data)
        self.rows += batch.rows
        self.merged += batch.rows - data.num_rows

    def stage(self) -> Piece:
        files: list[Plain] = []
        if self.file is not None and self.counted is not None:
            with outside("write", self.temp), self.file:
                self.stream.close()
                self.plan.storage.sync(self.file)
            self.plan.storage.sync_directory(str(Path(self.temp).parent))
            size, crc32 = self.counted.size, self.counted.crc32
            kept = self.rows - self.merged
            files = [{"temp": self.temp, "final": "", "size": size, "crc32": crc32, "rows": self.rows, "kept": kept}]
        directory = unit_directory(self.plan, self.context)
        size = self.counted.size if self.counted else 0
        return Piece(self.rows, size, self.merged, {"files": files, "directory": directory})

    def abort(self) -> None:
        with contextlib.suppress(Exception):
            if self.file is not None and self.counted is not None:
                self.counted.drop()
                self.stream.close()
                self.file.close()
            self.plan.storage.delete_tree(unit_directory(self.plan, self.context))


@dataclass(frozen=True, slots=True)
class SingleFileCommitter(FileCommitter):
    """Collects and assembles files. ``each``: every commit makes a file of its own, as in a job without an end."""

    each: bool = False

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        failpoints.BEFORE.hit()
        storage, scope = self.plan.storage, self._scope(context)
        record = scope / f"composed-{context.checkpoint}.json"
        if self._newest_composed(scope) > context.checkpoint:
            return  # commits are in order: this one's collected rows are in that file
        if not storage.exists(str(record)):
            held = self._collect(pieces, context)
            if not (self.each or context.final):
                return
            self._compose(held, record, context)
        failpoints.COMPOSED.hit()
        publish(storage, self.plan.root, json.loads(record.read_text()))
        failpoints.PUBLISHED.hit()
        for name in storage.names(str(scope)):
            if not name.startswith("composed-"):
                storage.delete_tree(str(scope / name))
        mark = self._mark(context)
        if mark is not None and context.final:
            mark.remove()
        failpoints.AFTER.hit()

    def _newest_composed(self, scope: Path) -> int:
        names = self.plan.storage.names(str(scope)) if self.plan.storage.is_directory(str(scope)) else ()
        found = (name.removeprefix("composed-").removesuffix(".json") for name in names)
        return max((int(number) for number in found if number.isdigit()), default=0)

    def _collect(self, pieces: Sequence[Piece], context: CommitContext) -> list[CollectedFile]:
        """Move staged files to the place for this checkpoint's rows; return everything kept so far, in order. Raises
        LOST if a file of it is missing."""
        storage, directory = self.plan.storage, self._scope(context) / HELD
        storage.make_directory(str(directory), private=True)
        files = []
        for index, piece in enumerate(pieces):
            for file in staged_files(piece):
                final = directory / f"{context.checkpoint:012d}-{index:06d}.arrow"
                files.append({**file, "final": str(final)})
        mark = self._mark(context)
        collected = self._collected(mark, context) if mark is not None else {}
        publish(storage, str(directory), files)
        if mark is not None:
            for file in files:
                name = Path(file["final"]).name
                collected[name] = {"name": name, "size": file["size"], "kept": file["kept"]}
            mark.collect(collected)
        for piece in pieces:
            storage.delete_tree(str(piece.data["directory"]))
        if mark is None:
            return [CollectedFile(str(directory / name)) for name in storage.names(str(directory))]
        return [self._held(str(directory / name), collected[name]) for name in sorted(collected)]

    def _collected(self, mark: DirectoryMark, context: CommitContext) -> dict[str, Any]:
        """Files that earlier commits have collected and that are not assembled yet."""
        newest = self._newest_composed(self._scope(context))
        return {name: one for name, one in mark.collected().items() if int(name.partition("-")[0]) > newest}

    def _held(self, path: str, wanted: Mapping[str, Any]) -> CollectedFile:
        found = self.plan.storage.stat(path)
        if found is None or found.size != wanted["size"]:
            now = "is gone" if found is None else f"has {found.size} bytes, and {wanted['size']} were staged"
            raise CommitLostError(
                f"LOST: the staged file {path} ({wanted['kept']} rows) {now}",
                f"someone changed files of a running job; {BEGIN_ANEW}",
            )
        return CollectedFile(path, wanted["kept"])

    def _compose(self, held: list[CollectedFile], record: Path, context: CommitContext) -> None:
        storage, directory = self.plan.storage, record.with_name(f"parts.{context.incarnation}")
        storage.delete_tree(str(directory))
        who = WriteContext(context.job_id, context.lineage, context.step, f"single@{context.checkpoint}")
        suffix = f"_{context.checkpoint}" if self.each else ""
        writer = FileWriter(self.plan, who, str(directory), suffix=suffix)
        try:
            for one in held:
                self._copy(one, writer)
            if not held and self.plan.options.leaves_empty_file:
                writer.touch()
            files = staged_files(writer.stage())
        except BaseException:
            writer.abort()
            raise
        storage.make_directory(str(record.parent), private=True)
        write_json(storage, str(record), files)

    def _copy(self, held: CollectedFile, writer: FileWriter) -> None:
        import pyarrow as pa

        before = writer.rows
        with self.plan.storage.open_input(held.path) as file, pa.ipc.open_stream(file) as stream:
            for data in stream:
                writer.write(Batch(self.plan.table.path, data))
        if held.rows not in (None, writer.rows - before):
            raise CommitLostError(
                f"LOST: {held.rows} rows were staged in {held.path}, and {writer.rows - before} of them are there",
                f"someone changed files of a running job; {BEGIN_ANEW}",
            )
