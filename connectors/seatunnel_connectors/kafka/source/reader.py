"""Reads one partition from a position: yields batches of rows, or a position update where there are none.

Rules. (1) Offsets have holes: the end is where the broker reports the end of the log, never a count. (2) A bounded
split ends at the offset that was fixed at the start; later messages are not read. (3) A read that once ended at a
position ends at exactly that position when it is repeated (``until``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.client.consumer import Fetched, FetchPosition, PartitionConsumer, borrowed
from seatunnel_connectors.kafka.client.topics import earliest, latest
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema
from seatunnel_connectors.kafka.source.formats import decoder_of
from seatunnel_connectors.kafka.source.options import OnBadMessage, StartMode, TopicOptions
from seatunnel_connectors.kafka.source.records import Records, Spot
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Element,
    Heartbeat,
    Position,
    ReadContext,
    Reader,
    Rejected,
    RetriableError,
    Skipped,
    Split,
    TableSchema,
)
from seatunnel_py.formats.messages.decoder import decode_good

IDLE_SECONDS = 0.05  # how long one poll waits for a first message
STALL_SECONDS = 30.0  # a bounded split without any event for so long, not even the end of the log, is retried


@dataclass(frozen=True, slots=True)
class PartitionSplit:
    """Content of a Kafka split; its plain form is the split's payload. ``end`` None: the split is unbounded."""

    topic: str
    partition: int
    topic_id: str
    start: int
    end: int | None
    ahead: int

    @classmethod
    def of(cls, split: Split) -> PartitionSplit:
        return cls(**cast("Mapping[str, Any]", split.payload))

    @property
    def spot(self) -> Spot:
        return self.topic, self.partition


class KafkaReader(Reader):
    """Reads partitions of one table's topics."""

    def __init__(
        self,
        cluster: Cluster,
        options: TopicOptions,
        table: TableSchema,
        group: str,
        reset: StartMode | None,
        message: MessageSchema | None = None,
    ) -> None:
        self.cluster, self.options, self.table = cluster, options, table
        self.group, self.reset = group, reset
        self.decoder = decoder_of(options, table, message)

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        part = PartitionSplit.of(split)
        place = FetchPosition(part.start, -1, part.topic_id) if start is None else place_of(start)
        stop = part.end if context.until is None else place_of(context.until).offset
        with borrowed(self.cluster, self.group, part.spot, part.ahead) as consumer:
            try:
                yield from self._elements(consumer, part, self._checked(part, place, context), stop, context)
            except GeneratorExit:
                return  # the budget is spent: the consumer goes back to the pool and prefetches

    def _elements(
        self,
        consumer: PartitionConsumer,
        part: PartitionSplit,
        place: FetchPosition,
        stop: int | None,
        context: ReadContext,
    ) -> Iterator[Element]:
        if context.until is not None and place.offset >= place_of(context.until).offset:
            yield Heartbeat(context.until)
            return
        consumer.go_to(place)
        wanted = context.with_metadata or self.decoder.with_headers
        while stop is None or place.offset < stop:
            fetched = consumer.fetch(IDLE_SECONDS, metadata=wanted, headers=self.decoder.with_headers)
            if stop is not None and consumer.in_vain > STALL_SECONDS:
                raise RetriableError(f"{_named(part)}: nothing was heard for {STALL_SECONDS:.0f} s")
            records, place = _before(fetched, stop)
            end = context.until if context.until is not None and place.offset == stop else position_of(place)
            yield from self._rows(part, records, end)

    def _checked(self, part: PartitionSplit, place: FetchPosition, context: ReadContext) -> FetchPosition:
        """The offset to start at: the configured one, or another one if its messages are gone."""
        if self.reset is None or context.until is not None:
            return place
        first = earliest(self.cluster, [part.spot])[part.spot]
        if place.offset >= first:
            return place
        jump = latest(self.cluster, [part.spot])[part.spot] if self.reset is StartMode.LATEST else first
        return FetchPosition(jump, -1, place.topic_id)

    # ---------------------------------------------------------------- rows

    def _rows(self, part: PartitionSplit, records: Records, end: Position) -> Iterator[Element]:
        """Yield the rows of the records, after the skipped ones; yield a position update if there are no rows."""
        values = self.decoder.values(records)
        if not all(values):
            empty = self.decoder.takes_empty
            there = [place for place, value in enumerate(values) if value or (empty and value is not None)]
            records = records.some(there)
            values = self.decoder.values(records)
        if not values:
            yield Heartbeat(end)
            return
        decoded, bad = decode_good(self.decoder, values)
        if bad:
            skips = self.options.format_error_handle_way is OnBadMessage.SKIP
            yield Skipped(self.table.path, len(bad)) if skips else self._rejected(part, records, bad)
        if decoded.data.num_rows:
            metadata = records.metadata(decoded.parents)
            yield Batch(self.table.path, decoded.data, end=end, kinds=decoded.kinds, metadata=metadata)
        else:
            yield Heartbeat(end)

    def _rejected(self, part: PartitionSplit, records: Records, bad: Mapping[int, str]) -> Rejected:
        import pyarrow as pa

        raw = pa.array([records.values[place] for place in bad], pa.binary())
        reasons = tuple(
            f"{_named(part)}, offset {records.offsets[place]}: {self.options.format}: {reason}"
            for place, reason in bad.items()
        )
        return Rejected(self.table.path, pa.RecordBatch.from_arrays([raw], names=["raw"]), reasons)


def _before(fetched: Fetched, stop: int | None) -> tuple[Records, FetchPosition]:
    """Return the records before the offset to stop at, and the position after them."""
    records, behind = fetched.records, fetched.behind
    if stop is None or behind.offset <= stop:
        return records, behind
    return records.some(range(bisect_left(records.offsets, stop))), replace(behind, offset=stop)


def _named(part: PartitionSplit) -> str:
    return f"Kafka: topic {part.topic}, partition {part.partition}"


def position_of(place: FetchPosition) -> Position:
    """The place as a position for checkpoints, which is valid for the topic's id only."""
    return Position({"offset": place.offset, "epoch": place.epoch}, place.topic_id)


def place_of(position: Position) -> FetchPosition:
    """The inverse of ``position_of``."""
    value = cast("Mapping[str, int]", position.value)
    return FetchPosition(value["offset"], value["epoch"], position.generation)
