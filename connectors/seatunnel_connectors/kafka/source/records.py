"""Holds fetched messages as columns: messages are converted a few at a time, and released at once.

A message that is kept holds the memory that it was received in: keeping thousands of them costs twice the processor
time of all the rest (bench/README.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

Spot = tuple[str, int]
"""A topic's name and a partition's number."""

Headers = Sequence[tuple[str, bytes | str | None]]


@dataclass(slots=True)
class Records:
    """Messages in order. ``times`` (pairs of kind and milliseconds) and ``keys`` are kept only ``with_metadata``,
    ``headers`` only ``with_headers``: each costs a call per message."""

    spot: Spot
    with_metadata: bool = False
    with_headers: bool = False
    values: list[bytes | None] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    keys: list[bytes | str | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, messages: Sequence[Message]) -> None:
        """Append messages, converted to columns."""
        self.values += cast("list[bytes | None]", [message.value() for message in messages])
        first, last = offset_of(messages[0]), offset_of(messages[-1])
        whole = last - first + 1 == len(messages)  # no holes, as nearly always
        self.offsets += range(first, last + 1) if whole else map(offset_of, messages)
        if self.with_metadata:
            self.times += [message.timestamp() for message in messages]
            self.keys += [message.key() for message in messages]
        if self.with_headers:
            self.headers += [cast("Headers", message.headers() or ()) for message in messages]

    def some(self, places: Sequence[int]) -> Records:
        """The records at these places."""
        columns: list[list[Any]] = [self.values, self.offsets, self.times, self.keys, self.headers]
        chosen = ([column[place] for place in places] if column else [] for column in columns)
        return Records(self.spot, self.with_metadata, self.with_headers, *chosen)

    def metadata(self, parents: pa.Array | None) -> Mapping[str, pa.Array]:
        """Columns for the transform Metadata, for the rows that came from these records."""
        if not self.with_metadata:
            return {}
        import pyarrow as pa

        topic, partition = self.spot
        found = {
            "Topic": pa.repeat(pa.scalar(topic), len(self)),
            "Partition": pa.repeat(pa.scalar(partition, pa.int32()), len(self)),
            "Offset": pa.array(self.offsets, pa.int64()),
            "EventTime": pa.array([millis for _, millis in self.times], pa.int64()),
            "Key": pa.array(self.keys, pa.binary()),
        }
        if parents is None:
            return found
        return {name: values.take(parents) for name, values in found.items()}


def offset_of(message: Message) -> int:
    """Offset of a received message, which always has one."""
    offset = message.offset()
    assert offset is not None, "a message without an offset"
    return offset
