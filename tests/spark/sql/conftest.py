"""One Spark application for all tests of SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.spark.app.session import SparkApplication, SparkSettings, start


@pytest.fixture(scope="package")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkApplication]:
    place: Path = tmp_path_factory.mktemp("spark")
    settings = SparkSettings("sql-tests", {"master": "local[2]"}, place, place / "cache", catalyst=True)
    running = start(settings)
    yield running
    running.stop()
    # It would write a class-data archive that nobody reads.
    running.jvm.process.kill()
    running.jvm.process.wait()


@pytest.fixture(scope="package")
def session(application: SparkApplication) -> Any:
    return application.session()
