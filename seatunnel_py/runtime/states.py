"""What the records of a job say, for people: where each table stands, what is not committed yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_py.protocol.claims import Claim, DamagedRecord, Stored, on_chain
from seatunnel_py.protocol.records import CheckpointRecord
from seatunnel_py.runtime.effects import prepared_of
from seatunnel_py.runtime.reading import reading_of
from seatunnel_py.runtime.subtask_run import state_of
from seatunnel_py.runtime.tallies import tally_of


def described(claims: Iterable[Claim], records: Iterable[Stored]) -> list[dict[str, Any]]:
    """The records of one pipeline that count, oldest first."""
    return [_record(one) for one in on_chain(claims, records)]


def _record(record: Stored) -> dict[str, Any]:
    about: dict[str, Any] = {"checkpoint": record.checkpoint, "driver": record.incarnation}
    if isinstance(record, DamagedRecord):
        return {**about, "kind": "damaged", "why": record.why}
    uncommitted = [
        {"scope": one.scope, "checkpoint": one.checkpoint, "pieces": len(one.pieces)} for one in record.uncommitted
    ]
    vertices = [_vertex(record, vertex.id) for vertex in record.topology.vertices]
    return {**about, "kind": record.kind.value, "name": record.name, "uncommitted": uncommitted, "vertices": vertices}


def _vertex(record: CheckpointRecord, name: str) -> dict[str, Any]:
    """One vertex: its splits where it is a source, and how many rows it has read."""
    states = [
        state_of(snapshot.state) for subtask, snapshot in sorted(record.snapshots.items()) if subtask.vertex == name
    ]
    readings = [reading_of(state.reading) for state in states]
    about = {"vertex": name, "epoch": record.epochs.get(name, 0), "subtasks": record.topology.vertex(name).parallelism}
    splits = prepared_of(record.plan).splits.get(name)
    if splits is None:
        return about
    at: dict[str, Mapping[str, Any]] = {}
    for reading in readings:
        at |= {split: position.value for split, position in reading.at.items()}
    return {
        **about,
        "rows_read": sum(tally_of(state.tally).read for state in states),
        "splits": len(splits),
        "finished": sum(reading.finished + len(reading.ended) for reading in readings),
        "at": at,
    }
