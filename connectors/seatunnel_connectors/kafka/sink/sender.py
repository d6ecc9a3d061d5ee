"""Sends records and tracks whether the cluster has confirmed each one.

Rules. (1) A record counts as written only after its delivery report; a failed report fails all records (I32). (2) The
client's queue is bounded; a caller that fills it waits. (3) Records of a partition are sent in the given order: the
producer is idempotent and all in-sync replicas acknowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from seatunnel_connectors.kafka.client import client
from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.client.record_sizes import HEADER
from seatunnel_py.api import PluginError, RetriableError

if TYPE_CHECKING:
    import pyarrow as pa

_USUAL: Mapping[str, Any] = {"linger.ms": 5, "batch.size": 1_000_000}
_ALWAYS: Mapping[str, Any] = {
    "enable.idempotence": True,
    "acks": "all",
    "partitioner": "murmur2_random",  # Java's partitioner: a key has the same partition, whichever client writes
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 32 * 1024,
}
_POLL_EVERY = 4096
_WAIT_SECONDS = 0.5

_HOPELESS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.INVALID_TRANSACTION_TIMEOUT,
        KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION, KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION, KafkaError._INVALID_ARG, KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL,
    }
)  # fmt: skip
"""Errors that a retry cannot solve. All others are retried by a new producer, after reading the ledger."""


def failure(what: str, error: KafkaError) -> PluginError:
    """A typed error."""
    if error.code() in _HOPELESS:
        return client.failure(error, what)
    return RetriableError(f"Kafka: {what}: {error.str()} ({error.name()})")


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn the client's errors into typed ones."""
    try:
        yield
    except (KafkaException, SystemError) as error:
        raise _explanation(what, error) from error


def _explanation(what: str, error: BaseException) -> BaseException:
    """Unwrap an error that ends a producer. The error is raised out of the next call; if that call is delivering a
    report, Python wraps it in an error of its own."""
    cause = error if isinstance(error, KafkaException) else error.__cause__
    return failure(what, cause.args[0]) if isinstance(cause, KafkaException) else error


class _Reports:
    """Delivery reports of the records. Separate from the sender, so that dropping the sender frees its client."""

    def __init__(self) -> None:
        self.confirmed = 0
        self.failed: KafkaError | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.confirmed += 1
        elif self.failed is None:
            self.failed = error


class Sender:
    """One producer. ``what`` names the target, for messages."""

    def __init__(self, what: str, cluster: Cluster, **more: Any) -> None:
        self.what = what
        self.sent = 0
        self._reports = _Reports()
        with explained(what):
            settings = {**_USUAL, **cluster.settings(**more), **_ALWAYS}
            self.producer = Producer(settings, on_delivery=self._reports)

    def begin(self) -> None:
        """Reset the counts."""
        self.sent = self._reports.confirmed = 0

    def send(self, records: pa.RecordBatch, topic: str) -> None:
        """Send records as the encoder makes them. ``topic`` is used if the records name none."""
        names = [name for name in records.schema.names if name.startswith(HEADER)]
        columns = {name: records.column(name).to_pylist() for name in records.schema.names}
        nothing = [None] * records.num_rows
        headers = [(name.removeprefix(HEADER), columns[name]) for name in names]
        keys, partitions = columns.get("key", nothing), columns.get("partition", nothing)
        times, every = columns.get("timestamp", nothing), columns.get("headers", nothing)
        topics = columns.get("topic", [topic] * records.num_rows)
        for row, value in enumerate(columns["value"]):
            more: dict[str, Any] = {}
            if headers:
                more["headers"] = [(name, texts[row]) for name, texts in headers if texts[row] is not None]
            if every[row]:
                more["headers"] = every[row]
            if partitions[row] is not None:
                more["partition"] = partitions[row]
            if times[row] is not None:
                more["timestamp"] = times[row]
            self.put(topics[row], value, keys[row], **more)

    def put(self, topic: str, value: bytes | None, key: bytes | None = None, **more: Any) -> None:
        """Send one record."""
        while True:
            try:
                self.producer.produce(topic, value, key, **more)
                break
            except BufferError:
                self._hear(_WAIT_SECONDS)
            except (KafkaException, SystemError) as error:
                raise _explanation(f"{self.what}: topic {topic}", error) from error
        self.sent += 1
        if not self.sent % _POLL_EVERY:
            self._hear(0)

    def confirm(self) -> None:
        """Return when the cluster has confirmed every record; raise when it refused one, or did not answer in time."""
        with explained(self._unconfirmed):
            while self.producer.flush(_WAIT_SECONDS):
                self._check()
        self._check()
        if self._reports.confirmed != self.sent:
            raise RetriableError(f"{self.what}: {self._reports.confirmed} of {self.sent} records were confirmed")

    def close(self) -> None:
        """Drop unsent records: callers that need them have called ``confirm``. Closing the client properly would wait
        for an unreachable cluster."""
        with suppress(KafkaException, SystemError):
            self.producer.purge(blocking=False)
            self.producer.poll(0)

    def _hear(self, seconds: float) -> None:
        with explained(self._unconfirmed):
            self.producer.poll(seconds)
        self._check()

    def _check(self) -> None:
        if self._reports.failed is not None:
            raise failure(self._unconfirmed, self._reports.failed)

    @property
    def _unconfirmed(self) -> str:
        return f"{self.what}: a record was not confirmed"
