"""Describes the records of a job for display: positions of each table, uncommitted checkpoints, and differences between
two records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_py.protocol.commit.claims import Claim, DamagedRecord, Stored, on_chain
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.counts.row_tallies import tally_of
from seatunnel_py.runtime.targets.prepared_pipeline import prepared_of
from seatunnel_py.runtime.values.split_progress import reading_of
from seatunnel_py.runtime.values.subtask_state import state_of
from seatunnel_py.work.rows.positions import state_bytes


def describe(claims: Iterable[Claim], records: Iterable[Stored]) -> list[dict[str, Any]]:
    """The valid records of one pipeline, oldest first."""
    return [described_record(one) for one in on_chain(claims, records)]


def select(claims: Iterable[Claim], records: Iterable[Stored], which: int | None) -> CheckpointRecord | None:
    """Choose a valid record: the newest, the one with this number, or counted back from the newest (-1, -2 …).
    None: it does not exist, or cannot be read."""
    chain = on_chain(claims, records)
    if which is None:
        found = chain[-1:]
    elif which < 0:
        found = chain[which - 1 : which] if len(chain) > -which else ()
    else:
        found = tuple(one for one in chain if one.checkpoint == which)
    return found[-1] if found and isinstance(found[-1], CheckpointRecord) else None


def difference(before: CheckpointRecord, after: CheckpointRecord) -> dict[str, Any]:
    """Differences in one pipeline: its graph, each split of each source, its ledgers."""
    old, new = described_record(before), described_record(after)
    was, now = ({one["vertex"]: one for one in each["vertices"]} for each in (old, new))
    splits = [prepared_of(one.plan).splits for one in (before, after)]
    vertices = {}
    for name in [*was, *(name for name in now if name not in was)]:
        split_ids = [{split.id for split in each.get(name, ())} for each in splits]
        vertices[name] = _vertex_difference(was.get(name), now.get(name), split_ids[0], split_ids[1])
    scopes = sorted(before.ledgers.keys() | after.ledgers.keys())
    return {
        "checkpoint": [before.checkpoint, after.checkpoint],
        "kind": [old["kind"], new["kind"]],
        "edges": {
            "added": sorted(_edges(after) - _edges(before)),
            "removed": sorted(_edges(before) - _edges(after)),
        },
        "vertices": {name: one for name, one in vertices.items() if one},
        "ledgers": {
            scope: [before.ledgers.get(scope), after.ledgers.get(scope)]
            for scope in scopes
            if before.ledgers.get(scope) != after.ledgers.get(scope)
        },
        "uncommitted": [old["uncommitted"], new["uncommitted"]],
    }


def _vertex_difference(
    was: Mapping[str, Any] | None, now: Mapping[str, Any] | None, old: set[str], new: set[str]
) -> dict[str, Any]:
    if was is None or now is None:
        return {"fate": "added" if was is None else "removed"}
    found: dict[str, Any] = {}
    for key in ("subtasks", "epoch", "rows_read", "finished"):
        if was.get(key) != now.get(key):
            found[key] = [was.get(key), now.get(key)]
    positions = {
        split: [_position(was, split), _position(now, split)]
        for split in sorted({*was.get("at", {}), *now.get("at", {})})
        if _position(was, split) != _position(now, split)
    }
    changed = {"positions": positions, "splits_added": sorted(new - old), "splits_removed": sorted(old - new)}
    return found | {key: value for key, value in changed.items() if value}


def _position(vertex: Mapping[str, Any], split: str) -> dict[str, Any] | None:
    position = vertex.get("at", {}).get(split)
    return None if position is None else dict(position)


def _edges(record: CheckpointRecord) -> set[str]:
    return {f"{edge.sender} -> {edge.receiver}" for edge in record.topology.edges}


def described_record(record: Stored) -> dict[str, Any]:
    about: dict[str, Any] = {"checkpoint": record.checkpoint, "driver": record.incarnation}
    if isinstance(record, DamagedRecord):
        return {**about, "kind": "damaged", "why": record.why}
    uncommitted = [
        {"scope": one.scope, "checkpoint": one.checkpoint, "pieces": len(one.pieces)} for one in record.uncommitted
    ]
    vertices = [_vertex(record, vertex.id) for vertex in record.topology.vertices]
    more = {"name": record.name, "uncommitted": uncommitted, "ledgers": dict(record.ledgers), "vertices": vertices}
    return {**about, "kind": record.kind.value, **more}


def _vertex(record: CheckpointRecord, name: str) -> dict[str, Any]:
    """Describe one vertex: the splits of a source, and the number of rows read."""
    states = [
        state_of(snapshot.state) for subtask, snapshot in sorted(record.snapshots.items()) if subtask.vertex == name
    ]
    readings = [reading_of(state.reading) for state in states]
    about: dict[str, Any] = {
        "vertex": name,
        "epoch": record.epochs.get(name, 0),
        "subtasks": record.topology.vertex(name).parallelism,
    }
    if name in record.topology.detached:
        about["left_out"] = True  # isolated; the key is stored
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
        "position_bytes": max(map(state_bytes, at.values()), default=0),
        "payload_bytes": max((state_bytes(split.payload) for split in splits if split.payload), default=0),
    }
