"""A server that speaks to LLM and Embedding as model providers do: answers for every row, vectors for every text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.ports import LOOPBACK

DIMENSION = 4
TOKEN = "token-of-the-run"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({"access_token": TOKEN} if self.path.partition("?")[0].endswith("/token") else None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, _, query = self.path.partition("?")
        if "/qianfan/" in path and query != f"access_token={TOKEN}":
            self._answer({"error_code": 110, "error_msg": "Access token invalid"})
        elif path.endswith("/chat/completions"):
            self._answer(_chat(body))
        elif "/embedding" in path:
            self._answer(_embeddings(body))
        else:
            self._answer(None)

    def _answer(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """A test's terminal is not an access log."""


def _chat(body: Any) -> Any:
    rows = json.loads(body["messages"][-1]["content"])
    answers = ["Chinese"] * (len(rows) if isinstance(rows, list) else 1)
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": json.dumps(answers)}}]}


def _embeddings(body: Any) -> Any:
    texts = body.get("input", body.get("inputx"))
    vectors = [[float(len(text) + at) for at in range(DIMENSION)] for text in texts]
    return {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}


@contextmanager
def model_server() -> Iterator[str]:
    """Runs while the block runs; the value is its ``host:port``."""
    server = ThreadingHTTPServer((LOOPBACK, 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, name="models", daemon=True)
    thread.start()
    try:
        yield f"{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
