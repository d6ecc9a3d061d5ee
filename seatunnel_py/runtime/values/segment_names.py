"""Where records name segments of channels: in the states of subtasks, and in what was queued on channels. Pure.

Whoever keeps a record has to keep the segments that it names, and whoever copies it has to copy them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Plain

KEY = "segment"  # under which plain data holds the address of one


def named_in(plain: Any) -> Iterator[str]:
    """The segments that plain data names."""
    if isinstance(plain, Mapping):
        segment = plain.get(KEY)
        if isinstance(segment, str):
            yield segment
        for value in plain.values():
            yield from named_in(value)
    elif isinstance(plain, (list, tuple)):
        for value in plain:
            yield from named_in(value)


def named_in_record(record: CheckpointRecord) -> Iterator[str]:
    """The segments that a record names: in its states, and in what was on channels."""
    for snapshot in record.snapshots.values():
        yield from named_in(snapshot.state)
        yield from named_in(batches_of(snapshot.channel_state))


def batches_of(channel_state: Mapping[Any, Iterable[Any]]) -> list[Any]:
    """What the batches of a channel state carry."""
    return [batch.payload for batches in channel_state.values() for batch in batches]


def renamed(record: CheckpointRecord, rename: Callable[[str], str]) -> CheckpointRecord:
    """The same record with other names of segments, everywhere where ``named_in_record`` finds them."""
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
    """The same data with other names of segments."""
    if isinstance(plain, Mapping):
        found: dict[str, Plain] = {}
        for key, value in plain.items():
            found[key] = rename(value) if key == KEY and isinstance(value, str) else _renamed(value, rename)
        return found
    if isinstance(plain, list | tuple):
        return [_renamed(one, rename) for one in plain]
    return plain
