"""Makes every Kafka client, with the cluster's settings, and turns its failures into typed errors.

Clients are librdkafka's (bench/README.md has the figures); they are made inside a unit or a driver call, and borrowed
from the process's pool. A cluster's settings may hold secrets: they are in no repr and in no message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from seatunnel_connectors.kafka.client.settings import translated
from seatunnel_connectors.kafka.client.transient_errors import PASSING
from seatunnel_py.api import Dataset, FatalError, PluginError, RetriableError, borrow, reachable_addresses

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

T = TypeVar("T")

PORT = 9092
CALL_SECONDS = 15.0
"""Seconds that a request to the cluster may take. A restarted broker is back by then; otherwise the unit is retried."""
CONNECT_MILLIS = 10_000
"""Milliseconds that a broker may take to connect, as with Java's clients. librdkafka's default is 30 seconds."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Address and settings of a Kafka cluster. Equal clusters share their clients."""

    bootstrap: str
    given: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, bootstrap: str, config: Mapping[str, str]) -> Cluster:
        """From the options ``bootstrap.servers`` and ``kafka.config``."""
        return cls(bootstrap, tuple(sorted(translated(config).items())))

    def settings(self, **ours: Any) -> dict[str, Any]:
        """Settings for a librdkafka client. ``ours`` (with _ for .) override the job file's settings."""
        for host, port in self._places():
            reachable_addresses(host, port)
        own = {name.replace("_", "."): value for name, value in ours.items()}
        # Errors arrive through calls and callbacks; librdkafka's lines on stderr would only alarm.
        return {
            "log_level": 0,
            "socket.keepalive.enable": True,
            "socket.connection.setup.timeout.ms": CONNECT_MILLIS,
            **dict(self.given),
            **own,
            "bootstrap.servers": self.bootstrap,
        }

    def _places(self) -> Iterator[tuple[str, int]]:
        """Host and port of each server that is asked first."""
        for text in filter(None, (one.strip() for one in self.bootstrap.split(","))):
            host, _, port = text.rpartition("://")[2].rpartition(":")
            yield (host.strip("[]"), int(port)) if host and port.isdigit() else (text, PORT)

    def dataset(self, topic: str) -> Dataset:
        """Name a topic for lineage events: of several brokers the first one in order, so that all jobs agree."""
        host, port = min(self._places())
        return Dataset.of_server("kafka", host, port, topic)

    @property
    def answer_seconds(self) -> float:
        """Seconds that one request may take: never more than the job file's request timeout."""
        given = dict(self.given).get("socket.timeout.ms", "")
        return min(CALL_SECONDS, int(given) / 1000) if given.isdigit() and int(given) else CALL_SECONDS

    @contextmanager
    def admin(self) -> Iterator[AdminClient]:
        """Borrow a client for topics and groups. A request that times out is raised with the reason from the client's
        error callback: without it a refused password looks like a timeout."""
        with borrow(("kafka-admin", self), self._asking, lambda _: None) as asking:
            asking.heard.clear()
            try:
                yield asking.client
            except RetriableError as error:
                asking.client.poll(0)
                raise asking.reason(error) from None

    def _asking(self) -> _Asking:
        from confluent_kafka.admin import AdminClient

        heard: list[KafkaError] = []
        settings = self.settings(socket_timeout_ms=int(self.answer_seconds * 1000))
        settings["error_cb"] = heard.append
        return _Asking(AdminClient(settings), heard)


@dataclass(frozen=True, slots=True)
class _Asking:
    """An admin client and the errors that its callback reported."""

    client: AdminClient
    heard: list[KafkaError]

    def reason(self, error: RetriableError) -> PluginError:
        refused = [failure(one, "no broker lets us in") for one in self.heard if _remedy(one)]
        if refused:
            return refused[-1]
        aside = f"; {self.heard[-1].str()}" if self.heard else ""
        return RetriableError(error.message + aside, error.remedy)


def answer(ask: Callable[[], T], what: str) -> T:
    """Return the cluster's answer. Raise a typed error if it refuses or does not answer in time."""
    from confluent_kafka import KafkaException

    try:
        return ask()
    except KafkaException as error:
        raise failure(error.args[0], what) from None


def failure(error: KafkaError, what: str, remedy: str = "") -> PluginError:
    """Turn a Kafka error into a typed one. ``what`` names step, topic and partition."""
    message = f"Kafka: {what}: {error.str()} ({error.name()})"
    if error.retriable() or error.code() in PASSING:
        return RetriableError(message, remedy)
    return FatalError(message, remedy or _remedy(error))


def _remedy(error: KafkaError) -> str:
    from confluent_kafka import KafkaError

    return {
        KafkaError.UNKNOWN_TOPIC_OR_PART: "check the topic's name, and that it exists",
        KafkaError._UNKNOWN_TOPIC: "check the topic's name, and that it exists",
        KafkaError._UNKNOWN_PARTITION: "check the partition's number",
        KafkaError.TOPIC_AUTHORIZATION_FAILED: "grant the user access to the topic",
        KafkaError.GROUP_AUTHORIZATION_FAILED: "grant the user access to the group",
        KafkaError.CLUSTER_AUTHORIZATION_FAILED: "grant the user access to the cluster",
        KafkaError._AUTHENTICATION: "check user, password and mechanism in kafka.config",
        KafkaError.SASL_AUTHENTICATION_FAILED: "check user, password and mechanism in kafka.config",
        KafkaError.MSG_SIZE_TOO_LARGE: "raise max.message.bytes of the topic, or leave columns out of its records",
        KafkaError.INVALID_RECORD: "records of a compacted topic need keys: give partition_key_fields",
        KafkaError.TOPIC_EXCEPTION: "give the topic another name",
        KafkaError._SSL: "check the certificates in kafka.config",
    }.get(error.code(), "")
