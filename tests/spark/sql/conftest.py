"""One Spark application for all tests of SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.spark.app.session import SparkApplication, SparkSettings, start


@pytest.fixture(scope="package")
def application(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[SparkApplication]:
    place: Path = tmp_path_factory.mktemp("spark")
    settings = SparkSettings("sql-tests", {"master": "local[2]"}, place, cache, catalyst=True)
    running = start(settings)
    yield running
    running.stop()


@pytest.fixture(scope="package")
def session(application: SparkApplication) -> Any:
    return application.session()
