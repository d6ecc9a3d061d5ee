"""SeaTunnel's engine as a process that may be killed and started again in the same place."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peer.engine import command
from bench.peer.home import PeerHome
from e2e.support import kill9
from tests.servers.ports import free_port

MEMORY = ("-Xms128m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PHASES_LOGGED = """
logger.phases.name = org.apache.seatunnel.engine.server.checkpoint
logger.phases.level = INFO
"""
START_SECONDS, LOOK_SECONDS = 240.0, 0.02


class DidNotAnswer(AssertionError):
    """The engine did not start, or said nothing for too long."""


class Engine:
    """One life of an engine. Its checkpoints lie in ``home``, where the next one finds them."""

    def __init__(self, home: PeerHome) -> None:
        self._log = home.directory / "engine.log"
        self._seen = self._log.stat().st_size if self._log.exists() else 0
        home.configure(free_port(), self._log)
        with (home.config / "log4j2.properties").open("a") as file:
            file.write(PHASES_LOGGED)
        with (home.directory / "engine.err").open("ab") as errors:
            self._process = subprocess.Popen(
                command(home, MEMORY), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.answer(START_SECONDS)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put({"status": "KILLED", "error": "the engine has ended"})

    def submit(self, job: Path, job_id: int, *, restore: bool) -> None:
        """Begin a job under this id, or go on with it from its newest checkpoint."""
        assert self._process.stdin is not None
        words = (str(job), str(job_id), *(["restore"] if restore else []))
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()

    def answer(self, seconds: float) -> dict[str, Any]:
        """What it says next. Raises DidNotAnswer."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            raise DidNotAnswer(f"the engine said nothing for {seconds} s") from None

    def said(self, phase: str) -> int:
        """How often its log has said this in this life."""
        with self._log.open("rb") as log:
            log.seek(self._seen)
            return log.read().count(phase.encode())

    def wait_for(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Whether that came about before the job had ended, or the time was over."""
        deadline = time.monotonic() + seconds
        while self._answers.empty() and time.monotonic() < deadline:
            if reached():
                return True
            time.sleep(LOOK_SECONDS)
        return False

    def kill9(self) -> None:
        """It dies at once."""
        kill9(self._process.pid)
        self._process.wait()
