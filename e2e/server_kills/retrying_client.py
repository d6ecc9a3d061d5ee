"""A client that asks again with its key of idempotency until it has an answer, and a log of all answers."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import httpx

from e2e.server_kills.killed_server import KilledServer

PATIENCE_SECONDS = 240.0
AGAIN = (429, 503)


class NoAnswerError(Exception):
    """The server has not answered for a long time."""


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """``unsure``: an answer before this one was lost, so the act may have been done without it."""

    status: int
    data: dict[str, Any]
    unsure: bool


@dataclass(frozen=True, slots=True)
class AnsweredAct:
    """An act that the server has answered, done or refused, as the audit names it."""

    act: str
    object: str
    key: str
    done: bool
    unsure: bool


@dataclass
class AnswerLog:
    """All acts of all clients."""

    acts: list[AnsweredAct] = field(default_factory=list)
    lost_answers: int = 0
    _lock: Lock = field(default_factory=Lock)

    def note(self, act: AnsweredAct) -> None:
        with self._lock:
            self.acts.append(act)

    def lost(self) -> None:
        with self._lock:
            self.lost_answers += 1

    def objects(self, act: str) -> list[str]:
        """The objects of the acts that were done."""
        return [one.object for one in self.acts if one.act == act and one.done]


@dataclass
class RetryingClient:
    """A client of one server. Each act goes into ``answer_log``."""

    server: KilledServer
    answer_log: AnswerLog

    def __post_init__(self) -> None:
        self._http = httpx.Client(base_url=f"{self.server.url}/api/v1", timeout=30, trust_env=False)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, key: str = "") -> ClientAnswer:
        """An answer that is no loss of a connection. Raises NoAnswerError."""
        unsure, until = False, time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            headers = {"Authorization": f"Bearer {self._token()}", **({"Idempotency-Key": key} if key else {})}
            try:
                found = self._http.request(method, path, json=body, headers=headers)
            except httpx.TransportError as error:
                if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                    unsure = True
                    self.answer_log.lost()
                time.sleep(0.05)
                continue
            if found.status_code not in AGAIN:
                return ClientAnswer(found.status_code, found.json(), unsure)
            time.sleep(0.2)
        raise NoAnswerError(f"{method} {path}: {self.server.tail()}")

    def act(
        self,
        act: str,
        object: str,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        keyed: bool = True,
    ) -> ClientAnswer:
        """Ask for an act, and note the answer; ``object``: empty: the run that the answer names."""
        key = secrets.token_hex(8) if keyed else ""
        return self._noted(act, object, key, self.ask(method, path, body, key))

    def start_at_once(self, other: RetryingClient, path: str, body: Mapping[str, Any]) -> ClientAnswer:
        """The same start by two clients at the same moment: both get the same run."""
        key = secrets.token_hex(8)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda client: client.ask("POST", path, body, key), (self, other))
        assert (first.status, second.status) == (202, 202), (first, second)
        assert first.data["job_id"] == second.data["job_id"], "two clients with one key have two runs"
        return self._noted("run.start", "", key, first)

    def _noted(self, act: str, object: str, key: str, found: ClientAnswer) -> ClientAnswer:
        done = found.status < 300
        named = object or (found.data["job_id"] if done else "")
        self.answer_log.note(AnsweredAct(act, named, key, done, found.unsure and not key))
        return found

    def _token(self) -> str:
        file = self.server.home / "server" / "admin.token"
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            if file.exists() and (text := file.read_text().strip()):
                return text
            time.sleep(0.05)
        raise NoAnswerError("the first start has written no token")

    def close(self) -> None:
        self._http.close()
