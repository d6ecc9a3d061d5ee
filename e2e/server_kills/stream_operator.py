"""A client that starts a stream, kills its drivers, takes savepoints, stops it and goes on with it, in any order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from e2e.server_kills.operator_base import JobOperator
from e2e.server_kills.retrying_client import RetryingClient

KILLS_MAX = 2  # more of them in a row wait for minutes
LAST_SECONDS = 420.0


@dataclass
class StreamOperator(JobOperator):
    """``other``: a second client with the same wishes; ``chain``: the runs of the stream, each from a savepoint of the
    one before."""

    other: RetryingClient | None = None
    chain: list[str] = field(default_factory=list)
    kills: int = 0
    names: int = 0

    def work(self) -> None:
        self._start("")
        while not self.over.is_set():
            self._until_moving()
            if self.over.is_set():
                break
            self.pause(0.0, 4.0)
            self._one_act()
        self._end()

    def _one_act(self) -> None:
        act = self.luck.choice(("kill", "kill", "savepoint", "stop", "stop", "cancel", "kill and stop", "replace"))
        if act == "kill" and self.kills < KILLS_MAX:
            self.kills += 1
            self.kill_driver(self.newest)
        elif act == "savepoint":
            self._ask("savepoint")
        elif act in ("stop", "cancel"):
            self._rest(act)
            self._restore()
        elif act == "kill and stop":  # the supervisor may be about to restore it
            self.kill_driver(self.newest)
            self._rest(self.luck.choice(("stop", "cancel")))
            self._restore()
        elif act == "replace" and (name := self._rest("stop")):
            self._start(name)

    @property
    def newest(self) -> str:
        return self.chain[-1]

    def _start(self, savepoint: str) -> None:
        path, body = f"/definitions/{self.job.name}/runs", {"restore": savepoint} if savepoint else {}
        if self.other is not None and self.luck.random() < 0.5:
            found = self.client.start_at_once(self.other, path, body)
        else:
            found = self.expect(202, self.client.act("run.start", "", "POST", path, body))
        self.chain.append(found.data["job_id"])
        self.kills = 0

    def _restore(self) -> None:
        """A driver whose run has just ended may be about to end itself."""

        def restored() -> bool:
            found = self.client.act("run.restore", self.newest, "POST", f"/runs/{self.newest}/restore", {})
            assert found.status in (202, 409), found
            return found.status == 202

        self.until(f"{self.newest} is restored", restored)
        self.kills = 0

    def _until_moving(self) -> None:
        before = self._read()
        until = time.monotonic() + LAST_SECONDS
        while not self.over.is_set() and not (
            self.show(self.newest).get("state") == "RUNNING" and self._read() > before
        ):
            assert time.monotonic() < until, (
                f"{self.newest} does not run: {self.show(self.newest)} {self.intent(self.newest)}"
            )
            time.sleep(0.7)

    def _read(self) -> int:
        return int(self.show(self.newest).get("rows_read") or 0)

    def _ask(self, wish: str) -> tuple[str, str]:
        """Send a request to the driver; return its id and the name of its savepoint, or nothing if it was refused."""
        self.names += 1
        name = f"{self.job.name}-{self.names}"
        body: dict[str, Any] = {"seconds": 60} if wish == "cancel" else {"seconds": 60, "name": name}
        found = self.client.act(f"run.{wish}", self.newest, "POST", f"/runs/{self.newest}/{wish}", body)
        assert found.status in (202, 409), found  # 409: no driver is alive, or none has begun
        return (str(found.data["request"]), name) if found.status == 202 else ("", "")

    def _rest(self, wish: str) -> str:
        """Let the run end, whatever it does: return the name of the savepoint behind which it has, or nothing. A run
        that is given up has no driver any more until it is restored."""
        request, name = self._ask(wish)
        if not request:
            self.until(f"{self.newest} is given up", self._given_up)
        self.until(f"{self.newest} comes to rest", lambda: self.at_rest(self.newest))
        time.sleep(self.luck.uniform(0.0, 1.5))
        if not self.at_rest(self.newest):
            self.troubles.append(f"{self.newest} was given up, and has a start again")
            self.until(f"{self.newest} comes to rest", lambda: self.at_rest(self.newest))
        if not request or wish == "cancel":
            return ""
        found = self.client.ask("GET", f"/runs/{self.newest}/requests/{request}")
        done = found.status == 200 and (found.data["answer"] or {}).get("done")
        return name if done else ""

    def _given_up(self) -> bool:
        """Its driver is gone, and the next one waits in the queue; or it has come back in the meantime."""
        run = self.newest
        if self.at_rest(run):
            return True
        if self.client.act("queue.drop", run, "DELETE", f"/queue/{run}", keyed=False).status == 200:
            return True
        return bool(self._ask("cancel")[0]) or self.at_rest(run)

    def _end(self) -> None:
        """Bring it behind a last savepoint: then its target has what was read."""
        until = time.monotonic() + LAST_SECONDS
        while not self._rest("stop"):
            assert time.monotonic() < until, f"{self.newest} has no last savepoint"
            self._restore()
            self.until(f"{self.newest} runs", lambda: self.show(self.newest).get("state") == "RUNNING")
