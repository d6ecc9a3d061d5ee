"""A lineage server on a free port of this machine, which keeps the requests and answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class LineageServer:
    """``answers``: codes of the next answers, the last one stays; ``delay``: seconds before each answer."""

    url: str = ""
    answers: list[int] = field(default_factory=lambda: [201])
    delay: float = 0.0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """The types of the events that were taken."""
        return [one["eventType"] for one in self.taken]

    def wait_for(self, requests: int, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while len(self.requests) < requests:
            assert time.monotonic() < until, f"{len(self.requests)} requests after {seconds} s"
            time.sleep(0.02)


@contextmanager
def lineage_server(port: int = 0) -> Iterator[LineageServer]:
    found = LineageServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append((self.path, dict(self.headers), body))
            time.sleep(found.delay)
            code = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
            if code < 300:
                found.taken.append(json.loads(body))
            self.send_response(code)
            if code in (301, 302, 307):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
