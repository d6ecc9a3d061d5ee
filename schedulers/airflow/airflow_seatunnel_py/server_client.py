"""The calls of a seatunnel-py server that this provider makes. It needs no Airflow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from airflow_seatunnel_py.run_outcome import has_ended

API = "/api/v1"
TIMEOUT_SECONDS = 30.0
CHANGES_MAX = 5
KILL_PAUSE_SECONDS = 1.0


class ServerError(Exception):
    """The server has refused a request. ``status``: of its answer."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        faults = "; ".join(str(one.get("message", "")) for one in problem.get("problems") or ())
        words = (problem.get("detail") or problem.get("title") or f"status {status}", faults, problem.get("remedy"))
        super().__init__(": ".join(str(word) for word in words if word))


@dataclass(frozen=True)
class StartOrder:
    """A start of a definition. ``key``: of idempotency."""

    definition: str
    key: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{API}/definitions/{self.definition}/runs"

    @property
    def body(self) -> dict[str, Any]:
        return {"variables": dict(self.variables)}


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is. ``token``: its text; ``verify``: whether its certificate is checked, or the file of its
    authority."""

    url: str
    token: str = field(repr=False)
    verify: bool | str = True

    @property
    def options(self) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        return {"base_url": self.url, "headers": headers, "verify": self.verify, "timeout": TIMEOUT_SECONDS}


class ServerClient:
    """Calls a server."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address

    def _call(self, method: str, path: str, **more: Any) -> httpx.Response:
        with httpx.Client(**self.address.options) as client:
            return checked(client.request(method, path, **more))

    def whoami(self) -> dict[str, Any]:
        """The token of this client."""
        return dict(self._call("GET", f"{API}/whoami").json())

    def store(self, id: str, text: str) -> int:
        """Store a job file under this id; return the number of its revision, which is new only for a new text."""
        for _ in range(CHANGES_MAX):
            try:
                found = self._call("GET", f"{API}/definitions/{id}")
                if found.json()["newest"]["text"] == text:
                    return int(found.json()["newest"]["number"])
                headers = {"If-Match": found.headers["etag"]}
                body = {"text": text, "comment": "from Airflow"}
                return int(self._call("PUT", f"{API}/definitions/{id}", json=body, headers=headers).json()["number"])
            except ServerError as error:
                if error.status == 412:
                    continue  # another task has changed it meanwhile
                if error.status != 404:
                    raise
            try:
                body = {"id": id, "text": text, "comment": "from Airflow"}
                return int(self._call("POST", f"{API}/definitions", json=body).json()["number"])
            except ServerError as error:
                if error.status != 409:
                    raise
        raise ServerError(409, {"detail": f"the definition {id!r} changes all the time"})

    def start(self, order: StartOrder) -> dict[str, Any]:
        """Start a run, or find the one that this key has started: its ``job_id`` and the ``state`` of its start."""
        headers = {"Idempotency-Key": order.key}
        return dict(self._call("POST", order.path, json=order.body, headers=headers).json())

    def restore(self, run: str) -> None:
        """Let a run that has ended go on."""
        self._call("POST", f"{API}/runs/{run}/restore", json={})

    def head(self, run: str, order: StartOrder | None = None) -> dict[str, Any]:
        """The head of a run. Before it has a directory: the state of its start, which ``order`` finds again."""
        try:
            return dict(self._call("GET", f"{API}/runs/{run}").json())
        except ServerError as error:
            if error.status != 404 or order is None:
                raise
        return waiting_head(self.start(order))

    def failures(self, run: str) -> list[dict[str, Any]]:
        """The newest failures of a run; none if it has not begun."""
        try:
            return list(self._call("GET", f"{API}/runs/{run}/failures", params={"limit": 10}).json()["failures"])
        except ServerError as error:
            if error.status != 404:
                raise
            return []

    def end(self, run: str, *, saves: bool, seconds: float) -> str:
        """End a run: ask for it, wait, then kill its driver. Returns how it has ended."""
        asked = self._ask_to_end(run, saves=saves, seconds=seconds)
        until = time.monotonic() + seconds
        while asked and time.monotonic() < until:
            if has_ended(self.head(run)):
                return "it has ended"
            time.sleep(KILL_PAUSE_SECONDS)
        return self._kill(run) if asked else "it had ended, or its start was taken out of the queue"

    def _ask_to_end(self, run: str, *, saves: bool, seconds: float) -> bool:
        try:
            path, body = end_request(run, saves=saves, seconds=seconds)
            self._call("POST", path, json=body)
            return True
        except ServerError as error:
            if error.status not in (404, 409):
                raise
        try:
            self._call("DELETE", f"{API}/queue/{run}")
        except ServerError as error:
            if error.status not in (404, 409):
                raise
        return False

    def _kill(self, run: str) -> str:
        try:
            self._call("POST", f"{API}/runs/{run}/kill", json={})
            return "its driver was killed"
        except ServerError as error:
            if error.status != 409:
                raise
            return f"it has ended, or cannot be killed: {error}"


def end_request(run: str, *, saves: bool, seconds: float) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request to end a run."""
    return f"{API}/runs/{run}/{'stop' if saves else 'cancel'}", {"seconds": max(1.0, seconds)}


def waiting_head(started: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a run that has no directory: a start that has ended without one has failed."""
    code = started.get("exit_code")
    return {"job_id": started["job_id"], "state": started["state"], "exit_code": code, "job": None, "receipt": None}


def checked(answer: httpx.Response) -> httpx.Response:
    """Raise ServerError for an answer that is none of success."""
    if answer.is_success:
        return answer
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    raise ServerError(answer.status_code, problem if isinstance(problem, dict) else {})
