"""A checkpoint record as plain data, and as bytes with a checksum.

Rules. (RF1) The first line names format, version, length and checksum; the checksum covers the version and everything
after the line, so every changed bit is detected (F24). (RF2) Incomplete or unknown data is refused with the reason;
nothing is read in part. (RF3) The text is canonical: equal records give equal bytes. (RF4) An older version is
converted step by step, each step a row of ``MIGRATIONS``; a newer one is refused (F63). (RF5) Values that JSON cannot
represent exactly are refused on writing: NaN, infinity, keys that are not text. A sequence inside a state is read back
as a list.

May not know: files, and the meaning of a state or a piece.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from typing import TypeAlias, TypeVar

from seatunnel_py.protocol.encoding.topology_format import from_topology, to_topology
from seatunnel_py.protocol.encoding.validation import flag, mapping, number, row, rows, text
from seatunnel_py.protocol.model.errors import LocalProtocolError, RemoteProtocolError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import RECORD_VERSION, CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, Plain, StagedPiece, SubtaskSnapshot

FORMAT = "seatunnel-checkpoint"
VERSION = re.compile(rb"[1-9][0-9]{0,8}")
Migration: TypeAlias = Callable[[Mapping[str, Plain]], Mapping[str, Plain]]
MIGRATIONS: Mapping[int, Migration] = {}
"""Conversions from each version to the next. Version 1 is the first."""

_LEAVES = frozenset({type(None), bool, int, float, str})

_CANONICAL = json.JSONEncoder(
    allow_nan=False, sort_keys=True, separators=(",", ":"), ensure_ascii=True, check_circular=False, default=dict
)
"""``default`` gets mappings of other types. A cycle fails in the check before."""
T = TypeVar("T")


class Damage(StrEnum):
    """Kind of damage of a record's bytes."""

    NO_RECORD = "this is not a checkpoint record"
    VERSION = "its version is not known to this release"
    TRUNCATED = "its length is not the recorded one"
    CHECKSUM = "its checksum is wrong"
    CONTENT = "its content is not that of a checkpoint record"


class RecordRefusedError(RemoteProtocolError):
    """The bytes are not a complete record of a version that this release supports (F24)."""

    def __init__(self, damage: Damage, detail: str = "") -> None:
        super().__init__(f"{damage}: {detail}" if detail else str(damage))
        self.damage = damage
        self.detail = detail

    def __reduce__(self) -> tuple[type[RecordRefusedError], tuple[Damage, str]]:
        return RecordRefusedError, (self.damage, self.detail)


# ---------------------------------------------------------------- bytes


def encode(record: CheckpointRecord, plan: str | None = None) -> bytes:
    """Return canonical bytes (RF3). ``plan``: the encoded plan, if known: it is the largest part of a record, and
    rarely changes. Raises LocalProtocolError for values that JSON cannot represent (RF5)."""
    with _carried(f"checkpoint {record.checkpoint}"):
        plain = to_plain(record)
        first = _text({key: value for key, value in plain.items() if key < "plan"})
        last = _text({key: value for key, value in plain.items() if key > "plan"})
        plan = _text(record.plan) if plan is None else plan
        body = f'{first[:-1]},"plan":{plan},{last[1:]}'.encode("ascii")
    return b"%s\n%s" % (_head(record.version, body), body)


def encode_plan(plan: Plain) -> str:
    """Encode a plan for records. Raises LocalProtocolError for values that JSON cannot represent (RF5)."""
    with _carried("a plan"):
        return _text(plan)


def _text(value: Plain) -> str:
    _require_plain(value)
    return _CANONICAL.encode(value)


@contextmanager
def _carried(what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, RecursionError) as problem:
        raise LocalProtocolError(f"{what} cannot be written: {problem}") from problem


def decode(
    data: bytes, migrations: Mapping[int, Migration] = MIGRATIONS, version: int = RECORD_VERSION
) -> CheckpointRecord:
    """Decode a record; RecordRefusedError if the bytes are not one (RF2)."""
    head, newline, body = data.partition(b"\n")
    words = head.split(b" ")
    if not newline or len(words) != 4 or words[0] != FORMAT.encode() or not VERSION.fullmatch(words[1]):
        raise RecordRefusedError(Damage.NO_RECORD)
    found = int(words[1])
    if words[2] != b"%d" % len(body):
        raise RecordRefusedError(Damage.TRUNCATED, f"there are {len(body)} bytes")
    if head != _head(found, body):
        raise RecordRefusedError(Damage.CHECKSUM)
    return from_plain(_migrated(_parsed(body), found, migrations, version))


def _head(version: int, body: bytes) -> bytes:
    checksum = hashlib.sha256(b"%d\n%s" % (version, body)).hexdigest()
    return f"{FORMAT} {version} {len(body)} {checksum}".encode()


def _parsed(body: bytes) -> Mapping[str, Plain]:
    try:
        return mapping(json.loads(body))
    except (ValueError, TypeError, RecursionError) as problem:
        raise RecordRefusedError(Damage.CONTENT, str(problem)) from problem


def _migrated(
    data: Mapping[str, Plain], found: int, migrations: Mapping[int, Migration], wanted: int
) -> Mapping[str, Plain]:
    steps = range(found, wanted)
    if found > wanted or any(at not in migrations for at in steps):
        raise RecordRefusedError(Damage.VERSION, f"it is of version {found}, this release writes {wanted}")
    for at in steps:
        data = {**migrations[at](data), "version": at + 1}
    return data


def _require_plain(value: Plain) -> None:
    """Refuse keys that are not text, which ``json`` would silently convert, and what is not plain data (RF5). Most of
    a checkpoint's time is spent here with hundreds of tables, so leaves cost no call, and the cheap checks are first.
    """
    if isinstance(value, (list, tuple)):
        for one in value:
            if type(one) not in _LEAVES:
                _require_plain(one)
    elif isinstance(value, (dict, Mapping)):  # dict first, because its check is faster
        for key, one in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{key!r} is a key, but not text")
            if type(one) not in _LEAVES:
                _require_plain(one)
    elif value is not None and not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"{type(value).__name__} is not plain data")


# ---------------------------------------------------------------- plain data


def to_plain(record: CheckpointRecord) -> Mapping[str, Plain]:
    """Convert a record to data for JSON."""
    return {
        "version": record.version,
        "checkpoint": record.checkpoint,
        "incarnation": record.incarnation,
        "kind": record.kind.value,
        "previous": record.previous,
        "topology": from_topology(record.topology),
        "epochs": dict(record.epochs),
        "snapshots": [
            [*_from_subtask(subtask), _from_snapshot(record.snapshots[subtask])] for subtask in sorted(record.snapshots)
        ],
        "uncommitted": [[one.scope, one.checkpoint, _from_pieces(one.pieces)] for one in record.uncommitted],
        "name": record.name,
        "set_up": [*sorted(record.set_up)],
        "plan": record.plan,
        "ledgers": dict(record.ledgers),
        "joined": [*sorted(record.joined)],
    }


def from_plain(data: Mapping[str, Plain]) -> CheckpointRecord:
    """Convert data to a record; RecordRefusedError for missing, additional or malformed values (RF2)."""
    try:
        _no_more_than(CheckpointRecord, data)
        return CheckpointRecord(
            checkpoint=number(data["checkpoint"]),
            incarnation=number(data["incarnation"]),
            kind=RecordKind(text(data["kind"])),
            previous=number(data["previous"]),
            topology=to_topology(data["topology"]),
            epochs={vertex: number(epoch) for vertex, epoch in mapping(data["epochs"]).items()},
            snapshots=dict(_to_snapshot(*row(one, 3)) for one in rows(data["snapshots"])),
            uncommitted=tuple(_to_commit(*row(one, 3)) for one in rows(data["uncommitted"])),
            name=text(data["name"]),
            set_up=frozenset(text(one) for one in rows(data["set_up"])),
            plan=data["plan"],
            ledgers={scope: number(at) for scope, at in mapping(data["ledgers"]).items()},
            joined=frozenset(text(one) for one in rows(data["joined"])),
            version=number(data["version"]),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise RecordRefusedError(Damage.CONTENT, f"{type(problem).__name__}: {problem}") from problem


def _from_subtask(subtask: Subtask) -> tuple[Plain, ...]:
    return (subtask.vertex, subtask.index)


def _from_channel(channel: Channel) -> tuple[Plain, ...]:
    return (channel.edge, *_from_subtask(channel.sender), *_from_subtask(channel.receiver))


def _from_pieces(pieces: Iterable[StagedPiece]) -> Plain:
    return [[piece.name, piece.data] for piece in pieces]


def _from_numbers(numbers: Mapping[Channel, int]) -> Plain:
    return [[*_from_channel(channel), numbers[channel]] for channel in sorted(numbers)]


def _from_snapshot(snapshot: SubtaskSnapshot) -> Plain:
    queued = snapshot.channel_state
    return {
        "state": snapshot.state,
        "applied": _from_numbers(snapshot.applied),
        "sent": _from_numbers(snapshot.sent),
        "channel_state": [
            [*_from_channel(channel), [[one.number, one.rows, one.digest, one.payload] for one in queued[channel]]]
            for channel in sorted(queued)
        ],
        "pieces": _from_pieces(snapshot.pieces),
        "since": snapshot.since,
        "taken": snapshot.taken,
        "ended": snapshot.ended,
    }


def _to_snapshot(vertex: Plain, index: Plain, plain: Plain) -> tuple[Subtask, SubtaskSnapshot]:
    data = mapping(plain)
    _no_more_than(SubtaskSnapshot, data)
    snapshot = SubtaskSnapshot(
        state=data["state"],
        applied=_to_channels(data["applied"], number),
        sent=_to_channels(data["sent"], number),
        channel_state=_to_channels(data["channel_state"], lambda one: tuple(_to_batch(*row(x, 4)) for x in rows(one))),
        pieces=_to_pieces(data["pieces"]),
        since=number(data["since"]),
        taken=number(data["taken"]),
        ended=flag(data["ended"]),
    )
    return Subtask(text(vertex), number(index)), snapshot


def _to_channels(plain: Plain, convert: Callable[[Plain], T]) -> Mapping[Channel, T]:
    found: dict[Channel, T] = {}
    for one in rows(plain):
        edge, sender, from_index, receiver, to_index, value = row(one, 6)
        ends = Subtask(text(sender), number(from_index)), Subtask(text(receiver), number(to_index))
        found[Channel(number(edge), *ends)] = convert(value)
    return found


def _to_batch(at: Plain, size: Plain, digest: Plain, payload: Plain) -> BatchHandle:
    return BatchHandle(number(at), number(size), number(digest), payload)


def _to_pieces(plain: Plain) -> tuple[StagedPiece, ...]:
    return tuple(StagedPiece(text(name), piece) for name, piece in (row(one, 2) for one in rows(plain)))


def _to_commit(scope: Plain, checkpoint: Plain, pieces: Plain) -> CommitRecord:
    return CommitRecord(text(scope), number(checkpoint), _to_pieces(pieces))


# ---------------------------------------------------------------- shapes


def _no_more_than(kind: type[CheckpointRecord] | type[SubtaskSnapshot], data: Mapping[str, Plain]) -> None:
    # Ignoring an unknown key could lose state.
    if strange := data.keys() - {one.name for one in fields(kind)}:
        raise ValueError(f"{min(strange)!r} is not known")
