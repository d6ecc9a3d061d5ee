"""Stages records until their commit: Arrow files in the job's staging location, one per unit and attempt.

Kafka aborts an open transaction after a while, so records do not wait inside one (bar: a job that is down for longer
than its transaction timeout loses nothing). A file appears complete: it is synced before its piece is reported, and its
name holds lineage, scope, rows and attempt, so two writers never share one. Size and checksum are in the piece.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import (
    CannotResumeError,
    CommitContext,
    CommitLostError,
    FatalError,
    RetriableError,
    TablePath,
    WriteContext,
    private_directory,
    private_output,
)

if TYPE_CHECKING:
    import pyarrow as pa

_READ_BYTES = 1 << 20
_NAME = re.compile(r"(?P<rows>[0-9a-f]{16})\.(?P<incarnation>\d+)\.(?P<epoch>\d+)\.(?P<attempt>\d+)\.[0-9a-f]+\.arrow")


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt that wrote a file, parsed from its name. Attempts at the same rows are ordered by ``order``."""

    rows: str
    order: tuple[int, int, int]

    @property
    def incarnation(self) -> int:
        return self.order[0]


def attempt_of(name: str) -> Attempt | None:
    """Parse a file name. None: SeaTunnel did not write the file."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Attempt(match["rows"], (int(match["incarnation"]), int(match["epoch"]), int(match["attempt"])))


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A complete file, as its piece describes it."""

    name: str
    size: int
    crc32: int
    records: int

    def to_plain(self) -> dict[str, int | str]:
        return {"file": self.name, "size": self.size, "crc32": self.crc32, "records": self.records}


def staged_file(plain: Mapping[str, Any]) -> StagedFile:
    return StagedFile(plain["file"], plain["size"], plain["crc32"], plain["records"])


class StagingPlace:
    """The files of one sink and table in one lineage."""

    def __init__(self, location: str, lineage: str, step: str, table: TablePath) -> None:
        from pyarrow import fs

        if not location:
            raise FatalError("exactly-once into Kafka needs a place to stage rows in, and the job has none")
        self._of = (location, lineage, step, table)
        scope = _digest(step, str(table))
        self.url = f"{location}/{lineage or 'none'}/{scope}"
        found: tuple[Any, str] = fs.FileSystem.from_uri(
            self.url if "://" in self.url else str(Path(self.url).absolute())
        )
        self._files, self._path = found
        self._local = self._files.type_name == "local"

    # ------------------------------------------------------------ writing

    def begin(self, context: WriteContext, schema: pa.Schema) -> FileInMaking:
        """A new file for the records of a unit."""
        who = f"{context.incarnation}.{context.epoch}.{context.attempt}.{secrets.token_hex(4)}"
        name = f"{_digest(context.data_id)}.{who}.arrow"
        with _outside("stage rows in", self.url):
            private_directory(self._files, self._path)
            return FileInMaking(self, name, schema)

    def create(self, name: str) -> pa.NativeFile:
        return private_output(self._files, f"{self._path}/{name}")

    def sync(self, name: str) -> None:
        """Sync a local file, so that it survives a power cut; on other storage a closed object is durable."""
        if not self._local:
            return
        for path in (f"{self._path}/{name}", self._path):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    # ------------------------------------------------------------ reading

    def read(self, file: StagedFile) -> Iterator[pa.RecordBatch]:
        """Read the records of a file, in bounded memory. Raises CannotResumeError if they differ from what was staged.
        Damaged bytes are never decoded: a wrong offset in them may crash the process."""
        import pyarrow as pa

        self._expect(file)
        records = 0
        with self._open(file) as raw, pa.ipc.open_stream(raw) as stream:
            for batch in stream:
                records += batch.num_rows
                yield batch
        if records != file.records:
            raise _lost(f"the staged file {self.url}/{file.name} holds {records} rows, {file.records} were staged")

    def _expect(self, file: StagedFile) -> None:
        size = crc32 = 0
        with self._open(file) as raw, self._reading(file):
            while data := raw.read(_READ_BYTES):
                size += len(data)
                crc32 = zlib.crc32(data, crc32)
        if (size, crc32) != (file.size, file.crc32):
            raise _lost(f"the staged file {self.url}/{file.name} is damaged: it is not what was staged")

    def _open(self, file: StagedFile) -> pa.NativeFile:
        try:
            with self._reading(file):
                return self._files.open_input_stream(f"{self._path}/{file.name}")
        except FileNotFoundError:
            raise _lost(f"the staged file {self.url}/{file.name} ({file.records} rows) is gone") from None

    @contextmanager
    def _reading(self, file: StagedFile) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise RetriableError(f"cannot read {self.url}/{file.name}: {error}") from error

    # ------------------------------------------------------------ cleaning

    def names(self) -> list[str]:
        """List the files at this place."""
        from pyarrow import fs

        with _outside("list", self.url):
            found = self._files.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        return sorted(info.base_name for info in found if info.is_file)

    def delete(self, name: str) -> None:
        """Delete a file. A missing file is fine: an earlier clean-up may have been interrupted."""
        with _outside("delete a staged file in", self.url), suppress(FileNotFoundError):
            self._files.delete_file(f"{self._path}/{name}")

    def of_other_lineages(self) -> list[StagingPlace]:
        """The places of the same sink and table in the job's other lineages."""
        from pyarrow import fs

        location, lineage, step, table = self._of
        above = str(PurePosixPath(self._path).parent.parent)
        with _outside("list", location):
            found = self._files.get_file_info(fs.FileSelector(above, allow_not_found=True))
        names = sorted(info.base_name for info in found if not info.is_file)
        return [StagingPlace(location, name, step, table) for name in names if name != (lineage or "none")]

    def delete_counted(self) -> int:
        """Delete all files. Return how many there were."""
        if count := len(self.names()):
            self.delete_all()
        return count

    def delete_all(self) -> None:
        with _outside("delete", self.url), suppress(FileNotFoundError):
            self._files.delete_dir(self._path)
        if self._local:
            with suppress(OSError):  # other tables of the lineage may have files there
                Path(self._path).parent.rmdir()


class FileInMaking:
    """A file being written; exactly one of ``finish`` and ``drop`` ends it."""

    def __init__(self, place: StagingPlace, name: str, schema: pa.Schema) -> None:
        import pyarrow as pa

        self._place, self._name = place, name
        self._counted = _Counted(place.create(name))
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._stream = pa.ipc.new_stream(pa.PythonFile(self._counted, mode="w"), schema, options=options)
        self._records = 0

    def add(self, records: pa.RecordBatch) -> None:
        with _outside("stage rows in", self._place.url):
            self._stream.write_batch(records)
        self._records += records.num_rows

    def finish(self) -> StagedFile:
        with _outside("stage rows in", self._place.url):
            self._stream.close()
            self._counted.file.close()
            self._place.sync(self._name)
        return StagedFile(self._name, self._counted.size, self._counted.crc32, self._records)

    def drop(self) -> None:
        """Must not raise: the next commit removes leftovers."""
        with suppress(Exception):
            self._stream.close()
        with suppress(Exception):
            self._counted.file.close()
        with suppress(Exception):
            self._place.delete(self._name)


class _Counted:
    """Counts what is written."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.size = 0
        self.crc32 = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self.size += len(data)
        self.crc32 = zlib.crc32(data, self.crc32)
        self.file.write(data)
        return len(data)

    def flush(self) -> None:
        return

    def close(self) -> None:
        self.closed = True


@contextmanager
def _outside(action: str, url: str) -> Iterator[None]:
    """Turn an operating system's error into a typed one that names the place."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RetriableError(f"cannot {action} {url}: {error.strerror or error}", "make room or give access") from error


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def _lost(what: str) -> CannotResumeError:
    return CommitLostError(f"LOST: {what}", "someone changed files of a running job; run the job again with --fresh")


def place_of(context: WriteContext | CommitContext, table: TablePath) -> StagingPlace:
    """The place where the records of this sink and table are staged."""
    return StagingPlace(context.staging, context.lineage, context.step, table)
