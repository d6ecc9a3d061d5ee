"""Savepoints: one checkpoint of every pipeline of a job under one name, from which another job can start.

Rules. (1) A savepoint is atomic: its manifest is created last, by create-if-absent.
(2) It is independent of its job: its records contain no pieces, because their commits were confirmed
before, and segments of channels are copied (I18). (3) It keeps the lineage, so that targets recognise their rows.
Each job that starts from a savepoint has incarnations above all earlier ones of the lineage:
the job that started last may write (I34). (4) Manifest and records are sealed (``checksum_seal.py``), except those of
version 2. (5) A start is never forgotten, because its number must not be used again. A job that will not go on is noted
as ended beside it.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.encoding.record_format import RecordRefusedError, decode, encode
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.storage.checksum_seal import is_sealed_json, sealed, sealed_json, unsealed, unsealed_json
from seatunnel_py.runtime.values.segment_names import named_in_record, renamed

if TYPE_CHECKING:
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore

INCARNATIONS_APART = 10_000  # largest number of drivers of one job of a lineage
VERSION, OLD_VERSION = 3, 2
MANIFESTS, RECORDS, RESTORES, ENDED = "manifests", "records", "restores", "ended"
NAME_LENGTH_MAX = 64  # a database allows 100 characters, including a folder and a token
NO_NAME = "latest"  # because of ``--restore latest``
_OLD_KEYS = ("name", "request", "lineage", "incarnation", "taken", "job", "records", "absent", "version", "token")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class SavepointError(SeaTunnelError):
    """A savepoint cannot be taken, or a job cannot start from it."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """``request``: id of the request; ``job``: facts about its job; ``absent``: pipelines that had not started."""

    name: str
    request: str
    lineage: str
    incarnation: int
    taken: float
    job: Mapping[str, Any]
    records: Mapping[str, CheckpointRecord]
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavepointSummary:
    """Summary of a savepoint for display: its location, the request, and the checkpoint of each pipeline."""

    place: str
    request: str
    checkpoints: Mapping[str, int]
    absent: tuple[str, ...]


def is_name(name: str) -> bool:
    """Return True for a valid name of a savepoint."""
    return len(name) <= NAME_LENGTH_MAX and _NAME.fullmatch(name) is not None and name != NO_NAME


def require_name(name: str) -> None:
    """Raise SavepointError for an invalid name."""
    if not is_name(name):
        raise SavepointError(
            f"{name!r} is not a name of a savepoint",
            f"use letters, digits, '-', '_' and '.', {NAME_LENGTH_MAX} at most, and not {NO_NAME!r}",
        )


def committed_only(record: CheckpointRecord) -> CheckpointRecord:
    """The record without its commits, which are confirmed by now."""
    scopes = {commit.scope: commit.checkpoint for commit in record.uncommitted}
    snapshots = {who: replace(one, pieces=(), since=record.checkpoint) for who, one in record.snapshots.items()}
    return replace(record, uncommitted=(), ledgers={**record.ledgers, **scopes}, snapshots=snapshots)


class SavepointStore:
    """The savepoints of one location. ``segments``: a file location for copies of channel segments.

    ::

        manifests/NAME           its job, and the position of each pipeline's record
        records/NAME-TOKEN       the records, one after the other
        restores/LINEAGE-000001  one for each job that has started from a savepoint of that lineage; never deleted
        ended/LINEAGE-000001     one for each job that will not go on
    """

    def __init__(self, storage: Storage, segments: str) -> None:
        self._storage = storage
        self._segments = segments.rstrip("/")

    @property
    def place(self) -> str:
        """The location, for messages."""
        return self._storage.describe(MANIFESTS)

    def names(self) -> Sequence[str]:
        return self._storage.names(MANIFESTS)

    def of_job(self, job_id: str, lineage: str) -> Sequence[str]:
        """Names of the savepoints of a job, or of its lineage. Raises SavepointError for a damaged one."""
        found = {name: self.manifest(name) for name in self.names()}
        return [name for name, one in found.items() if lineage == one["lineage"] or job_id == one["job"].get("job_id")]

    def starts(self, lineage: str) -> Mapping[int, str]:
        """The jobs that were started from savepoints of a lineage: their ids by number; empty for old starts."""
        return {number: self._job_of(lineage, number) for number in self._numbers(RESTORES, lineage)}

    def _job_of(self, lineage: str, number: int) -> str:
        data = self._storage.get(f"{RESTORES}/{_start(lineage, number)}")
        return str(json.loads(data).get("job", "")) if data else ""

    def ended(self, lineage: str) -> frozenset[int]:
        """The numbers of those that will not go on."""
        return frozenset(self._numbers(ENDED, lineage))

    def end(self, lineage: str, number: int) -> None:
        """Note that this job will not go on."""
        self._storage.create(f"{ENDED}/{_start(lineage, number)}", json.dumps({"at": time.time()}).encode())

    def _numbers(self, folder: str, lineage: str) -> list[int]:
        parts = (name.rpartition("-") for name in self._storage.names(folder))
        return [int(number) for of, _, number in parts if of == lineage]

    def has(self, name: str) -> bool:
        return self._storage.get(f"{MANIFESTS}/{name}") is not None

    def kept(self, name: str) -> SavepointSummary | None:
        """Summary of this savepoint; None: it does not exist."""
        plain = self._manifest(name)
        if plain is None:
            return None
        with self._undamaged(name):
            stands = {key: int(one["checkpoint"]) for key, one in plain["records"].items()}
            return SavepointSummary(self._where(name), plain["request"], stands, tuple(plain["absent"]))

    def write(self, savepoint: Savepoint) -> SavepointSummary:
        """Store it under its name. Raises SavepointError if the name is taken."""
        name, token = savepoint.name, secrets.token_hex(4)
        require_name(name)
        if self.has(name):
            raise name_taken_error(name, self._where(name))
        copy = _Copy(f"{self._segments}/{name}-{token}")
        data, stands = bytearray(), {}
        for key, record in savepoint.records.items():
            encoded = encode(copy.of(record))
            stands[key] = {"checkpoint": record.checkpoint, "at": len(data), "bytes": len(encoded)}
            data += encoded
        stored = f"{RECORDS}/{name}-{token}"
        self._storage.create(stored, sealed(stored, bytes(data)))
        about = {"version": VERSION, "token": token, "records": stands}
        manifest = sealed_json(f"{MANIFESTS}/{name}", {**asdict(replace(savepoint, records={})), **about}).encode()
        if not self._storage.create(f"{MANIFESTS}/{name}", manifest):
            self._remove(f"{name}-{token}")
            raise name_taken_error(name, self._where(name))
        for one in self._records_of(name):
            if one != f"{name}-{token}":  # of a driver that died before it created the manifest
                self._remove(one)
        checkpoints = {key: record.checkpoint for key, record in savepoint.records.items()}
        return SavepointSummary(self._where(name), savepoint.request, checkpoints, savepoint.absent)

    def read(self, name: str) -> Savepoint:
        """Read it. Raises SavepointError if it is missing or damaged."""
        plain = self.manifest(name)
        with self._undamaged(name):
            data = self._storage.get(f"{RECORDS}/{name}-{plain['token']}")
            if data is None:
                raise ValueError("its records are gone")
            if plain["version"] == VERSION:
                data = unsealed(f"{RECORDS}/{name}-{plain['token']}", data)
            records = {key: decode(data[one["at"] : one["at"] + one["bytes"]]) for key, one in plain["records"].items()}
            who = plain["name"], plain["request"], plain["lineage"], plain["incarnation"]
            return Savepoint(*who, plain["taken"], plain["job"], records, tuple(plain["absent"]))

    def manifest(self, name: str) -> Mapping[str, Any]:
        """Read its manifest without the records, which may be large: ``taken``, ``job``, ``records``, ``absent``.
        Raises SavepointError if it is missing or damaged."""
        plain = self._manifest(name)
        if plain is None:
            raise not_found_error(name, self.names(), [self.place])
        return plain

    def _manifest(self, name: str) -> Mapping[str, Any] | None:
        data = self._storage.get(f"{MANIFESTS}/{name}")
        if data is None:
            return None
        with self._undamaged(name):
            plain = unsealed_json(f"{MANIFESTS}/{name}", data.decode(), _OLD_KEYS)
            if plain["version"] not in (VERSION, OLD_VERSION):
                raise ValueError("its manifest is of another version")
            if plain["version"] == VERSION and not is_sealed_json(f"{MANIFESTS}/{name}", data.decode()):
                raise ValueError("its manifest has no checksum")
            return plain

    def begin_with(self, name: str, store: CheckpointStore, job_id: str) -> None:
        """Fill the store of a new job, so that its first driver resumes from the savepoint. An interrupted call is
        repeated, because its records are not on a chain yet."""
        savepoint = self.read(name)
        require_segments(name, savepoint.records.values())
        incarnation = INCARNATIONS_APART * self._beginning(savepoint, job_id)
        records = {key: replace(record, incarnation=incarnation) for key, record in savepoint.records.items()}
        claims = {key: Claim(incarnation, first=record.checkpoint + 1) for key, record in records.items()}
        store.take(incarnation, savepoint.lineage)
        store.write(incarnation, records)
        store.claim(incarnation, claims)

    def drop(self, name: str) -> None:
        """Delete it, even if damaged, and leftovers of dead drivers under this name. Raises SavepointError if it does
        not exist."""
        if not self.has(name):
            raise not_found_error(name, self.names(), [self.place])
        self._storage.delete(f"{MANIFESTS}/{name}")
        for one in self._records_of(name):
            self._remove(one)

    def close(self) -> None:
        self._storage.close()

    def _beginning(self, savepoint: Savepoint, job_id: str) -> int:
        """Number of this start in its lineage, over all savepoints. Numbers are unique, and larger than that of the
        savepoint's job, which is 0 if it did not start from a savepoint."""
        about = json.dumps({"at": time.time(), "name": savepoint.name, "job": job_id}).encode()
        numbers = count(savepoint.incarnation // INCARNATIONS_APART + 1)
        return next(n for n in numbers if self._storage.create(f"{RESTORES}/{_start(savepoint.lineage, n)}", about))

    def _records_of(self, name: str) -> Sequence[str]:
        return [one for one in self._storage.names(RECORDS) if one.rpartition("-")[0] == name]

    def _remove(self, records: str) -> None:
        """Delete records, with the segments under their name."""
        from seatunnel_py.work.segment_files import remove_all

        self._storage.delete(f"{RECORDS}/{records}")
        remove_all(f"{self._segments}/{records}")

    @contextmanager
    def _undamaged(self, name: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, TypeError, RecordRefusedError) as error:
            raise SavepointError(
                f"the savepoint {self._where(name)} is damaged: {error}", "use another savepoint"
            ) from error

    def _where(self, name: str) -> str:
        return self._storage.describe(f"{MANIFESTS}/{name}")


def _start(lineage: str, number: int) -> str:
    return f"{lineage}-{number:06}"


def name_taken_error(name: str, place: str) -> SavepointError:
    """Error: a savepoint of that name exists."""
    return SavepointError(f"there is a savepoint {name!r} already: {place}", "choose another --name")


def not_found_error(name: str, known: Sequence[str], looked_in: Sequence[str]) -> SavepointError:
    """Error: there is no such savepoint; lists the existing names."""
    return SavepointError(
        f"there is no savepoint {name!r} in {' or '.join(looked_in)}",
        f"there are: {', '.join(known)}" if known else "`seatunnel jobs savepoint JOB` takes one",
    )


def require_segments(name: str, records: Iterable[CheckpointRecord]) -> None:
    """Raise SavepointError if a segment of a channel is missing on this machine."""
    named = {segment for record in records for segment in named_in_record(record)}
    if not named:
        return
    from seatunnel_py.work.segment_files import exists

    if lost := sorted(segment for segment in named if not exists(segment)):
        raise SavepointError(
            f"the savepoint {name!r} has rows in channels, and their segments are not here: {lost[0]}"
            + f" and {len(lost) - 1} more" * (len(lost) > 1),
            "start from it on the machine that took it; an exchange.location that all machines share avoids this",
        )


class _Copy:
    """Copies segments beside the records of a savepoint."""

    def __init__(self, into: str) -> None:
        self._into = into
        self._copied: dict[str, str] = {}

    def of(self, record: CheckpointRecord) -> CheckpointRecord:
        """Return the record with the names of the copies; each segment is copied once."""
        return renamed(record, self._segment)

    def _segment(self, url: str) -> str:
        if url not in self._copied:
            from seatunnel_py.work.segment_files import copy

            copied = f"{self._into}/{len(self._copied):08}.segment"
            copy(url, copied)
            self._copied[url] = copied
        return self._copied[url]
