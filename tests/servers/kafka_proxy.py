"""A proxy in front of a real broker that loses, answers or changes chosen messages of Kafka's protocol.

The one thing that a broker cannot be brought to do by itself (F38, F39). Everything that no rule takes passes as it is.
A rule sees a request and says what becomes of it; it is called in the order of arrival, one request at a time.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from tests.servers.kafka import KafkaServer
from tests.servers.ports import LOOPBACK, free_port

PRODUCE, END_TXN = 0, 26
NOT_ENOUGH_REPLICAS, OUT_OF_ORDER_SEQUENCE = 19, 45
_FLEXIBLE: dict[int, int] = {PRODUCE: 9, END_TXN: 3}  # from this version on lengths are varints, and there are tags
_HEAD = struct.Struct(">hhi")


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came."""

    api: int
    version: int
    correlation: int
    frame: bytes

    @property
    def flexible(self) -> bool:
        return self.version >= _FLEXIBLE.get(self.api, 1 << 15)


class Fate(Enum):
    """What becomes of a request."""

    PASS = "it is forwarded, and so is the answer"
    LOSE = "it never arrives, and the connection breaks"
    LOSE_ANSWER = "it arrives, and the connection breaks before the answer"
    PRETEND = "it never arrives, and the answer says that it was done"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request arrives; in the answer every partition has this error."""

    error: int


Rule = Callable[[Request], "Fate | Refuse"]


def let_pass(request: Request) -> Fate:
    return Fate.PASS


@dataclass
class Proxy:
    """Listens on ``port`` while it is entered."""

    target: int
    port: int
    rule: Rule = let_pass
    seen: list[Request] = field(default_factory=list)

    def __enter__(self) -> Proxy:
        self._lock = threading.Lock()
        self._listener = socket.create_server((LOOPBACK, self.port))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def requests(self, api: int) -> list[Request]:
        return [request for request in self.seen if request.api == api]

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection((LOOPBACK, self.target))
                except OSError:
                    client.close()
                    continue
                threading.Thread(target=_Connection(self, client, server).run, daemon=True).start()

    def decide(self, request: Request) -> Fate | Refuse:
        with self._lock:
            self.seen.append(request)
            return self.rule(request)


class _Connection:
    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._expected: dict[int, tuple[Request, Fate | Refuse]] = {}

    def run(self) -> None:
        threading.Thread(target=self._answers, daemon=True).start()
        with suppress(OSError):
            while frame := _read(self._client):
                request = Request(*_HEAD.unpack_from(frame), frame)
                fate = self._proxy.decide(request)
                if fate is Fate.LOSE:
                    break
                if fate is Fate.PRETEND:
                    _write(self._client, _done(request))
                    continue
                self._expected[request.correlation] = (request, fate)
                _write(self._server, frame)
        self._close()

    def _answers(self) -> None:
        with suppress(OSError):
            while frame := _read(self._server):
                (correlation,) = struct.unpack_from(">i", frame)
                request, fate = self._expected.pop(correlation)
                if fate is Fate.LOSE_ANSWER:
                    break
                _write(self._client, _refused(request, frame, fate.error) if isinstance(fate, Refuse) else frame)
        self._close()

    def _close(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _read(end: socket.socket) -> bytes:
    size = _exactly(end, 4)
    return _exactly(end, struct.unpack(">i", size)[0]) if size else b""


def _exactly(end: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        part = end.recv(size - len(got))
        if not part:
            return b""
        got += part
    return got


def _write(end: socket.socket, frame: bytes) -> None:
    end.sendall(struct.pack(">i", len(frame)) + frame)


def ask(port: int, frame: bytes) -> bytes:
    """Send a request once more, by itself, and return the answer behind its header."""
    with socket.create_connection((LOOPBACK, port)) as end:
        _write(end, frame)
        return _read(end)[4:]


def _done(request: Request) -> bytes:
    """The answer to an EndTxn that was done: no throttling, no error."""
    assert request.api == END_TXN, "only the end of a transaction can be pretended"
    tags = b"\0" if request.flexible else b""
    return struct.pack(">i", request.correlation) + tags + struct.pack(">ih", 0, 0) + tags


def says_commit(request: Request) -> bool:
    """Whether an EndTxn commits: its last field, in front of the tags."""
    return request.frame[-2 if request.flexible else -1] == 1


def end_error(request: Request, answer: bytes) -> int:
    """The error in an answer to EndTxn."""
    error: int = struct.unpack_from(">h", answer, 4 + request.flexible)[0]
    return error


def _refused(request: Request, frame: bytes, error: int) -> bytes:
    """An answer to Produce with the error put into every partition's place."""
    assert request.api == PRODUCE, "only Produce can be refused"
    changed, at = bytearray(frame), 4 + request.flexible
    topics, at = _count(frame, at, request)
    for _ in range(topics):
        length, at = _length(frame, at, request)
        at += length
        partitions, at = _count(frame, at, request)
        assert (topics, partitions) == (1, 1), "behind the first partition the answer is not understood"
        struct.pack_into(">hq", changed, at + 4, error, -1)
    return bytes(changed)


def _count(frame: bytes, at: int, request: Request) -> tuple[int, int]:
    """The length of an array, and where it begins."""
    if not request.flexible:
        return struct.unpack_from(">i", frame, at)[0], at + 4
    return frame[at] - 1, at + 1


def _length(frame: bytes, at: int, request: Request) -> tuple[int, int]:
    """The length of a short text, and where it begins."""
    if not request.flexible:
        return struct.unpack_from(">h", frame, at)[0], at + 2
    return frame[at] - 1, at + 1


class ProxiedKafka(KafkaServer):
    """A broker that tells its clients to talk to the proxy."""

    proxy_port: ClassVar[int] = 0

    def _before_start(self) -> None:
        super()._before_start()
        if not self.proxy_port:
            type(self).proxy_port = free_port()
        file = self.directory / "server.properties"
        lines = [
            f"advertised.listeners=PLAINTEXT://{LOOPBACK}:{self.proxy_port}" if line.startswith("advertised.") else line
            for line in file.read_text().splitlines()
        ]
        file.write_text("\n".join(lines))
