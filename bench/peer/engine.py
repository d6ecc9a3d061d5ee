"""A running engine of SeaTunnel: `with PeerEngine() as peer: peer.run(job_file)`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.peer.home import PeerHome, prepare
from tests.servers.ports import free_port

OPENED = [
    "java.base/java.lang", "java.base/java.util", "java.base/java.nio", "java.base/sun.nio.ch",
    "java.base/java.net", "java.base/java.util.concurrent", "java.base/java.time",
    "java.management/sun.management", "jdk.management/com.sun.management.internal",
]  # fmt: skip
# The memory and the collector of SeaTunnel's own jvm_options.
MEMORY = ["-Xms2g", "-Xmx2g", "-XX:MaxMetaspaceSize=2g", "-XX:+UseG1GC"]
STOP_TIMEOUT_S = 30.0


def command(home: PeerHome, memory: Sequence[str] = MEMORY) -> list[str]:
    """The command that starts an engine in a configured home."""
    config = home.config
    return [
        "java", *memory, *(f"--add-opens={each}=ALL-UNNAMED" for each in OPENED),
        f"-DSEATUNNEL_HOME={home.directory}",
        f"-Dseatunnel.config={config / 'seatunnel.yaml'}",
        f"-Dhazelcast.config={config / 'hazelcast.yaml'}",
        f"-Dhazelcast.client.config={config / 'hazelcast-client.yaml'}",
        f"-Dlog4j2.configurationFile={config / 'log4j2.properties'}",
        "-cp", home.class_path, "RunJobs",
    ]  # fmt: skip


class PeerError(RuntimeError):
    """The engine did not start, or a job did not finish."""


@dataclass(frozen=True, slots=True)
class JobResult:
    seconds: float
    read: int
    written: int


class PeerEngine:
    """One process that runs job files one after the other; the engine's start is in no result."""

    def __init__(self) -> None:
        self._home: PeerHome = prepare()
        self._work = tempfile.TemporaryDirectory(prefix="seatunnel-peer-")
        self._log = Path(self._work.name) / "engine.log"
        self._process: subprocess.Popen[str] | None = None
        self.start_seconds = 0.0

    def __enter__(self) -> Self:
        self._home.configure(free_port(), self._log)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command(self._home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.start_seconds = float(self._answer()["engine_start_seconds"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._work.cleanup()

    def run(self, job: str) -> JobResult:
        """Run the text of a job file to its end."""
        self._say(str(self._written(job)))
        answer = self._answer()
        if answer["status"] != "FINISHED":
            raise PeerError(f"SeaTunnel's job ended as {answer['status']}: {answer['error'][:3000]}\n{job}")
        return JobResult(answer["seconds"], answer["read"], answer["written"])

    @contextlib.contextmanager
    def streaming(self, job: str) -> Iterator[None]:
        """Run the text of a job file that does not end, until the block ends. Raises PeerError if it failed before."""
        self._say(f"stream\t{self._written(job)}")
        answer = self._answer()
        if answer["status"] != "SUBMITTED":
            raise PeerError(f"SeaTunnel refused the job: {answer['error'][:3000]}\n{job}")
        failure: BaseException | None = None
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the engine may know the cause
            failure = error
        self._say("cancel")
        answer = self._answer()
        if failure is not None or answer["status"] != "CANCELED":
            raise PeerError(
                f"SeaTunnel's job ended as {answer['status']}: {answer['error'][:3000]}\n{job}"
            ) from failure

    def _written(self, job: str) -> Path:
        path = Path(self._work.name) / "job.conf"
        path.write_text(job)
        return path

    def _say(self, line: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"SeaTunnel's engine ended:\n{self._log.read_text(errors='replace')[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer
