"""The parts of clients that act on jobs for the whole campaign, each in a thread of its own."""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from e2e.server.driver_processes import kill_driver
from e2e.server_kills.retrying_client import AnswerLog, ClientAnswer, RetryingClient
from e2e.server_kills.twenty_jobs import KilledJob
from seatunnel_py.runtime.storage.home import Home

CLOSED = ("ENDED", "DROPPED", "NOT_STARTED")
WAIT_SECONDS = 240.0


@dataclass
class JobOperator:
    """``over``: set when the campaign ends. ``troubles``: what went another way than it should."""

    job: KilledJob
    client: RetryingClient
    luck: random.Random
    over: threading.Event
    driver_kills: int = 0
    troubles: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Work until the end of the campaign."""
        try:
            self.define()
            self.work()
        except Exception:  # noqa: BLE001 - a thread that dies is a fault of the campaign
            self.troubles.append(f"{self.job.name}: {traceback.format_exc(limit=-3)}")
            print(self.troubles[-1], file=sys.stderr, flush=True)

    def work(self) -> None:
        raise NotImplementedError

    @property
    def answer_log(self) -> AnswerLog:
        return self.client.answer_log

    def define(self) -> None:
        """Make the definition, with its policy and its schedule. An answer that was lost makes the second try a 409."""
        name = self.job.name
        self._create("definition.create", "/definitions", {"id": name, "text": self.job.text, "comment": ""})
        policy = {"policy": "on-failure"}
        self.expect(
            200, self.client.act("definition.policy", name, "PUT", f"/definitions/{name}/policy", policy, keyed=False)
        )
        if self.job.schedule:
            self._create("schedule.create", f"/definitions/{name}/schedules", {"id": name, **self.job.schedule})

    def _create(self, act: str, path: str, body: Mapping[str, Any]) -> None:
        found = self.client.act(act, self.job.name, "POST", path, body, keyed=False)
        assert found.status == 201 or (found.status == 409 and found.unsure), found

    def expect(self, status: int, found: ClientAnswer) -> ClientAnswer:
        assert found.status == status, found
        return found

    def pause(self, least: float, most: float) -> None:
        """Wait; the end of the campaign ends it."""
        self.over.wait(self.luck.uniform(least, most))

    def show(self, run: str) -> dict[str, Any]:
        """The head of a run; empty: it has no directory yet."""
        return self.client.ask("GET", f"/runs/{run}").data if self.place_exists(run) else {}

    def intent(self, run: str) -> str:
        """The state of the newest start of a run."""
        return str(self.expect(200, self.client.ask("GET", f"/runs/{run}/start")).data["state"])

    def place_exists(self, run: str) -> bool:
        return Home(self.client.server.home).place(run).path.exists()

    def until(self, what: str, holds: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
        """Wait. Raises AssertionError."""
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, f"{what}: not within {seconds} s; {self.client.server.tail()}"
            time.sleep(0.5)

    def at_rest(self, run: str) -> bool:
        return self.intent(run) in CLOSED

    def kill_driver(self, run: str) -> None:
        """Kill -9 the driver of a run with all that it has started, if it has one."""
        about = Home(self.client.server.home).place(run).read("job")
        if about is None or not Home(self.client.server.home).place(run).running:
            return
        kill_driver(int(about["pid"]))
        self.driver_kills += 1
