"""A proxy in front of a real database that breaks connections around chosen statements (F33).

The one moment that a server cannot be brought to by itself: it has committed, and nobody will ever hear of it. A chooser
sees what a client sends, piece by piece in the order of arrival, and says what becomes of the connection. It knows no
protocol: statements are looked for as the bytes that both PostgreSQL and MySQL send them as.
"""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType

from tests.servers.ports import LOOPBACK, free_port

CHUNK_BYTES = 1 << 16
ANSWER_SECONDS = 10.0


class Fate(Enum):
    """What becomes of a connection."""

    PASS = "what was sent is forwarded"
    CUT_BEFORE = "what was sent never arrives"
    CUT_AFTER = "what was sent arrives and is done; its answer never comes"


@dataclass(slots=True)
class Chooser:
    """Cuts around what holds one of ``words``, by chance, so many times. ``cuts`` counts them by fate."""

    words: tuple[bytes, ...]
    seed: int
    cuts_max: int
    share: float = 0.4
    cuts: dict[Fate, int] = field(default_factory=lambda: {Fate.CUT_BEFORE: 0, Fate.CUT_AFTER: 0})
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    _random: random.Random = field(init=False, repr=False)

    def __call__(self, sent: bytes) -> Fate:
        if not any(word in sent for word in self.words):
            return Fate.PASS
        with self._lock:
            if sum(self.cuts.values()) >= self.cuts_max or self._random.random() > self.share:
                return Fate.PASS
            fate = self._random.choice((Fate.CUT_BEFORE, Fate.CUT_AFTER, Fate.CUT_AFTER))
            self.cuts[fate] += 1
            return fate


class CuttingProxy:
    """Listens on ``port`` while it is entered."""

    def __init__(self, target_port: int, choose: Callable[[bytes], Fate]) -> None:
        self.port = free_port()
        self._target_port = target_port
        self._choose = choose
        self._listener = socket.create_server((LOOPBACK, self.port))

    def __enter__(self) -> CuttingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((LOOPBACK, self._target_port))
        except OSError:  # it is away: so it is for the client
            client.close()
            return
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = _Answers(server, client)
        threading.Thread(target=answers.pump, daemon=True).start()
        with suppress(OSError):
            while sent := client.recv(CHUNK_BYTES):
                fate = self._choose(sent)
                if fate is Fate.CUT_BEFORE:
                    break
                if fate is Fate.CUT_AFTER:
                    answers.swallow()
                    server.sendall(sent)
                    answers.swallowed.wait(ANSWER_SECONDS)
                    break
                server.sendall(sent)
        answers.end()


class _Answers:
    """What the server says to one client."""

    def __init__(self, server: socket.socket, client: socket.socket) -> None:
        self._server, self._client = server, client
        self._swallows = False
        self.swallowed = threading.Event()

    def swallow(self) -> None:
        """From now on nothing reaches the client: the next answer says that the statement was done."""
        self._swallows = True

    def pump(self) -> None:
        with suppress(OSError):
            while said := self._server.recv(CHUNK_BYTES):
                if self._swallows:
                    self.swallowed.set()
                else:
                    self._client.sendall(said)
        self.end()

    def end(self) -> None:
        for one in (self._client, self._server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
