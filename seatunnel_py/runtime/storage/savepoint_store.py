"""Savepoints: one checkpoint of every pipeline of a job under one name, for another job to begin with.

Rules. (1) A savepoint is there whole or not at all: its manifest is created last, and who creates that has the name.
(2) It needs nothing of the job that it was taken of: its records name no staged piece, for their commits were confirmed
before, and what lies in channels is copied (I18). (3) It keeps the lineage, so that targets know whose rows they hold.
Each job that begins with a savepoint has incarnations of its own, above those of all that its lineage had before:
whoever began last may write (I34). (4) Manifest and records are sealed (``checksum_seal.py``); those of version 2 were
not.
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

INCARNATIONS_APART = 10_000  # drivers that a job may have before its numbers would meet those of the next beginning
VERSION, OLD_VERSION = 3, 2
MANIFESTS, RECORDS, RESTORES = "manifests", "records", "restores"
NAME_LENGTH_MAX = 64  # a database keeps 100 characters, a folder and a token of ours with them
NO_NAME = "latest"  # for ``--restore latest`` goes on with a job
_OLD_KEYS = ("name", "request", "lineage", "incarnation", "taken", "job", "records", "absent", "version", "token")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class SavepointError(SeaTunnelError):
    """A savepoint cannot be taken, or not be begun with."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """``request``: who asked for it; ``job``: what is known of the job that it was taken of; ``absent``: its pipelines
    that had not begun."""

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
    """What people are told of a savepoint: where it is, who asked for it, at which checkpoint each pipeline stands."""

    place: str
    request: str
    checkpoints: Mapping[str, int]
    absent: tuple[str, ...]


def is_name(name: str) -> bool:
    """Whether a savepoint can be called so."""
    return len(name) <= NAME_LENGTH_MAX and _NAME.fullmatch(name) is not None and name != NO_NAME


def require_name(name: str) -> None:
    """Raises SavepointError where none can be called so."""
    if not is_name(name):
        raise SavepointError(
            f"{name!r} is no name of a savepoint",
            f"use letters, digits, '-', '_' and '.', {NAME_LENGTH_MAX} at most, and not {NO_NAME!r}",
        )


def committed_only(record: CheckpointRecord) -> CheckpointRecord:
    """The record without what its job has committed by now."""
    scopes = {commit.scope: commit.checkpoint for commit in record.uncommitted}
    snapshots = {who: replace(one, pieces=(), since=record.checkpoint) for who, one in record.snapshots.items()}
    return replace(record, uncommitted=(), ledgers={**record.ledgers, **scopes}, snapshots=snapshots)


class SavepointStore:
    """The savepoints of one place. ``segments``: a location of files, where what lay in their channels is kept.

    ::

        manifests/NAME           what it is of, and where in its records each pipeline stands
        records/NAME-TOKEN       the records, one after the other
        restores/LINEAGE-000001  one for each job that has begun with a savepoint of that lineage; they stay
    """

    def __init__(self, storage: Storage, segments: str) -> None:
        self._storage = storage
        self._segments = segments.rstrip("/")

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self._storage.describe(MANIFESTS)

    def names(self) -> Sequence[str]:
        return self._storage.names(MANIFESTS)

    def has(self, name: str) -> bool:
        return self._storage.get(f"{MANIFESTS}/{name}") is not None

    def kept(self, name: str) -> SavepointSummary | None:
        """None: there is none of that name."""
        plain = self._manifest(name)
        if plain is None:
            return None
        with self._undamaged(name):
            stands = {key: int(one["checkpoint"]) for key, one in plain["records"].items()}
            return SavepointSummary(self._where(name), plain["request"], stands, tuple(plain["absent"]))

    def write(self, savepoint: Savepoint) -> SavepointSummary:
        """Keep it under its name. Raises SavepointError where that is taken."""
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
            if one != f"{name}-{token}":  # of a driver that died before it had the name
                self._remove(one)
        checkpoints = {key: record.checkpoint for key, record in savepoint.records.items()}
        return SavepointSummary(self._where(name), savepoint.request, checkpoints, savepoint.absent)

    def read(self, name: str) -> Savepoint:
        """Raises SavepointError where it is not there, or damaged."""
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
        """What is known of it without its records, which may be large: ``taken``, ``job``, ``records``, ``absent``.
        Raises SavepointError where it is not there, or damaged."""
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

    def begin_with(self, name: str, store: CheckpointStore) -> None:
        """Fill the store of a new job, so that its first driver goes on from the savepoint. Where that was left half
        done it is done again: what the store holds of it is on nobody's chain."""
        savepoint = self.read(name)
        require_segments(name, savepoint.records.values())
        incarnation = INCARNATIONS_APART * self._beginning(savepoint)
        records = {key: replace(record, incarnation=incarnation) for key, record in savepoint.records.items()}
        claims = {key: Claim(incarnation, first=record.checkpoint + 1) for key, record in records.items()}
        store.take(incarnation, savepoint.lineage)
        store.write(incarnation, records)
        store.claim(incarnation, claims)

    def drop(self, name: str) -> None:
        """Forget it, also a damaged one, and what drivers who died under this name have left. Raises SavepointError
        where it is not there."""
        if not self.has(name):
            raise not_found_error(name, self.names(), [self.place])
        self._storage.delete(f"{MANIFESTS}/{name}")
        for one in self._records_of(name):
            self._remove(one)

    def close(self) -> None:
        self._storage.close()

    def _beginning(self, savepoint: Savepoint) -> int:
        """The how manieth beginning of its lineage this is, whichever savepoint it is with: no two get the same number,
        and the job that it was taken of has a smaller one, 0 where it began with none."""
        about = json.dumps({"at": time.time(), "name": savepoint.name}).encode()
        numbers = count(savepoint.incarnation // INCARNATIONS_APART + 1)
        return next(n for n in numbers if self._storage.create(f"{RESTORES}/{savepoint.lineage}-{n:06}", about))

    def _records_of(self, name: str) -> Sequence[str]:
        return [one for one in self._storage.names(RECORDS) if one.rpartition("-")[0] == name]

    def _remove(self, records: str) -> None:
        """With the segments that lie under their name."""
        from seatunnel_py.work.segments import remove_all

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


def name_taken_error(name: str, place: str) -> SavepointError:
    """There is one of that name."""
    return SavepointError(f"there is a savepoint {name!r} already: {place}", "choose another --name")


def not_found_error(name: str, known: Sequence[str], looked_in: Sequence[str]) -> SavepointError:
    """Nothing is called so; what there is."""
    return SavepointError(
        f"there is no savepoint {name!r} in {' or '.join(looked_in)}",
        f"there are: {', '.join(known)}" if known else "`seatunnel jobs savepoint JOB` takes one",
    )


def require_segments(name: str, records: Iterable[CheckpointRecord]) -> None:
    """What lay in channels must be here too. Raises SavepointError where it is not."""
    named = {segment for record in records for segment in named_in_record(record)}
    if not named:
        return
    from seatunnel_py.work.segments import exists

    if lost := sorted(segment for segment in named if not exists(segment)):
        raise SavepointError(
            f"the savepoint {name!r} had rows under way, and they are not here: {lost[0]}"
            + f" and {len(lost) - 1} more" * (len(lost) > 1),
            "begin with it on the machine that took it; with an exchange.location that all machines see such rows are "
            "kept there",
        )


class _Copy:
    """Records whose segments lie beside them."""

    def __init__(self, into: str) -> None:
        self._into = into
        self._copied: dict[str, str] = {}

    def of(self, record: CheckpointRecord) -> CheckpointRecord:
        """The same record, naming the copies; each segment is copied once."""
        return renamed(record, self._segment)

    def _segment(self, url: str) -> str:
        if url not in self._copied:
            from seatunnel_py.work.segments import copy

            copied = f"{self._into}/{len(self._copied):08}.segment"
            copy(url, copied)
            self._copied[url] = copied
        return self._copied[url]
