"""Real receivers of events on real sockets: a web server whose answers tests choose, and a mail server."""

from __future__ import annotations

import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebReceiver:
    """``answer``: the code of the next answer, or what to do with the connection in place of one."""

    port: int
    answer: int | Callable[[BaseHTTPRequestHandler], None] = 200
    body: bytes = b"ok"
    received: list[Received] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [one.headers["webhook-id"] for one in self.received]


@contextmanager
def web_receiver(tls: tuple[Path, Path] | None = None, host: str = "127.0.0.1") -> Iterator[WebReceiver]:
    """A web server; ``tls``: with this certificate and key."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = found.answer
            if not isinstance(answer, int):
                answer(self)
                self.close_connection = True
                return
            self.send_response(answer)
            if 300 <= answer < 400:
                self.send_header("Location", f"http://127.0.0.1:{found.port}/elsewhere")
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found = WebReceiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def hangs(handler: BaseHTTPRequestHandler) -> None:
    """No answer for a minute, unless the client goes."""
    handler.connection.settimeout(60)
    with suppress(OSError):
        handler.connection.recv(1)


def drips(handler: BaseHTTPRequestHandler) -> None:
    """A byte of the answer now and then, without an end."""
    with suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000:
            handler.connection.sendall(bytes([byte]))
            time.sleep(0.05)


def certificate(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    """A new certificate of this name, which nothing trusts, and its key."""
    made, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    names = ["-addext", f"subjectAltName=DNS:{name}"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    return made, key


@dataclass
class MailReceiver:
    """A mail server. ``refuses``: receivers that it does not take; ``answer``: to a mail; ``commands``: as received."""

    port: int
    tls: tuple[Path, Path] | None = None
    refuses: frozenset[str] = frozenset()
    answer: str = "250 taken"
    mails: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


class _Session(socketserver.StreamRequestHandler):
    """One session of SMTP."""

    def handle(self) -> None:
        found: MailReceiver = self.server.found  # type: ignore[attr-defined]
        self._say("220 test")
        while line := self.rfile.readline():
            text = line.decode().strip()
            verb = text.partition(" ")[0].upper()
            found.commands.append(" ".join([verb, *text.split(" ")[1:]]))
            if verb == "EHLO":
                more = ["250-STARTTLS"] if found.tls and not isinstance(self.connection, ssl.SSLSocket) else []
                self._say("250-test", *more, "250-AUTH PLAIN", "250 8BITMIME")
            elif verb == "STARTTLS":
                self._say("220 go on")
                self._encrypt(found)
            elif verb == "RCPT" and text.partition("<")[2].partition(">")[0] in found.refuses:
                self._say("550 no such receiver")
            elif verb == "DATA":
                self._say("354 go on")
                self._take(found)
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("235 in" if verb == "AUTH" else "250 good")

    def finish(self) -> None:
        """Close the encrypted connection, too."""
        super().finish()
        self.connection.close()

    def _take(self, found: MailReceiver) -> None:
        lines = []
        while (line := self.rfile.readline().decode()) not in (".\r\n", ""):
            lines.append(line.removeprefix(".") if line.startswith("..") else line)
        if found.answer.startswith("2"):
            found.mails.append("".join(lines))
        self._say(found.answer)

    def _encrypt(self, found: MailReceiver) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        assert found.tls is not None
        context.load_cert_chain(*found.tls)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())
        self.wfile.flush()


@contextmanager
def mail_receiver(tls: tuple[Path, Path] | None = None) -> Iterator[MailReceiver]:
    """A mail server on this machine; ``tls``: it offers STARTTLS with this certificate and key."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Session)
    server.daemon_threads = True
    found = MailReceiver(server.server_address[1], tls)
    server.found = found  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def unused_port() -> int:
    """A port at which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
