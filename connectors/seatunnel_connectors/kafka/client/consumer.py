"""One partition's consumer, which the process's pool keeps between units: it reads ahead while nobody asks.

It is assigned, never subscribed, and asked again for the place where it stands already it just goes on. A position
that is gone is an error, never another position.
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

BATCH_BYTES = 1024 * 1024  # what decodes a batch finds it in the processor's cache
BATCH_MESSAGES = 4_000
TAKEN_APART = 500  # at a time: more of them are not in the processor's cache any more
FIRST_MESSAGES = 200  # before it is known how large they are
SAMPLED = 16  # one of so many messages tells how large they are
FILL_SECONDS = 0.01  # how long a batch waits for more once it has begun
BACKOFF_MS = 5  # how long a full queue is left alone: by default for a second, in which it runs dry
AHEAD_KILOBYTES = 64 * 1024
"""What all partitions of a source may have read ahead in one process."""


@dataclass(frozen=True, slots=True)
class Place:
    """The offset to be read next, the epoch of the leader that gave the one before (-1: unknown), the topic's id."""

    offset: int
    epoch: int
    topic_id: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records in order, and the place behind them, which may be further on: markers and compacted messages are
    offsets without a message. ``ended``: nothing follows for now."""

    records: Records
    behind: Place
    ended: bool


@contextmanager
def borrowed(cluster: Cluster, group: str, spot: Spot, ahead: int) -> Iterator[PartitionConsumer]:
    """The partition's consumer out of the pool."""
    key = ("kafka-consumer", cluster, group, spot)
    with borrow(key, lambda: PartitionConsumer(cluster, group, spot, ahead), PartitionConsumer.close) as consumer:
        yield consumer


class PartitionConsumer:
    """Reads one partition in order. ``in_vain``: for how many seconds it has been waited for since it said anything,
    be it that the log ends; units come and go meanwhile."""

    def __init__(self, cluster: Cluster, group: str, spot: Spot, ahead: int) -> None:
        from confluent_kafka import Consumer

        self.cluster, self.spot = cluster, spot
        self.place: Place | None = None
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

    def go_to(self, place: Place) -> None:
        """Stand at the place. Whether the topic is still the one that the place is in is looked up on the way."""
        from confluent_kafka import TopicPartition

        if self.place == place:
            return
        topic, partition = self.spot
        if topic_id(self.cluster, topic) != place.topic_id:
            raise made_anew(topic)
        self.consumer.assign([TopicPartition(topic, partition, place.offset, leader_epoch=place.epoch)])
        self.place = place

    def fetch(self, seconds: float, *, metadata: bool = False, headers: bool = False) -> Fetched:
        """What is there, a batch at most; waits so long for the first message."""
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

    def _take(self, found: list[Message], records: Records, place: Place) -> tuple[Place, bool]:
        """Take messages apart: the place behind them, and whether the log ends there for now."""
        messages = [message for message in found if message.error() is None]
        ended = len(messages) < len(found)
        if messages:
            records.add(messages)
            epoch = messages[-1].leader_epoch()
            place = Place(records.offsets[-1] + 1, -1 if epoch is None else epoch, place.topic_id)
        if ended:
            end = max(self._event(message, place) for message in found if message.error() is not None)
            place = replace(place, offset=max(place.offset, end))
        return place, ended

    def _event(self, message: Message, before: Place) -> int:
        """The offset that the log ends at for now; any other event is a failure."""
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
