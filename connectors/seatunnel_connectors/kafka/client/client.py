"""The one place that makes Kafka clients: which cluster, with which settings, and what its failures mean.

Clients are librdkafka's (bench/README.md has the figures); they are made inside a unit or a call of the driver, and
lent by the process's pool. A cluster's settings may hold secrets: they are in no repr and in no message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from seatunnel_connectors.kafka.client.settings import translated
from seatunnel_connectors.kafka.client.transient_errors import PASSING
from seatunnel_py.api import FatalError, PluginError, RetriableError, borrow

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

T = TypeVar("T")

CALL_SECONDS = 15.0
"""How long a question to the cluster may take: a broker that was killed is back by then, or the unit is tried again."""
CONNECT_MILLIS = 10_000
"""How long a broker may take to greet, as with Java's clients: librdkafka alone would wait for half a minute."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the brokers are and how to talk to them. Equal clusters share their clients."""

    bootstrap: str
    given: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, bootstrap: str, config: Mapping[str, str]) -> Cluster:
        """From the options ``bootstrap.servers`` and ``kafka.config``."""
        return cls(bootstrap, tuple(sorted(translated(config).items())))

    def settings(self, **ours: Any) -> dict[str, Any]:
        """For a client of librdkafka; ``ours`` (with _ for .) win over what the job file says."""
        own = {name.replace("_", "."): value for name, value in ours.items()}
        # Errors are told by calls and callbacks; lines on stderr would only alarm.
        return {
            "log_level": 0,
            "socket.keepalive.enable": True,
            "socket.connection.setup.timeout.ms": CONNECT_MILLIS,
            **dict(self.given),
            **own,
            "bootstrap.servers": self.bootstrap,
        }

    @property
    def answer_seconds(self) -> float:
        """How long one question may take: no longer than the job file lets a request take."""
        given = dict(self.given).get("socket.timeout.ms", "")
        return min(CALL_SECONDS, int(given) / 1000) if given.isdigit() and int(given) else CALL_SECONDS

    @contextmanager
    def admin(self) -> Iterator[AdminClient]:
        """A client for questions about topics and groups. A question that timed out is told with the reason, which
        the client only says aside: a password that is refused looks like silence otherwise."""
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
    """A client, and what it said aside."""

    client: AdminClient
    heard: list[KafkaError]

    def reason(self, error: RetriableError) -> PluginError:
        refused = [failure(one, "no broker lets us in") for one in self.heard if _remedy(one)]
        if refused:
            return refused[-1]
        aside = f"; {self.heard[-1].str()}" if self.heard else ""
        return RetriableError(error.message + aside, error.remedy)


def answer(ask: Callable[[], T], what: str) -> T:
    """The cluster's answer; what it refuses, or did not say in time, as an error of ours."""
    from confluent_kafka import KafkaException

    try:
        return ask()
    except KafkaException as error:
        raise failure(error.args[0], what) from None


def failure(error: KafkaError, what: str, remedy: str = "") -> PluginError:
    """What went wrong, as an error of ours: ``what`` names step, topic and partition."""
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
