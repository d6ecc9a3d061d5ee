"""Which staged pieces nobody will ever want, so that they may be dropped (I33).

Rules. (OR1) A piece that a completed record names stays, in whatever way that names it; savepoints and records that are
on their way to the store count, void ones do not (P3). (OR2) A piece of a life that goes on stays: a checkpoint that is
still to come may carry it (I14). A life is (incarnation of the driver, epoch of the vertex); when a later one has
begun, no record that is not known yet can name a piece of it. (OR3) A piece younger than ``age`` stays: its writer may
not know yet that its life is over. This is courtesy, not safety (I49). (OR4) Where a record cannot be read nothing is
dropped: it may name anything. (OR5) Only the driver whose claim is the highest drops anything: before its claim is
published a record of an older driver may still count.

May not know: how pieces are listed or dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seatunnel_py.protocol.commit.claims import Claim, Stored, on_chain
from seatunnel_py.protocol.commit.commit_queue import piece_names
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import StagedPiece


@dataclass(frozen=True, slots=True)
class FoundPiece:
    """A piece that is staged, and who staged it: its name says so. ``age`` is in seconds."""

    piece: StagedPiece
    scope: str
    incarnation: int
    epoch: int
    age: float


def orphans(
    found: Iterable[FoundPiece],
    *,
    claims: Iterable[Claim],
    records: Iterable[Stored],
    storing: Iterable[CheckpointRecord],
    incarnation: int,
    epochs: Mapping[str, int],
    age: float,
) -> tuple[FoundPiece, ...]:
    """What may be dropped of ``found``. ``storing``: this driver's records that the store has not answered for;
    ``incarnation`` and ``epochs``: the lives that go on. A vertex without an epoch is gone: none of its lives does.

    ``found`` has to be listed first and ``records`` to be read last: a record that names one of ``found`` is durable
    by then, or on its way, or yet to come of a life that goes on."""
    known = tuple(claims)
    if max((claim.incarnation for claim in known), default=0) != incarnation:
        return ()
    valid = on_chain(known, records)
    readable = [one for one in valid if isinstance(one, CheckpointRecord)]
    if len(readable) < len(valid):
        return ()
    named = frozenset[str]().union(*(named_by(record) for record in (*readable, *storing)))
    return tuple(
        one for one in found if one.piece.name not in named and _is_over(one, incarnation, epochs) and one.age >= age
    )


def named_by(record: CheckpointRecord) -> frozenset[str]:
    """Every piece that this record names: what its sinks staged, and what was not confirmed when it was made."""
    waiting = (piece.name for commit in record.uncommitted for piece in commit.pieces)
    return piece_names(record.snapshots.values()).union(waiting)


def _is_over(one: FoundPiece, incarnation: int, epochs: Mapping[str, int]) -> bool:
    if one.incarnation != incarnation:
        return one.incarnation < incarnation
    return one.epoch < epochs.get(one.scope, one.epoch + 1)
