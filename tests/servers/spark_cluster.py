"""A Spark standalone cluster on this machine: a master and one-core workers from pip's own pyspark."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.ports import LOOPBACK, free_port

START_SECONDS_MAX = 180.0  # two JVMs on a machine that may be busy with other tests
_DEPLOY = "org.apache.spark.deploy"


@dataclass(slots=True)
class SparkCluster:
    """``url`` is what ``spark.master`` takes. Its processes are given an environment without our virtual environment's
    packages: what a job needs out there must have travelled with it."""

    directory: Path
    environment: Mapping[str, str]
    port: int = field(default_factory=free_port)
    master: subprocess.Popen[bytes] | None = None
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    def start(self, workers: int) -> None:
        self.master = self._spawn("master", "master.Master", "--port", str(self.port))
        for number in range(workers):
            self.start_worker(number)
        self._await(*self.workers)

    def start_worker(self, number: int) -> None:
        """Also one that was killed; it registers in its own time."""
        options = ("--cores", "1", "--memory", "2g", self.url)
        self.workers[number] = self._spawn(f"worker-{number}", "worker.Worker", *options)

    def kill_worker(self, number: int) -> None:
        """The daemon dies at once; its executors notice by themselves."""
        self.workers[number].kill()
        self.workers[number].wait()

    def stop(self) -> None:
        processes = [*self.workers.values(), *([self.master] if self.master else [])]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(timeout=30)

    def _spawn(self, name: str, kind: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        common = ("--host", LOOPBACK, "--webui-port", str(free_port()))
        inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environment = {
            **inherited,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_WORKER_DIR": str(self.directory / "work"),
            "SPARK_NO_DAEMONIZE": "1",
            # The second compiler would take half of the time in which they start.
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            **self.environment,
        }
        command = [str(home / "bin" / "spark-class"), f"{_DEPLOY}.{kind}", *common, *options]
        with self._log(name).open("ab") as log:
            return subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=self.directory, process_group=0
            )

    def _log(self, name: str) -> Path:
        return self.directory / f"cluster-{name}.log"

    def _await(self, *workers: int) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        logs = [self._log(f"worker-{number}") for number in workers]
        while not all("Successfully registered with master" in log.read_text() for log in logs):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the Spark workers did not register; see {self.directory}")
            time.sleep(0.1)


@contextlib.contextmanager
def spark_cluster(
    directory: Path, workers: int = 2, environment: Mapping[str, str] | None = None
) -> Iterator[SparkCluster]:
    """A running cluster; ``environment`` is added to that of its processes."""
    cluster = SparkCluster(directory, environment or {})
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()
