"""Looks up topics, partitions and offsets of a cluster, for the driver.

A topic is identified by its id too: a topic that was deleted and created again has the same name but other messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.kafka.client.client import Cluster, answer
from seatunnel_connectors.kafka.source.options import TopicOptions
from seatunnel_connectors.kafka.source.records import Spot
from seatunnel_py.api import FatalError, name_pattern

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient


@dataclass(frozen=True, slots=True)
class Topic:
    """Name, id and partitions of a topic at present."""

    name: str
    id: str
    partitions: tuple[int, ...]


def find_topics(cluster: Cluster, options: TopicOptions) -> list[Topic]:
    """Find the topics of a table: those named, which must exist, or those that match the pattern now."""
    with cluster.admin() as admin:
        names = options.topics
        if options.pattern:
            pattern = name_pattern(options.topic or "")
            there = answer(lambda: admin.list_topics(timeout=cluster.answer_seconds), "asking for topics").topics
            names = tuple(sorted(name for name in there if pattern.fullmatch(name) and not name.startswith("__")))
        return [_topic(cluster, admin, name) for name in names]


def brokers(cluster: Cluster) -> dict[str, str]:
    """Addresses of the cluster's brokers, for display."""
    with cluster.admin() as admin:
        found = answer(lambda: admin.list_topics(timeout=cluster.answer_seconds), f"connecting to {cluster.bootstrap}")
    return {"server": f"Kafka, cluster {found.cluster_id}", "brokers": str(len(found.brokers))}


def topic_id(cluster: Cluster, name: str) -> str:
    """Return the id of the topic that has the name now."""
    with cluster.admin() as admin:
        return _topic(cluster, admin, name).id


def _topic(cluster: Cluster, admin: AdminClient, name: str) -> Topic:
    from confluent_kafka import TopicCollection

    asked = admin.describe_topics(TopicCollection([name]), request_timeout=cluster.answer_seconds)
    found = _result(asked[name], f"topic {name}")
    return Topic(name, str(found.topic_id), tuple(sorted(one.id for one in found.partitions)))


def earliest(cluster: Cluster, spots: Iterable[Spot]) -> dict[Spot, int]:
    """The first offset that each partition still holds."""
    from confluent_kafka.admin import OffsetSpec

    return _offsets(cluster, dict.fromkeys(spots, OffsetSpec.earliest()))


def latest(cluster: Cluster, spots: Iterable[Spot]) -> dict[Spot, int]:
    """The end offset of each partition, as a reader of committed messages sees it now."""
    from confluent_kafka.admin import OffsetSpec

    return _offsets(cluster, dict.fromkeys(spots, OffsetSpec.latest()))


def since(cluster: Cluster, spots: Iterable[Spot], millis: int) -> dict[Spot, int]:
    """The first offset at or after a time, in milliseconds. Partitions without one are omitted."""
    from confluent_kafka.admin import OffsetSpec

    found = _offsets(cluster, {spot: OffsetSpec.for_timestamp(millis) for spot in spots})
    return {spot: offset for spot, offset in found.items() if offset >= 0}


def _offsets(cluster: Cluster, wanted: Mapping[Spot, Any]) -> dict[Spot, int]:
    from confluent_kafka import IsolationLevel, TopicPartition

    if not wanted:
        return {}
    asked = {TopicPartition(*spot): spec for spot, spec in wanted.items()}
    with cluster.admin() as admin:
        answers = admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=cluster.answer_seconds
        )
        return {
            (one.topic, one.partition): _result(future, f"offsets of {one.topic}-{one.partition}").offset
            for one, future in answers.items()
        }


def _result(future: Future[Any], what: str) -> Any:
    return answer(future.result, what)


def gone(spot: Spot, offset: int, first: int | None) -> FatalError:
    """The error for a position whose messages were deleted."""
    topic, partition = spot
    holds = f"it begins at {first} now" if first is not None else "the broker does not have it"
    return FatalError(
        f"Kafka: topic {topic}, partition {partition}: offset {offset} is gone: {holds}; unread messages "
        "were deleted, by retention or by a user",
        "start again with --fresh, or choose where to resume with kafka.config { auto.offset.reset = earliest }; "
        "the messages between are lost",
    )


def made_anew(topic: str) -> FatalError:
    """The error for a topic that is another one under the same name."""
    return FatalError(
        f"Kafka: topic {topic} was deleted and created again: its offsets mean other messages than before",
        "start again with --fresh",
    )
