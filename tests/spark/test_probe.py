"""The look at a cluster before a job is trusted to it: what is wrong is named, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from seatunnel_py.errors import EngineError
from seatunnel_py.spark.app.cluster_check import _fault, probe, retry_until
from seatunnel_py.spark.app.session import SparkApplication


@pytest.mark.spark
def test_a_good_cluster_passes_and_keeps_nothing(spark: SparkApplication, tmp_path: Path) -> None:
    """Same Python, all modules, an exchange that both sides see."""
    probe(spark.context, ("seatunnel_py.work.run",), tmp_path / "exchange")

    assert list((tmp_path / "exchange").iterdir()) == []


@pytest.mark.spark
def test_a_library_that_workers_lack_is_named(spark: SparkApplication, tmp_path: Path) -> None:
    """Before any unit runs, not in the middle of a table."""
    with pytest.raises(EngineError, match="lack no_such_library"):
        probe(spark.context, ("no_such_library",), tmp_path)


@pytest.mark.spark
def test_a_worker_that_dies_under_the_first_job_costs_only_time(spark: SparkApplication, tmp_path: Path) -> None:
    """Found by the soak: a driver ended, because a worker was killed while it began."""
    died = tmp_path / "died"

    def once(rows: Iterable[int]) -> Iterator[int]:
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield sum(rows)

    assert retry_until(lambda: spark.context.parallelize([7], 1).mapPartitions(once).collect()) == [7]
    assert died.exists()


@pytest.mark.spark
def test_workers_that_never_live_end_it(spark: SparkApplication) -> None:
    """It is tried a few times, not for ever."""

    def never(_: Iterable[int]) -> Iterator[int]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield 0

    with pytest.raises(Exception, match="Python worker exited"):
        retry_until(lambda: spark.context.parallelize([7], 1).mapPartitions(never).collect())


@pytest.mark.spark
def test_a_cluster_that_takes_no_task_is_given_up(spark: SparkApplication, tmp_path: Path) -> None:
    """Spark itself waits for ever, and says so to nobody: for workers that others hold, or a master that is gone."""
    slots = int(spark.context.defaultParallelism)

    def hold(_: Iterable[int]) -> Iterator[int]:
        time.sleep(60)
        yield 0

    def held() -> None:
        with suppress(Exception):  # it is given up too
            spark.context.parallelize(range(slots), slots).mapPartitions(hold).collect()

    holder = threading.Thread(target=held)
    holder.start()
    while len(spark.context.statusTracker().getActiveJobsIds()) < 1:
        time.sleep(0.05)
    time.sleep(1)  # all of it holds a slot
    try:
        with pytest.raises(EngineError, match="no worker of local.* has run a first task for 1 s") as refused:
            probe(spark.context, (), tmp_path, 1.0)
    finally:
        spark.context.cancelAllJobs()
        holder.join()
    assert "spark.executor.memory" in refused.value.remedy


def test_an_exchange_that_a_worker_does_not_see_is_told(tmp_path: Path) -> None:
    """A directory of the driver alone."""
    assert _fault(tmp_path / "elsewhere" / "probe") == "cannot read"


def test_a_worker_answers_in_the_exchange(tmp_path: Path) -> None:
    """Reading alone is not enough: workers write segments and journals there."""
    (tmp_path / "probe").write_text("word")

    assert _fault(tmp_path / "probe") == ""
    assert (tmp_path / "probe.answer").read_text() == "word"
    assert _fault(tmp_path / "probe") == "cannot write to"
