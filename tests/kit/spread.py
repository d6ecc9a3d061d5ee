"""``-p tests.kit.spread``: the order of tests, and which of them stay together, when several processes share them.

An end-to-end test is a piece of work by itself, for one file may hold minutes of them. Any other file stays together,
and so does a file whose fixtures have the scope of the module, or that uses the broker of its module: a second process
would set them up again. Long pieces come first, so that all processes end at about the same time.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[2]
LONG = (
    "e2e/test_conformance",
    "e2e/test_forty_tables",
    "e2e/test_cluster",
    "tests/spark/sql/",
    "e2e/test_kafka_",
    "e2e/",
    "tests/connectors/conformance/",
    "tests/connectors/kafka/",
    "tests/spark/",
    "tests/connectors/",
    "tests/round_trips/",
    "tests/simulation/",
    "tests/mutants/",
    "tests/model/",
)
"""Longest first; what is not named here comes last."""


SHARING = ("tests/spark/sql/", "tests/connectors/kafka/")
"""Folders whose files share one Spark application, or one broker: all of one runs in one process."""
MODULE_FIXTURES = ('scope="module"', "kafka: KafkaServer")
"""What stands in a file with fixtures of its module."""


def rank(path: str) -> int:
    """The place of a file of this path in the order."""
    return next((at for at, folder in enumerate(LONG) if path.startswith(folder)), len(LONG))


@cache
def stays_together(path: str) -> bool:
    """Whether all tests of this file run in one process."""
    if not path.startswith("e2e/"):
        return True
    text = (ROOT / path).read_text()
    return any(mark in text for mark in MODULE_FIXTURES)


def piece(nodeid: str) -> str:
    """The piece of work that a test belongs to."""
    path = nodeid.partition("::")[0]
    folder = next((folder for folder in SHARING if path.startswith(folder)), "")
    return folder or (path if stays_together(path) else nodeid)


class Spread(LoadScopeScheduling):
    """Hands out pieces in their order, each to the process that is free."""

    def _split_scope(self, nodeid: str) -> str:
        return piece(nodeid)


@pytest.hookimpl
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spread:
    config.option.loadscopereorder = False
    return Spread(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collecting makes a million objects that stay: to look for garbage among them finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid))
