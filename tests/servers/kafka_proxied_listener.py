"""A Kafka broker with two listeners: clients that come in by the second one are told an address that the test chooses.

Behind that address stands a proxy. What the test itself sends and reads goes by the first listener, past the proxy.
"""

from __future__ import annotations

from typing import Any

from tests.servers.kafka import KafkaServer
from tests.servers.ports import LOOPBACK, free_ports


class ProxiedListenerKafka(KafkaServer):
    """``target_port`` is what the proxy passes to, ``proxy_port`` where it has to listen."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.target_port, self.proxy_port = free_ports(2)

    @property
    def proxied(self) -> str:
        """What clients behind the proxy take as ``bootstrap.servers``."""
        return f"{LOOPBACK}:{self.proxy_port}"

    def _before_start(self) -> None:
        super()._before_start()
        more = {
            "listeners": f"PROXIED://{LOOPBACK}:{self.target_port}",
            "advertised.listeners": f"PROXIED://{self.proxied}",
            "listener.security.protocol.map": "PROXIED:PLAINTEXT",
        }
        file = self.directory / "server.properties"
        lines = file.read_text().splitlines()
        file.write_text(
            "\n".join(f"{line},{more[name]}" if (name := line.partition("=")[0]) in more else line for line in lines)
        )
