"""Prepares the target before the first row: checks or creates the topic and the ledger, and picks the transaction
timeout."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource, NewTopic, OffsetSpec, ResourceType

from seatunnel_connectors.kafka.client.client import CALL_SECONDS, Cluster
from seatunnel_connectors.kafka.client.transient_errors import PASSING
from seatunnel_connectors.kafka.sink.sender import explained
from seatunnel_py.api import FatalError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

LEDGER_PARTITIONS = 16
LEADER_PAUSE_SECONDS = 0.1
_LEDGER: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",  # the newest segment is never compacted, and a reader reads all
    "min.cleanable.dirty.ratio": "0.1",
}
_TIMEOUT_MAX_MS = 15 * 60 * 1000  # brokers' default


def partitions_of(what: str, cluster: Cluster, topic: str) -> int:
    """Partition count of a topic; 0: it does not exist."""
    with explained(what), cluster.admin() as admin:
        found = admin.list_topics(timeout=CALL_SECONDS).topics.get(topic)
    return len(found.partitions) if found is not None else 0


def records_of(what: str, cluster: Cluster, topic: str, partitions: int) -> int:
    """Number of offsets in a topic: its records and the transaction markers among them."""
    with explained(f"{what}: asking for its records"), cluster.admin() as admin:
        first = _offsets(admin, topic, partitions, OffsetSpec.earliest())
        return _offsets(admin, topic, partitions, OffsetSpec.latest()) - first


def _offsets(admin: AdminClient, topic: str, partitions: int, spec: OffsetSpec) -> int:
    """Sum of the offsets over the partitions. A partition that was just created has no leader for a moment."""
    asked = {TopicPartition(topic, number): spec for number in range(partitions)}
    deadline = time.monotonic() + CALL_SECONDS
    while True:
        found = admin.list_offsets(asked, request_timeout=CALL_SECONDS)
        try:
            return sum(int(one.result(CALL_SECONDS).offset) for one in found.values())
        except KafkaException as error:
            if error.args[0].code() not in PASSING or time.monotonic() > deadline:
                raise
        time.sleep(LEADER_PAUSE_SECONDS)


def create(what: str, cluster: Cluster, topic: str, *, ledger: bool = False) -> None:
    """Create a topic if it is missing, with the brokers' default replication (and partition count)."""
    partitions, config = (LEDGER_PARTITIONS, dict(_LEDGER)) if ledger else (-1, {})
    with explained(f"{what}: creating the topic {topic}"), cluster.admin() as admin:
        try:
            admin.create_topics([NewTopic(topic, partitions, -1, config=config)])[topic].result(CALL_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def check_ledger(what: str, cluster: Cluster, topic: str) -> None:
    """Raise FatalError if the topic's settings would lose commits."""
    with explained(f"{what}: looking at the ledger {topic}"), cluster.admin() as admin:
        policy = _config(admin, ResourceType.TOPIC, topic, "cleanup.policy")
    if policy not in (None, "compact"):
        raise FatalError(
            f"{what}: the ledger {topic} has cleanup.policy = {policy}: it would forget what was committed",
            "set it to compact, or give the ledger another name with ledger.topic",
        )


def check_keys(what: str, cluster: Cluster, topic: str) -> None:
    """Raise FatalError if the topic keeps one record per key: it rejects records without a key."""
    with explained(f"{what}: looking at its settings"), cluster.admin() as admin:
        policy = _config(admin, ResourceType.TOPIC, topic, "cleanup.policy")
    if policy is not None and "compact" in policy:
        raise FatalError(
            f"{what} has cleanup.policy = {policy}: it takes no records without keys",
            "give partition_key_fields, or take another topic",
        )


def transaction_timeout(what: str, cluster: Cluster) -> int:
    """Milliseconds: the job file's timeout, else the longest that the brokers allow."""
    wanted = dict(cluster.given).get("transaction.timeout.ms")
    with explained(f"{what}: asking for transaction.max.timeout.ms"), cluster.admin() as admin:
        broker = str(next(iter(admin.list_topics(timeout=CALL_SECONDS).brokers)))
        limit = int(_config(admin, ResourceType.BROKER, broker, "transaction.max.timeout.ms") or _TIMEOUT_MAX_MS)
    if wanted is not None and int(wanted) > limit:
        raise FatalError(
            f"{what}: transaction.timeout.ms = {wanted} in kafka.config is more than the brokers allow ({limit})",
            "lower it, or raise the brokers' transaction.max.timeout.ms",
        )
    return int(wanted) if wanted is not None else limit


def _config(admin: AdminClient, kind: ResourceType, name: str, key: str) -> str | None:
    """Return a setting; None if it may not be read."""
    resource = ConfigResource(kind, name)
    try:
        found = admin.describe_configs([resource], request_timeout=CALL_SECONDS)[resource].result()
    except KafkaException as error:
        if error.args[0].code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            return None
        raise
    return found[key].value if key in found else None
