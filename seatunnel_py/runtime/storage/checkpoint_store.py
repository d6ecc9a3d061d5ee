"""Stores the claims and checkpoint records of a job.

Rules. (1) An incarnation is taken by create-if-absent, and is a fence: each write checks before and after that it is
still the newest, and fails if not (I34). Late writes of a fenced driver are not on the chain of claims, so they are
ignored (``protocol/commit/claims.py``). (2) A write is one durable act for all its records: they are one file, which
exists completely or not at all (I10). (3) Files are immutable; a file is deleted
when none of its records is needed (I18). (4) Every file contains its name and a checksum (``checksum_seal.py``). A file
that is damaged, belongs under another name or to another job, or names a driver without an incarnation is refused.

::

    incarnations/00000002        taken; its content is the lineage of the job
    claims/00000002              the records that this driver resumes from, by pipeline
    records/00000002-00000017    one write: records of several pipelines
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from zlib import crc32

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import BEGIN_ANEW, SeaTunnelError
from seatunnel_py.protocol.commit.claims import Claim, DamagedRecord, Stored
from seatunnel_py.protocol.encoding.record_format import RecordRefusedError, decode, encode, encode_plan
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Plain
from seatunnel_py.runtime.storage.checksum_seal import (
    DamagedFileError,
    OtherJobFileError,
    SealTerms,
    bond_of,
    is_old_lineage,
    is_sealed,
    sealed,
    unsealed,
)

_MAGIC = b"STREC\x00\x00\x01"
_COUNT = struct.Struct("<I")
_FRAME = struct.Struct("<QIII")  # checkpoint, bytes of the pipeline's name, bytes of the record, checksum of both
_NUMBERED = re.compile(r"\d+(-\d+)?")
_CLAIM = frozenset({"incarnation", "continues", "continues_of", "first"})


WAYS_ON = f"give the store back what it had, from a copy; or {BEGIN_ANEW}"


class StoreError(SeaTunnelError):
    """The store cannot be written or read."""


class FencedOffError(SeaTunnelError):
    """A newer driver owns the job."""


@dataclass(frozen=True, slots=True)
class StoreContents:
    """Content of a store, by pipeline."""

    lineage: str = ""
    owner: int = 0
    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    records: Mapping[str, tuple[Stored, ...]] = field(default_factory=dict)


class CheckpointStore:
    """Every method may block, and is called from one thread at a time. Raises StoreError, FencedOffError, and errors of
    its storage."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._wanted: dict[str, set[tuple[str, int]]] = {}
        self._plans: dict[str, tuple[Plain, str]] = {}  # last plan of each pipeline, with its text
        self._writes = 0
        self._bonds: dict[int, SealTerms] = {}

    def owner(self) -> tuple[int, str]:
        """The newest incarnation, and the lineage of the job; 0 for a new job."""
        owner, lineage, young = 0, "", False
        for name in self._numbered("incarnations"):
            data = self.storage.get(f"incarnations/{name}")
            if data is None:
                continue  # another driver has finished the job, and removes its store
            found, young = self._lineage(f"incarnations/{name}", data, young), young or is_sealed(data)
            if lineage not in ("", found):
                raise self._damaged(f"incarnations/{name}", self._other_job(owner, "it is of another job"))
            owner, lineage = int(name), found
        return owner, lineage

    def read(self) -> StoreContents:
        """Read everything, newest first, so that a file without its incarnation is a loss and not a race."""
        records: dict[str, list[Stored]] = {}
        claims: dict[str, list[Claim]] = {}
        drivers = set()
        for name in self._numbered("records"):
            found = tuple(self._records(f"records/{name}"))
            drivers |= {(int(name.partition("-")[0]), f"records/{name}")} if found else set()
            self._wanted[name] = {(pipeline, one.checkpoint) for pipeline, one in found}
            for pipeline, one in found:
                records.setdefault(pipeline, []).append(one)
        for name in self._numbered("claims"):
            drivers.add((int(name), f"claims/{name}"))
            for pipeline, claim in self._claims(name).items():
                claims.setdefault(pipeline, []).append(claim)
        owner, lineage = self.owner()
        if unknown := [(name, number) for number, name in sorted(drivers) if number > owner]:
            name, number = unknown[0]
            lost = self.storage.describe(_incarnation(number))
            raise StoreError(f"{self.storage.describe(name)} is there, but {lost}, of its driver, is lost", WAYS_ON)
        frozen = {name: tuple(one) for name, one in claims.items()}
        return StoreContents(lineage, owner, frozen, {name: tuple(one) for name, one in records.items()})

    def take(self, incarnation: int, lineage: str) -> bool:
        """Take this incarnation; return False if another driver was faster."""
        name = _incarnation(incarnation)
        return self.storage.create(name, sealed(name, lineage.encode(), lineage))

    def claim(self, incarnation: int, claims: Mapping[str, Claim]) -> None:
        """Publish the claims of this driver."""
        plain = {pipeline: asdict(claim) for pipeline, claim in claims.items()}
        self._fenced(
            incarnation, lambda: self._put(incarnation, f"claims/{incarnation:08}", json.dumps(plain).encode())
        )

    def write(self, incarnation: int, records: Mapping[str, CheckpointRecord]) -> Mapping[str, int]:
        """Store all of them in one durable act. Return their sizes in bytes, by pipeline."""
        self._writes += 1
        name = f"{incarnation:08}-{self._writes:08}"
        frames = [self._frame(pipeline, record) for pipeline, record in records.items()]
        data = b"".join([_MAGIC, _COUNT.pack(len(frames)), *frames])
        self._fenced(incarnation, lambda: self._put(incarnation, f"records/{name}", data))
        self._wanted[name] = {(pipeline, record.checkpoint) for pipeline, record in records.items()}
        return {pipeline: len(frame) for pipeline, frame in zip(records, frames, strict=True)}

    def delete(self, pipeline: str, checkpoint: int, incarnation: int | None = None) -> None:
        """Delete this record; with ``incarnation`` only that of this driver."""
        for name, wanted in list(self._wanted.items()):
            if incarnation is not None and int(name.partition("-")[0]) != incarnation:
                continue
            wanted.discard((pipeline, checkpoint))
            if not wanted:
                del self._wanted[name]
                self.storage.delete(f"records/{name}")

    def _frame(self, pipeline: str, record: CheckpointRecord) -> bytes:
        plan, text = self._plans.get(pipeline, (None, ""))
        if plan is not record.plan or not text:  # a plan that has grown is a new object
            plan, text = self._plans[pipeline] = record.plan, encode_plan(record.plan)
        name, body = pipeline.encode(), encode(record, text)
        return _FRAME.pack(record.checkpoint, len(name), len(body), crc32(name + body)) + name + body

    def _numbered(self, folder: str) -> Iterable[str]:
        """File names in the store's format; other files, such as an editor's copies, are ignored."""
        return [name for name in self.storage.names(folder) if _NUMBERED.fullmatch(name)]

    def _put(self, incarnation: int, name: str, data: bytes) -> None:
        """Create a file that only this driver writes. The file may exist already, if a reply was lost."""
        data = sealed(name, data, self._bond(incarnation).lineage)
        if not self.storage.create(name, data) and self.storage.get(name) != data:
            raise StoreError(f"{self.storage.describe(name)} is there already", "is a copy of this driver at work?")

    def _fenced(self, incarnation: int, write: Callable[[], None]) -> None:
        """Check the fence before and after a write: a driver that took over in between voids the write."""
        self.check(incarnation)
        write()
        self.check(incarnation)

    def check(self, incarnation: int) -> None:
        """Raise FencedOffError if this is no longer the job's driver."""
        newest = max(map(int, self._numbered("incarnations")), default=0)
        if not newest:
            text = f"the state of this job is gone from {self.storage.describe('incarnations')}: it was deleted, or "
            raise FencedOffError(f"{text}another driver has finished the job; this is driver {incarnation}")
        if newest != incarnation:
            raise FencedOffError(f"driver {newest} of this job has taken over; this is driver {incarnation}")

    def _lineage(self, name: str, data: bytes, young: bool) -> str:
        if is_old_lineage(data) and not young:
            return data.decode()
        try:
            return unsealed(name, data).decode()
        except ValueError as error:
            raise self._damaged(name, error) from error

    def _records(self, name: str) -> Iterable[tuple[str, Stored]]:
        """The records of one write. An unreadable one becomes a DamagedRecord, so that a driver cannot silently resume
        from an older one (I17)."""
        data, incarnation = self.storage.get(name), int(name.rpartition("/")[2].split("-")[0])
        try:
            # An older driver may be deleting unneeded records at this moment, but never the newest one (I18).
            yield from () if data is None else _framed(self._body(name, data, incarnation), incarnation)
        except (ValueError, struct.error) as error:
            raise self._damaged(name, error) from error

    def _claims(self, number: str) -> dict[str, Claim]:
        name = f"claims/{number}"
        data = self.storage.get(name)
        try:
            return {} if data is None else _claims(self._body(name, data, int(number)), int(number))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise self._damaged(name, error) from error

    def _body(self, name: str, data: bytes, incarnation: int) -> bytes:
        """Content of a file of this driver. Raises DamagedFileError."""
        bond = self._bond(incarnation)
        try:
            return data if bond.old and not is_sealed(data) else unsealed(name, data, bond.lineage)
        except OtherJobFileError as error:
            raise self._other_job(incarnation, str(error)) from error

    def _other_job(self, incarnation: int, found: str) -> DamagedFileError:
        """An error that names both files, because either may be the wrong one."""
        return DamagedFileError(f"{found}, or {self.storage.describe(_incarnation(incarnation))} is")

    def _bond(self, incarnation: int) -> SealTerms:
        """Seal terms of an incarnation, cached because they never change."""
        found = self._bonds.get(incarnation) or bond_of(self.storage, incarnation)
        if found != SealTerms():
            self._bonds[incarnation] = found
        return found

    def _damaged(self, name: str, error: Exception) -> StoreError:
        return StoreError(f"{self.storage.describe(name)} is damaged: {error}", WAYS_ON)


def _incarnation(number: int) -> str:
    return f"incarnations/{number:08}"


def _framed(data: bytes, incarnation: int) -> Iterable[tuple[str, Stored]]:
    if not data.startswith(_MAGIC):
        raise ValueError("its beginning is not that of a record")
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
        raise ValueError("it has bytes after its end")


def _claims(body: bytes, incarnation: int) -> dict[str, Claim]:
    """Parse the claims of a driver; each must have exactly the known fields."""
    found = {}
    for pipeline, plain in json.loads(body).items():
        numbers = [value for key, value in plain.items() if not (key == "continues" and value is None)]
        if plain.keys() != _CLAIM or any(type(value) is not int for value in numbers):
            raise ValueError(f"its entry for {pipeline} is not a claim")
        found[pipeline] = Claim(**plain)
        if found[pipeline].incarnation != incarnation:
            raise ValueError(f"it is a claim of driver {found[pipeline].incarnation}")
    return found


def _decoded(data: bytes, checkpoint: int, incarnation: int) -> Stored:
    try:
        record = decode(data)
    except RecordRefusedError as refused:
        return DamagedRecord(checkpoint, incarnation, str(refused))
    if (record.checkpoint, record.incarnation) != (checkpoint, incarnation):
        raise ValueError(f"it holds checkpoint {record.checkpoint} of driver {record.incarnation} under another name")
    return record
