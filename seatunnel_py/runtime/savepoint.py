"""Savepoints: one checkpoint of every pipeline of a job under one name, for another job to begin with.

Rules. (1) A savepoint is there whole or not at all: it gets its name last. (2) It needs nothing of the job that it was
taken of: its records name no staged piece, for their commits were confirmed before, and what lies in channels is copied
(I18). (3) It keeps the lineage, so that targets know whose rows they hold. Each job that begins with it has
incarnations of its own above those of the job that it was taken of: whoever began last may write (I34).

::

    savepoints/NAME/about/manifest.json    what it is of, and where in ``records`` each pipeline stands
    savepoints/NAME/about/records          the records, one after the other
    savepoints/NAME/segments/              what lay in channels
    savepoints/NAME/restores/              one file for each job that has begun with it
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.claims import Claim
from seatunnel_py.protocol.record_format import RecordRefused, decode, encode
from seatunnel_py.protocol.records import CheckpointRecord
from seatunnel_py.runtime.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.local_storage import LocalStorage
from seatunnel_py.runtime.segment_names import renamed

INCARNATIONS_APART = 10_000  # drivers that a job may have before its numbers would meet those of the next restore
VERSION = 1
MANIFEST, RECORDS = "about/manifest.json", "about/records"


class SavepointError(SeaTunnelError):
    """A savepoint cannot be taken, or not be begun with."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """``job``: what is known of the job that it was taken of; ``absent``: its pipelines that had not begun."""

    name: str
    lineage: str
    incarnation: int
    taken: float
    job: Mapping[str, Any]
    records: Mapping[str, CheckpointRecord]
    absent: tuple[str, ...] = ()


def settled(record: CheckpointRecord) -> CheckpointRecord:
    """The record without what its job has committed by now."""
    scopes = {commit.scope: commit.checkpoint for commit in record.uncommitted}
    snapshots = {who: replace(one, pieces=(), since=record.checkpoint) for who, one in record.snapshots.items()}
    return replace(record, uncommitted=(), ledgers={**record.ledgers, **scopes}, snapshots=snapshots)


def write(directory: Path, savepoint: Savepoint) -> Path:
    """Keep it under its name. Raises SavepointError where that is taken already."""
    place = directory / savepoint.name
    if place.exists():
        raise SavepointError(f"there is a savepoint {savepoint.name!r} already: {place}", "choose another --name")
    building = directory / f".{savepoint.name}.{savepoint.incarnation}"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.rmtree(building, ignore_errors=True)
        storage = LocalStorage(building)
        copy = _Copy(building / "segments", place / "segments")
        data, stands = bytearray(), {}
        for key, record in savepoint.records.items():
            encoded = encode(copy.of(record))
            stands[key] = {"checkpoint": record.checkpoint, "at": len(data), "bytes": len(encoded)}
            data += encoded
        storage.create(RECORDS, bytes(data))
        manifest = {"version": VERSION, **asdict(replace(savepoint, records={})), "records": stands}
        storage.create(MANIFEST, json.dumps(manifest, indent=1).encode())
        building.rename(place)
    except OSError as error:
        shutil.rmtree(building, ignore_errors=True)
        raise SavepointError(f"{place} cannot be written: {error.strerror or error}", "look at space") from error
    return place


def find(directory: Path, name: str) -> Path:
    """A savepoint by its name, or by where it lies. Raises SavepointError, naming those there are."""
    for place in (directory / name, Path(name).absolute()):
        if (place / MANIFEST).is_file():
            return place
    known = sorted(path.parents[1].name for path in directory.glob(f"[!.]*/{MANIFEST}"))
    raise SavepointError(
        f"there is no savepoint {name!r} in {directory}",
        f"there are: {', '.join(known)}" if known else "`seatunnel jobs savepoint JOB` takes one",
    )


def read(place: Path) -> Savepoint:
    """Raises SavepointError where it is damaged."""
    try:
        plain = json.loads((place / MANIFEST).read_bytes())
        if plain["version"] != VERSION:
            raise ValueError("its manifest is of another version")
        data = (place / RECORDS).read_bytes()
        records = {key: decode(data[one["at"] : one["at"] + one["bytes"]]) for key, one in plain["records"].items()}
    except (OSError, ValueError, KeyError, TypeError, RecordRefused) as error:
        raise SavepointError(f"the savepoint {place} is damaged: {error}", "use another savepoint") from error
    absent = tuple(plain["absent"])
    return Savepoint(
        plain["name"], plain["lineage"], plain["incarnation"], plain["taken"], plain["job"], records, absent
    )


def begin_with(place: Path, store: CheckpointStore) -> None:
    """Fill the store of a new job, so that its first driver goes on from the savepoint. Where that was left half done
    it is done again: what the store holds of it is on nobody's chain."""
    savepoint = read(place)
    incarnation = savepoint.incarnation + INCARNATIONS_APART * _restored_before(place, savepoint)
    records = {key: replace(record, incarnation=incarnation) for key, record in savepoint.records.items()}
    claims = {key: Claim(incarnation, first=record.checkpoint + 1) for key, record in records.items()}
    store.take(incarnation, savepoint.lineage)
    store.write(incarnation, records)
    store.claim(incarnation, claims)


def _restored_before(place: Path, savepoint: Savepoint) -> int:
    """How many jobs have begun with it, this one included; no two get the same number."""
    about = json.dumps({"at": time.time(), "name": savepoint.name}).encode()
    storage = LocalStorage(place)
    return next(number for number in count(1) if storage.create(f"restores/{number:06}", about))


class _Copy:
    """Records whose segments lie beside them."""

    def __init__(self, into: Path, known_as: Path) -> None:
        self._into = into
        self._known_as = known_as
        self._copied: dict[str, str] = {}

    def of(self, record: CheckpointRecord) -> CheckpointRecord:
        """The same record, naming the copies; each segment is copied once."""
        return renamed(record, self._segment)

    def _segment(self, url: str) -> str:
        if url not in self._copied:
            from pyarrow import fs

            from seatunnel_py.work.segments import filesystem

            self._into.mkdir(exist_ok=True, mode=0o700)
            files, path = filesystem(url)
            name = f"{len(self._copied):08}.segment"
            fs.copy_files(path, str(self._into / name), source_filesystem=files)
            self._copied[url] = (self._known_as / name).as_uri()
        return self._copied[url]
