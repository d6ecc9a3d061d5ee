"""When a transaction's end is seen by readers.

A commit is answered when the coordinator has decided. Its markers, behind which readers of what is committed see the
rows, are written to the partitions afterwards: whoever looks at once may look too early.
"""

from __future__ import annotations

import time

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.connectors.kafka.topics import CALL_SECONDS, admin_of


def settled(bootstrap: str, topic: str, seconds: float) -> bool:
    """Whether no transaction is open in any partition of a topic, waited for as long as ``seconds``."""
    deadline = time.monotonic() + seconds
    while not _is_settled(bootstrap, topic):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _is_settled(bootstrap: str, topic: str) -> bool:
    try:
        committed = _ends(bootstrap, topic, IsolationLevel.READ_COMMITTED)
        return committed == _ends(bootstrap, topic, IsolationLevel.READ_UNCOMMITTED)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION:
            return False  # of a topic that was made a moment ago
        raise


def _ends(bootstrap: str, topic: str, isolation: IsolationLevel) -> list[int]:
    admin = admin_of(bootstrap)
    partitions = sorted(admin.list_topics(topic, timeout=CALL_SECONDS).topics[topic].partitions)
    asked = admin.list_offsets(
        {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions},
        isolation_level=isolation,
        request_timeout=CALL_SECONDS,
    )
    return [answer.result().offset for answer in asked.values()]
