"""A Spark standalone cluster on this machine: a master and one-core workers from pip's own pyspark."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.ports import LOOPBACK, free_port

START_SECONDS_MAX = 180.0  # two JVMs on a machine that may be busy with other tests


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """``url`` is what ``spark.master`` takes."""

    url: str
    processes: tuple[subprocess.Popen[bytes], ...]


@contextlib.contextmanager
def spark_cluster(directory: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A running cluster. Its processes are given an environment without our virtual environment's packages: what
    a job needs out there must have travelled with it."""
    import pyspark

    home = Path(pyspark.__file__).parent
    port = free_port()
    url = f"spark://{LOOPBACK}:{port}"
    environment = {
        **{key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_WORKER_DIR": str(directory / "work"),
        "SPARK_NO_DAEMONIZE": "1",
    }
    spark_class = str(home / "bin" / "spark-class")
    deploy = "org.apache.spark.deploy"
    ui = ["--webui-port", str(free_port())]
    commands = [[spark_class, f"{deploy}.master.Master", "--host", LOOPBACK, "--port", str(port), *ui]]
    commands += [
        [spark_class, f"{deploy}.worker.Worker", "--cores", "1", "--memory", "2g", "--host", LOOPBACK]
        + ["--webui-port", str(free_port()), url]
        for _ in range(workers)
    ]
    logs = [directory / f"cluster-{number}.log" for number in range(len(commands))]
    processes = []
    try:
        for command, log in zip(commands, logs, strict=True):
            with log.open("wb") as file:
                processes.append(
                    subprocess.Popen(command, env=environment, stdout=file, stderr=file, cwd=directory, process_group=0)
                )
        _await(logs[1:])
        yield SparkCluster(url, tuple(processes))
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(timeout=30)


def _await(logs: list[Path]) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while not all("Successfully registered with master" in log.read_text() for log in logs):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the Spark workers did not register; see {logs[0].parent}")
        time.sleep(0.1)
