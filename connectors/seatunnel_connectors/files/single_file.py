"""``single_file_mode``: one file per table (and partition), put together when the job is finished.

Units stage their rows as Arrow files, which commits only collect. The last commit of a bounded job, or every
commit of a streaming one, writes the file out of them. A small record of what was put together is written before
the file becomes visible, so that a repeated commit finishes or recognises it; it stays, hidden, as the proof.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from seatunnel_connectors.files import crash_points
from seatunnel_connectors.files.committer import FileCommitter, publish, staged_files
from seatunnel_connectors.files.formats.writing import Counted
from seatunnel_connectors.files.storage import outside
from seatunnel_connectors.files.writer import FileWriter, WritePlan, kept_rows, unit_directory
from seatunnel_py.api import Batch, CommitContext, Piece, Plain, WriteContext, Writer

HELD = "held"


@dataclass(slots=True)
class HoldingWriter(Writer):
    """Stages the rows of one unit as they are."""

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
            files = [{"temp": self.temp, "final": "", "size": size, "crc32": crc32, "rows": self.rows}]
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
    """``each``: every commit makes a file of its own, as a job without an end must."""

    each: bool = False

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        crash_points.BEFORE.hit()
        storage, scope = self.plan.storage, self._scope(context)
        record = scope / f"composed-{context.checkpoint}.json"
        if self._newest_composed(scope) > context.checkpoint:
            return  # commits are in order: what this one collected is in that file
        if not storage.exists(str(record)):
            held = self._collect(pieces, context)
            if not (self.each or context.final):
                return
            self._compose(held, record, context)
        crash_points.COMPOSED.hit()
        publish(storage, self.plan.root, json.loads(record.read_text()))
        crash_points.PUBLISHED.hit()
        for name in storage.names(str(scope)):
            if not name.startswith("composed-"):
                storage.delete_tree(str(scope / name))
        crash_points.AFTER.hit()

    def _newest_composed(self, scope: Path) -> int:
        names = self.plan.storage.names(str(scope)) if self.plan.storage.is_directory(str(scope)) else ()
        found = (name.removeprefix("composed-").removesuffix(".json") for name in names)
        return max((int(number) for number in found if number.isdigit()), default=0)

    def _collect(self, pieces: Sequence[Piece], context: CommitContext) -> list[str]:
        """Move what was staged to where this checkpoint's rows are kept; all that is kept so far, in order."""
        storage, directory = self.plan.storage, self._scope(context) / HELD
        storage.make_directory(str(directory), private=True)
        files = []
        for index, piece in enumerate(pieces):
            for file in staged_files(piece):
                final = directory / f"{context.checkpoint:012d}-{index:06d}.arrow"
                files.append({**file, "final": str(final)})
        publish(storage, str(directory), files)
        for piece in pieces:
            storage.delete_tree(str(piece.data["directory"]))
        return [str(directory / name) for name in storage.names(str(directory))]

    def _compose(self, held: list[str], record: Path, context: CommitContext) -> None:
        storage, directory = self.plan.storage, record.with_name(f"parts.{context.incarnation}")
        storage.delete_tree(str(directory))
        who = WriteContext(context.job_id, context.lineage, context.step, f"single@{context.checkpoint}")
        suffix = f"_{context.checkpoint}" if self.each else ""
        writer = FileWriter(self.plan, who, str(directory), suffix=suffix)
        try:
            for path in held:
                self._copy(path, writer)
            if not held and self.plan.options.create_empty_file_when_no_data:
                writer.touch()
            files = staged_files(writer.stage())
        except BaseException:
            writer.abort()
            raise
        draft = str(record.with_suffix(".draft"))
        storage.make_directory(str(record.parent), private=True)
        storage.delete(draft)
        with storage.create(draft) as file:
            file.write(json.dumps(files).encode())
            storage.sync(file)
        storage.rename(draft, str(record))
        storage.sync_directory(str(record.parent))

    def _copy(self, path: str, writer: FileWriter) -> None:
        import pyarrow as pa

        with self.plan.storage.open_input(path) as file, pa.ipc.open_stream(file) as stream:
            for data in stream:
                writer.write(Batch(self.plan.table.path, data))
