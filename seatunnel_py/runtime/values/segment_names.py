"""Finds the segments that a record names: in states of subtasks and in channel state. Pure.

A kept record needs its segments, and a copied record needs copies of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Plain

KEY = "segment"  # key of a segment's address in plain data


def named_in(plain: Any) -> Iterator[str]:
    """The segments that plain data names."""
    if isinstance(plain, Mapping):
        segment = plain.get(KEY)
        if isinstance(segment, str) and segment:
            yield segment
        for value in plain.values():
            yield from named_in(value)
    elif isinstance(plain, (list, tuple)):
        for value in plain:
            yield from named_in(value)


def named_in_record(record: CheckpointRecord) -> Iterator[str]:
    """The segments that a record names, in its states and its channel state."""
    for snapshot in record.snapshots.values():
        yield from named_in(snapshot.state)
        yield from named_in(batches_of(snapshot.channel_state))


def batches_of(channel_state: Mapping[Any, Iterable[Any]]) -> list[Any]:
    """The payloads of the batches in a channel state."""
    return [batch.payload for batches in channel_state.values() for batch in batches]


def renamed(record: CheckpointRecord, rename: Callable[[str], str]) -> CheckpointRecord:
    """The record with all names of segments replaced."""
    snapshots = {
        who: replace(
            one,
            state=_renamed(one.state, rename),
            channel_state={
                channel: tuple(replace(batch, payload=_renamed(batch.payload, rename)) for batch in batches)
                for channel, batches in one.channel_state.items()
            },
        )
        for who, one in record.snapshots.items()
    }
    return replace(record, snapshots=snapshots)


def _renamed(plain: Plain, rename: Callable[[str], str]) -> Plain:
    """The data with all names of segments replaced."""
    if isinstance(plain, Mapping):
        found: dict[str, Plain] = {}
        for key, value in plain.items():
            found[key] = rename(value) if key == KEY and isinstance(value, str) and value else _renamed(value, rename)
        return found
    if isinstance(plain, list | tuple):
        return [_renamed(one, rename) for one in plain]
    return plain
