"""Writes files from rows of (data, relativePath, partIndex), as the binary source cuts them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from seatunnel_connectors.files.formats.writers.base import Counted
from seatunnel_connectors.files.storage import outside
from seatunnel_connectors.files.write.file_names import STAGING
from seatunnel_connectors.files.write.writer import WritePlan, unit_directory
from seatunnel_py.api import Batch, FatalError, Piece, Plain, TableSchema, WriteContext, Writer


def check_columns_of(table: TableSchema) -> None:
    """Raise ValueError unless the table has the binary source's columns."""
    wanted = {"data": "bytes", "relativePath": "string", "partIndex": "bigint"}
    for name, kind in wanted.items():
        column = table.column(name)
        if column is None or str(column.dtype) != kind:
            raise ValueError(f"the format binary needs a column {name!r} of type {kind}")


@dataclass(slots=True)
class _Growing:
    """An unfinished file and its next part number."""

    temp: str
    file: IO[bytes]
    counted: Counted
    next_part: int = 0


@dataclass(slots=True)
class BinaryWriter(Writer):
    """Writes the rows of one unit; the parts of a file must come in order, beginning with 0."""

    plan: WritePlan
    context: WriteContext
    directory: str = ""
    growing: tuple[str, _Growing] | None = None
    files: list[dict[str, Plain]] = field(default_factory=list)
    rows: int = 0

    def __post_init__(self) -> None:
        self.directory = unit_directory(self.plan, self.context)

    def write(self, batch: Batch) -> None:
        columns = (batch.data.column(name).to_pylist() for name in ("data", "relativePath", "partIndex"))
        for data, name, index in zip(*columns, strict=True):
            growing = self._file(str(name))
            if index != growing.next_part:
                raise FatalError(
                    f"part {index} of {name!r} came where part {growing.next_part} was due",
                    "copy binary files straight from a binary source to the sink, one file at a time",
                )
            with outside("write", growing.temp):
                growing.counted.write(data or b"")
            growing.next_part += 1
        self.rows += batch.rows

    def _file(self, name: str) -> _Growing:
        if self.growing is not None and self.growing[0] == name:
            return self.growing[1]
        self._finish()
        _check_relative(name)
        storage = self.plan.storage
        storage.make_directory(self.plan.root)
        storage.make_directory(self.directory, private=True)
        temp = str(Path(self.directory, f"{len(self.files)}.part"))
        file = storage.create(temp)
        self.growing = (name, _Growing(temp, file, Counted(file)))
        return self.growing[1]

    def _finish(self) -> None:
        if self.growing is None:
            return
        name, growing = self.growing
        self.growing = None
        final = str(Path(self.plan.root, name))
        if any(file["final"] == final for file in self.files):
            growing.file.close()
            raise FatalError(f"the parts of {name!r} came mixed with another file's")
        with outside("write", growing.temp), growing.file:
            self.plan.storage.sync(growing.file)
        self.files.append(
            {
                "temp": growing.temp,
                "final": final,
                "size": growing.counted.size,
                "crc32": growing.counted.crc32,
                "rows": growing.next_part,
            }
        )

    def stage(self) -> Piece:
        self._finish()
        if self.files:
            self.plan.storage.sync_directory(self.directory)
        size = sum(int(str(file["size"])) for file in self.files)
        files: list[Plain] = [dict(file) for file in self.files]
        return Piece(self.rows, size, 0, {"files": files, "directory": self.directory})

    def abort(self) -> None:
        with contextlib.suppress(Exception):
            if self.growing is not None:
                self.growing[1].file.close()
            self.plan.storage.delete_tree(self.directory)


def _check_relative(name: str) -> None:
    path = PurePosixPath(name)
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or "\0" in name or parts[0] == STAGING:
        raise FatalError(
            f"relativePath {name!r} leads out of the sink's directory",
            "such a name is made to overwrite files; do not trust its source",
        )
