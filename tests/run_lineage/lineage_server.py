"""A lineage server on a free port of this machine, which keeps the events that it takes and answers as it is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.control.notify.receivers import Received, WebReceiver, web_receiver


@dataclass
class LineageServer:
    """``answers``: codes of the next answers, the last one stays; ``delay``: seconds before each answer."""

    receiver: WebReceiver
    answers: list[int] = field(default_factory=lambda: [201])
    delay: float = 0.0
    taken: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}"

    @property
    def requests(self) -> Sequence[Received]:
        """All requests, also those that were refused."""
        return self.receiver.received

    @property
    def kinds(self) -> list[str]:
        """The types of the events that were taken."""
        return [one["eventType"] for one in self.taken]

    def wait_for(self, requests: int, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while len(self.requests) < requests:
            assert time.monotonic() < until, f"{len(self.requests)} requests after {seconds} s"
            time.sleep(0.02)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer the newest request: a driver sends one after the other."""
        body = self.requests[-1].body
        time.sleep(self.delay)
        code = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if code < 300:
            self.taken.append(json.loads(body))
        handler.send_response(code)
        if 300 <= code < 400:
            handler.send_header("Location", "/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()


@contextmanager
def lineage_server() -> Iterator[LineageServer]:
    with web_receiver() as receiver:
        found = LineageServer(receiver)
        receiver.answer = found.answer
        yield found
