"""Where checkpoint records lie: what the driver asks of a store, and a store in a directory.

Rules. (1) An incarnation is taken by create-if-absent, and its number is a fence: a write says first and last whose it
is, and one that finds a newer incarnation has failed (I34). What an overtaken driver still managed to write lies off
the chain of claims, where nobody looks for it (``protocol.claims``). (2) A write is one durable act for all records in
it: a file appears under its name when it is whole and on the disk (I10). (3) Nothing is changed afterwards; a file is
deleted when none of its records is wanted (I18).

::

    incarnations/00000002        taken; its content is the lineage of the job
    claims/00000002              from where that driver goes on, by pipeline
    records/00000002-00000017    one write: records of several pipelines
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar
from zlib import crc32

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.claims import Claim, DamagedRecord, Stored
from seatunnel_py.protocol.record_format import RecordRefused, decode, encode
from seatunnel_py.protocol.records import CheckpointRecord
from seatunnel_py.runtime import crash_points

_MAGIC = b"STREC\x00\x00\x01"
_COUNT = struct.Struct("<I")
_T = TypeVar("_T")
TORN_SECONDS = 3600.0  # so old is nothing that a living driver is about to give its name
_FRAME = struct.Struct("<QIII")  # checkpoint, bytes of the pipeline's name, bytes of the record, checksum of both


class StoreError(SeaTunnelError):
    """The store cannot be written or read."""


class FencedOff(SeaTunnelError):
    """A newer driver owns the store."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a store holds, by pipeline."""

    lineage: str = ""
    owner: int = 0
    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    records: Mapping[str, tuple[Stored, ...]] = field(default_factory=dict)


class CheckpointStore(Protocol):
    """The port. Every method may block, and is called from one thread at a time. Raises StoreError, FencedOff."""

    def read(self) -> Contents: ...

    def take(self, incarnation: int, lineage: str) -> bool:
        """Take this incarnation, the next one; false where somebody else was faster."""

    def claim(self, incarnation: int, claims: Mapping[str, Claim]) -> None:
        """Say from where this driver goes on."""

    def write(self, incarnation: int, records: Mapping[str, CheckpointRecord]) -> None:
        """Store all of them in one durable act."""

    def delete(self, pipeline: str, checkpoint: int) -> None:
        """This record is not wanted any longer."""


class DirectoryStore:
    """A store in a directory of a local or shared file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._wanted: dict[Path, set[tuple[str, int]]] = {}
        self._writes = 0
        for name in ("incarnations", "claims", "records"):
            (path / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            for torn in (path / name).glob(".*"):
                _forget_torn(torn)

    def read(self) -> Contents:
        owner, lineage = 0, ""
        for file in sorted((self.path / "incarnations").glob("[0-9]*")):
            owner, lineage = int(file.name), _parsed(file, str) or lineage
        claims: dict[str, list[Claim]] = {}
        for file in sorted((self.path / "claims").glob("[0-9]*")):
            for pipeline, claim in _parsed(file, _claims).items():
                claims.setdefault(pipeline, []).append(claim)
        records: dict[str, list[Stored]] = {}
        for file in sorted((self.path / "records").glob("[0-9]*")):
            found = tuple(_records(file))
            self._wanted[file] = {(pipeline, one.checkpoint) for pipeline, one in found}
            for pipeline, one in found:
                records.setdefault(pipeline, []).append(one)
        frozen = {name: tuple(one) for name, one in claims.items()}
        return Contents(lineage, owner, frozen, {name: tuple(one) for name, one in records.items()})

    def take(self, incarnation: int, lineage: str) -> bool:
        try:
            _put(self.path / "incarnations" / f"{incarnation:08}", lineage.encode(), new=True)
        except FileExistsError:
            return False
        return True

    def claim(self, incarnation: int, claims: Mapping[str, Claim]) -> None:
        plain = {pipeline: asdict(claim) for pipeline, claim in claims.items()}
        self._fenced(incarnation, lambda: _put(self.path / "claims" / f"{incarnation:08}", json.dumps(plain).encode()))

    def write(self, incarnation: int, records: Mapping[str, CheckpointRecord]) -> None:
        self._writes += 1
        file = self.path / "records" / f"{incarnation:08}-{self._writes:08}"
        frames = [_frame(pipeline, record) for pipeline, record in records.items()]
        self._fenced(incarnation, lambda: _put(file, b"".join([_MAGIC, _COUNT.pack(len(frames)), *frames])))
        self._wanted[file] = {(pipeline, record.checkpoint) for pipeline, record in records.items()}

    def delete(self, pipeline: str, checkpoint: int) -> None:
        for file, wanted in list(self._wanted.items()):
            wanted.discard((pipeline, checkpoint))
            if not wanted:
                del self._wanted[file]
                file.unlink(missing_ok=True)

    def _fenced(self, incarnation: int, write: Callable[[], None]) -> None:
        """Before and after: a driver that took over in between does not know of this write, and voids it."""
        self._check(incarnation)
        write()
        self._check(incarnation)

    def _check(self, incarnation: int) -> None:
        newest = max((int(file.name) for file in (self.path / "incarnations").glob("[0-9]*")), default=0)
        if newest > incarnation:
            raise FencedOff(f"driver {newest} of this job has taken over; this is driver {incarnation}")


def _frame(pipeline: str, record: CheckpointRecord) -> bytes:
    name, body = pipeline.encode(), encode(record)
    return _FRAME.pack(record.checkpoint, len(name), len(body), crc32(name + body)) + name + body


def _records(file: Path) -> Iterable[tuple[str, Stored]]:
    """The records of one write. One that cannot be read stands there as damaged: a driver must not go on from something
    older without a word (I17)."""
    data, incarnation = file.read_bytes(), int(file.name.split("-")[0])
    try:
        if not data.startswith(_MAGIC):
            raise ValueError("it does not begin as one")
        (frames,) = _COUNT.unpack_from(data, len(_MAGIC))
        at = len(_MAGIC) + _COUNT.size
        for _ in range(frames):
            checkpoint, name_size, size, check = _FRAME.unpack_from(data, at)
            at += _FRAME.size
            body = data[at : at + name_size + size]
            at += name_size + size
            if len(body) < name_size + size or crc32(body) != check:
                raise ValueError("a checksum does not agree")
            yield body[:name_size].decode(), _decoded(body[name_size:], checkpoint, incarnation)
        if at != len(data):
            raise ValueError("it goes on behind its end")
    except (ValueError, struct.error) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> StoreError:
    return StoreError(f"{file} is damaged: {error}", "restore it from a copy, or begin anew with --fresh")


def _parsed(file: Path, parse: Callable[[str], _T]) -> _T:
    """What a small file says."""
    try:
        return parse(file.read_bytes().decode())
    except (ValueError, TypeError, AttributeError) as error:
        raise _damaged(file, error) from error


def _claims(text: str) -> dict[str, Claim]:
    return {pipeline: Claim(**plain) for pipeline, plain in json.loads(text).items()}


def _forget_torn(file: Path) -> None:
    """A driver died while it wrote this; a younger one may be about to get its name."""
    with suppress(FileNotFoundError):
        if time.time() - file.stat().st_mtime > TORN_SECONDS:
            file.unlink()


def _decoded(data: bytes, checkpoint: int, incarnation: int) -> Stored:
    try:
        return decode(data)
    except RecordRefused as refused:
        return DamagedRecord(checkpoint, incarnation, str(refused))


def _put(path: Path, data: bytes, *, new: bool = False) -> None:
    """Whole and durable, or not at all; ``new``: FileExistsError where it is there already."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{id(data):x}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        crash_points.DRAFTED.hit()
        if new:
            os.link(temporary, path)
        else:
            temporary.rename(path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except FileExistsError:
        raise
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}", "look at space and permissions") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
