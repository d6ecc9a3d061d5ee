"""A proxy in front of a real server that stops passing bytes without a word: no end, no reset (P4-F5).

While it swallows, nothing passes in either direction and new connections are taken and never answered. What was open
then stays open and dead for ever; connections that are made after it is healed pass.
"""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from types import TracebackType

from tests.servers.ports import LOOPBACK, free_port

CHUNK_BYTES = 1 << 16
LOOK_SECONDS = 0.05


class BlackHole:
    """Listens on ``port`` while it is entered. ``passed`` counts bytes."""

    def __init__(self, target_port: int, port: int | None = None) -> None:
        self.port = port or free_port()
        self.passed = 0
        self._target_port = target_port
        self._listener = socket.create_server((LOOPBACK, self.port))
        self._swallows = False
        self._ended = False
        self._ends: list[socket.socket] = []

    def __enter__(self) -> BlackHole:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or the thread that accepts keeps the port
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.close()

    def swallow(self) -> None:
        self._swallows = True

    def heal(self) -> None:
        self._swallows = False

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                self._ends.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self._swallows:
            return  # it is taken, and never answered
        try:
            server = socket.create_connection((LOOPBACK, self._target_port))
        except OSError:
            client.close()
            return
        self._ends.append(server)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError, ValueError):
            while not self._ended:
                ready = select.select([client, server], [], [], LOOK_SECONDS)[0]
                if self._swallows:
                    return  # both ends stay open
                for end in ready:
                    sent = end.recv(CHUNK_BYTES)
                    if not sent:
                        client.close()
                        server.close()
                        return
                    (server if end is client else client).sendall(sent)
                    self.passed += len(sent)
