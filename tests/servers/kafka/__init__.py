"""A private Kafka broker: `with KafkaServer.running() as server: KafkaProducer(bootstrap_servers=server.dsn)`."""

from __future__ import annotations

import signal
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from tests.servers.kafka.artifacts import HERE, find, jars
from tests.servers.ports import LOOPBACK, free_port
from tests.servers.private import PrivateServer

# The same for all: what a client sees as "the cluster" is told apart by its port.
CLUSTER_ID = "c2VhdHVubmVsLXB5LXRlcw"


class KafkaServer(PrivateServer):
    """One node, broker and controller in one process (KRaft), without authentication, on the loopback address only.

    A topic is made by its first use, with one partition. Nothing is lost by kill9: what was acknowledged is with the
    operating system.
    """

    kind = "kafka"
    accounts = None
    stop_signal = signal.SIGTERM
    port_taken = "Address already in use"
    always: ClassVar = MappingProxyType(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": "data",
            "num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # A broker that was killed is let in again when its former session has ended.
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
            # Tests of retention and compaction do not want to wait for minutes.
            "log.retention.check.interval.ms": "500",
            "log.cleaner.backoff.ms": "200",
            "log.initial.task.delay.ms": "500",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        }
    )
    not_durable: ClassVar = MappingProxyType({})

    @property
    def dsn(self) -> str:
        """What clients take as `bootstrap.servers`."""
        return f"{LOOPBACK}:{self.port}"

    def _before_start(self) -> None:
        listeners = f"PLAINTEXT://{LOOPBACK}:{self.port}"
        controller = f"{LOOPBACK}:{free_port()}"
        settings = {
            **self.settings,
            "listeners": f"{listeners},CONTROLLER://{controller}",
            "advertised.listeners": listeners,
            "controller.quorum.voters": f"1@{controller}",
        }
        lines = [f"{key}={value}" for key, value in settings.items()]
        (self.directory / "server.properties").write_text("\n".join(lines))

    def _is_ready(self) -> bool:
        # A port that is open says nothing: the broker answers only when its controller let it.
        return "Kafka Server started" in self._logged_since_start()

    def _command(self) -> list[str]:
        memory = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return [*_java(*memory, "-Dlog4j2.level=INFO"), "kafka.Kafka", "server.properties"]

    def _initialise_command(self, directory: Path) -> list[str]:
        properties = str(HERE / "format.properties")
        return [*_java(), "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", properties]


def _java(*options: str) -> list[str]:
    return [str(find("java")), *options, "-cp", f"{jars()}/*"]
