"""The daemon that begins beside the JVM: who it works for, what it takes over, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seatunnel_py.spark.app.early_daemon import CALLED, NAME_VARIABLE, EarlyDaemon, hand_over
from seatunnel_py.spark.app.session import DAEMON

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of sockets without files are Linux's own")

SECONDS_MAX = 20.0


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


APPLICATION = """
    import json, os, signal, sys, time
    from pathlib import Path
    from seatunnel_py.spark.app import session

    place = Path(sys.argv[1])
    given = {"master": "local[2]", "executorEnv.OF_THE_JOB": "1", "executorEnv.PYTHONPATH": str(place)}
    spark = session.start(session.SparkSettings("tests", given, place, Path(sys.argv[2])))

    def look(rows):
        names = ("SPARK_REUSE_WORKER", "OMP_NUM_THREADS", "OF_THE_JOB")
        words = Path(f"/proc/{os.getppid()}/cmdline").read_text().split(chr(0))
        return [[os.getppid(), words, [*[os.environ.get(name) for name in names], str(place) in sys.path]]]

    def worker(attempts=1):
        try:
            return spark.context.parallelize([0], 1).mapPartitions(look).collect()[0]
        except Exception:  # a task that Spark gave to an idle worker which is dead: units have further attempts
            if attempts == 1:
                raise
            return worker(attempts - 1)

    found = [spark.early.process.pid, worker()]
    os.killpg(found[0], signal.SIGKILL)  # with its workers
    while spark.early.process.returncode is None:
        time.sleep(0.01)
    print(json.dumps([*found, worker(attempts=4)]))
    spark.stop()
"""


@pytest.mark.spark
def test_workers_fork_from_it_and_from_sparks_own_when_it_is_killed(tmp_path: Path, cache: Path) -> None:
    """It has taken over what Spark gives its daemon; whoever takes its place imports for itself."""
    command = [sys.executable, "-c", textwrap.dedent(APPLICATION), str(tmp_path), str(cache)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    early, (first, words_of_first, known), (second, words_of_second, known_to_second) = json.loads(ended.stdout)
    assert first == early
    assert CALLED in words_of_first
    assert known == known_to_second == ["1", "1", "1", True]
    assert second != first
    assert DAEMON in words_of_second
    assert CALLED not in words_of_second


def test_it_ends_when_the_driver_goes_before_it_was_called() -> None:
    early = EarlyDaemon.start(DAEMON, dict(os.environ))
    assert early is not None
    assert early.process.poll() is None

    early.stop()
    early.stop()

    until(lambda: early.process.returncode is not None)
    assert early.process.returncode == 0


@pytest.mark.parametrize("name", [None, "nobody-has-this-name"])
def test_where_there_is_none_sparks_daemon_works_itself(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    monkeypatch.delenv(NAME_VARIABLE, raising=False)
    if name is not None:
        monkeypatch.setenv(NAME_VARIABLE, name)

    assert not hand_over()
