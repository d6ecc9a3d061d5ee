"""Reads and commits the offsets of a consumer group, with a client that consumes nothing.

The admin client is not used: librdkafka crashes the process when the broker disconnects before it answers an admin
request to a group coordinator (librdkafka, issue 4605). A read and a commit end after ``CALL_SECONDS``, however the
broker behaves.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_connectors.kafka.client.client import CALL_SECONDS, Cluster, answer, failure
from seatunnel_connectors.kafka.source.records import Spot
from seatunnel_py.api import RetriableError, borrow

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, TopicPartition

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Member:
    """A group client. ``heard``: results of its offset commits."""

    client: Consumer
    heard: list[tuple[KafkaError | None, list[TopicPartition]]]


def committed(cluster: Cluster, group: str, spots: Iterable[Spot]) -> dict[Spot, int]:
    """Return the group's committed offsets. Partitions without one are omitted."""
    from confluent_kafka import TopicPartition

    wanted = [TopicPartition(*spot) for spot in spots]
    if not wanted:
        return {}
    with _member(cluster, group) as member:
        asked = partial(member.client.committed, wanted, timeout=CALL_SECONDS)
        told = answer(asked, f"offsets of the group {group}")
    return {(one.topic, one.partition): one.offset for one in told if one.offset >= 0}


def commit(cluster: Cluster, group: str, offsets: Mapping[Spot, int]) -> None:
    """Commit the group's offsets, so that users can monitor its lag; this source never resumes from them."""
    from confluent_kafka import TopicPartition

    told = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    if not told:
        return
    what = f"telling the offsets of the group {group}"
    with _member(cluster, group) as member:
        member.heard.clear()
        member.client.commit(offsets=told, asynchronous=True)
        until = time.monotonic() + CALL_SECONDS
        while not member.heard:
            if time.monotonic() > until:
                raise RetriableError(f"Kafka: {what}: no answer within {CALL_SECONDS:.0f} s")
            member.client.poll(POLL_SECONDS)
        whole, each = member.heard[0]
        for error in (whole, *(one.error for one in each)):
            if error is not None:
                raise failure(error, what)


@contextmanager
def _member(cluster: Cluster, group: str) -> Iterator[_Member]:
    """Borrow a client of the group from the pool."""

    def make() -> _Member:
        from confluent_kafka import Consumer

        heard: list[tuple[KafkaError | None, list[TopicPartition]]] = []
        settings = cluster.settings(group_id=group, enable_auto_commit=False)
        settings["on_commit"] = lambda error, parts: heard.append((error, parts))
        settings["error_cb"] = lambda _: None  # errors reach the caller through the calls
        return _Member(Consumer(settings), heard)

    with borrow(("kafka-group", cluster, group), make, lambda member: member.client.close()) as member:
        yield member
