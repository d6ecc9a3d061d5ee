"""One Spark application for each test module, and the toy plugins on the path of driver and workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from seatunnel_py.spark.app import session
from seatunnel_py.spark.app.session import SparkApplication, SparkSettings

TOYS = Path(__file__).parents[1] / "unit" / "work"
sys.path.insert(0, str(TOYS))


@pytest.fixture(scope="session")
def cache() -> Path:
    """That of all runs: with its class-data archives a JVM starts for half of the computing."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seatunnel-py"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[SparkApplication]:
    """Local Spark with two slots; where the session's tests already have one, that one: a process has one context."""
    active = SparkContext._active_spark_context
    if active is not None:
        adopted = SparkApplication(active, None, 3, True)  # type: ignore[arg-type]  # whoever started it stops it
        active.environment["PYTHONPATH"] = str(TOYS)
        yield adopted
        return
    place = tmp_path_factory.mktemp("spark")
    application = session.start(SparkSettings("tests", {"master": "local[2]"}, place, cache))
    application.context.environment["PYTHONPATH"] = str(TOYS)
    yield application
    application.stop()
