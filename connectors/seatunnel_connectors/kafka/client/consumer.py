"""Reads one partition; the process's pool keeps the consumer between units, so that it prefetches meanwhile.

The consumer is assigned its partitions, and never subscribes. If it is asked for its current position, it continues
without a seek. A position that no longer exists is an error, never another position.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seatunnel_connectors.kafka.client.client import Cluster, failure
from seatunnel_connectors.kafka.client.topics import earliest, gone, made_anew, topic_id
from seatunnel_connectors.kafka.source.records import Records, Spot, offset_of
from seatunnel_py.api import RetriableError, borrow

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

BATCH_BYTES = 1024 * 1024  # so large that the decoder still finds the batch in the processor's cache
BATCH_MESSAGES = 4_000
TAKEN_APART = 500  # messages converted at a time; more would leave the processor's cache
FIRST_MESSAGES = 200  # until message sizes are known
SAMPLED = 16  # one message in so many is measured to estimate the size
FILL_SECONDS = 0.01  # how long a batch waits for more messages once it has begun
BACKOFF_MS = 5  # how long a full queue pauses fetching: librdkafka's default of 1 second lets it run dry
AHEAD_KILOBYTES = 64 * 1024
"""Kilobytes that all partitions of a source may prefetch in one process."""


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """Next offset to read, leader epoch of the previous record (-1: unknown), and topic id."""

    offset: int
    epoch: int
    topic_id: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records in order, and the next position. The next position may be further on than the last record: transaction
    markers and compacted messages are offsets without a message. ``ended``: the log has no more records for now."""

    records: Records
    behind: FetchPosition
    ended: bool


@contextmanager
def borrowed(cluster: Cluster, group: str, spot: Spot, ahead: int) -> Iterator[PartitionConsumer]:
    """Borrow the partition's consumer from the pool."""
    key = ("kafka-consumer", cluster, group, spot)
    with borrow(key, lambda: PartitionConsumer(cluster, group, spot, ahead), PartitionConsumer.close) as consumer:
        yield consumer


class PartitionConsumer:
    """Reads one partition in order. ``in_vain``: seconds of waiting since its last event (the end of the log is one
    too), summed over units."""

    def __init__(self, cluster: Cluster, group: str, spot: Spot, ahead: int) -> None:
        from confluent_kafka import Consumer

        self.cluster, self.spot = cluster, spot
        self.place: FetchPosition | None = None
        self.size = BATCH_BYTES // FIRST_MESSAGES
        self.down: KafkaError | None = None
        self.in_vain = 0.0
        settings = cluster.settings(
            group_id=group,
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            isolation_level="read_committed",
            auto_offset_reset="error",
            enable_partition_eof=True,
            queued_max_messages_kbytes=ahead,
            fetch_queue_backoff_ms=BACKOFF_MS,
        )
        self.consumer = Consumer({**settings, "error_cb": self._heard})

    def close(self) -> None:
        self.consumer.close()

    def _heard(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.fatal():
            self.down = error

    def go_to(self, place: FetchPosition) -> None:
        """Seek to the place, and check that the topic still has the id of that place."""
        from confluent_kafka import TopicPartition

        if self.place == place:
            return
        topic, partition = self.spot
        if topic_id(self.cluster, topic) != place.topic_id:
            raise made_anew(topic)
        self.consumer.assign([TopicPartition(topic, partition, place.offset, leader_epoch=place.epoch)])
        self.place = place

    def fetch(self, seconds: float, *, metadata: bool = False, headers: bool = False) -> Fetched:
        """Return one batch at most, after waiting up to ``seconds`` for the first message."""
        assert self.place is not None, "the consumer was not sent anywhere"
        before, ended = self.place, False
        records = Records(self.spot, metadata, headers)
        place, wanted, wait = before, 1, seconds
        room = max(1, min(BATCH_MESSAGES, BATCH_BYTES // self.size))
        while room > 0 and not ended:
            found = self.consumer.consume(wanted, wait)
            place, ended = self._take(found, records, place)
            if len(found) < wanted:
                break
            room -= wanted
            wanted, wait = min(TAKEN_APART, room), FILL_SECONDS
        self.in_vain = 0.0 if len(records) or ended else self.in_vain + seconds
        if len(records):
            self.size = max(1, *(len(value or b"") for value in records.values[::SAMPLED]))
            self.down = None
        elif self.down is not None and not ended:
            raise self._unreachable(self.down)
        self.place = place
        return Fetched(records, place, ended)

    def _take(self, found: list[Message], records: Records, place: FetchPosition) -> tuple[FetchPosition, bool]:
        """Convert messages to records. Return the next position and whether the log ends there for now."""
        messages = [message for message in found if message.error() is None]
        ended = len(messages) < len(found)
        if messages:
            records.add(messages)
            epoch = messages[-1].leader_epoch()
            place = FetchPosition(records.offsets[-1] + 1, -1 if epoch is None else epoch, place.topic_id)
        if ended:
            end = max(self._event(message, place) for message in found if message.error() is not None)
            place = replace(place, offset=max(place.offset, end))
        return place, ended

    def _event(self, message: Message, before: FetchPosition) -> int:
        """Return the offset at which the log ends for now. Raise on any other event."""
        from confluent_kafka import KafkaError

        error = message.error()
        assert error is not None, "a message, and no event"
        topic, partition = self.spot
        if error.code() == KafkaError._PARTITION_EOF:
            return max(offset_of(message), before.offset)
        self.place = None
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            if topic_id(self.cluster, topic) != before.topic_id:
                raise made_anew(topic)
            raise gone(self.spot, before.offset, earliest(self.cluster, [self.spot]).get(self.spot))
        raise failure(error, f"topic {topic}, partition {partition}, offset {before.offset}")

    def _unreachable(self, error: KafkaError) -> RetriableError:
        topic, partition = self.spot
        return RetriableError(f"Kafka: topic {topic}, partition {partition}: no broker answers: {error.str()}")
