"""Looks at a cluster before a job is trusted to it: the workers' Python and libraries, and the shared exchange."""

from __future__ import annotations

import importlib
import secrets
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import EngineError

if TYPE_CHECKING:
    from pyspark import SparkContext


def probe(context: SparkContext, modules: tuple[str, ...], exchange: Path) -> None:
    """Run one small task. Raises EngineError that says what is wrong out there and what to do about it."""
    word = secrets.token_hex(8)
    exchange.mkdir(parents=True, exist_ok=True)
    token = exchange / f"probe-{word}"
    token.write_text(word)
    try:
        ((version, missing, seen),) = context.parallelize([0], 1).mapPartitions(
            partial(_look, modules, str(token))
        ).collect()
    finally:
        token.unlink()
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version != ours:
        raise EngineError(
            f"the cluster's workers run Python {version}, this driver {ours}",
            "set spark.pyspark.python in env to a Python of the same minor version on the workers",
        )
    if missing:
        raise EngineError(
            f"the cluster's workers lack {', '.join(missing)}",
            "leave spark.archives unset, so that the libraries travel with the job, or put them into your own archive",
        )
    if seen != word:
        raise EngineError(
            f"the cluster's workers cannot read {exchange}, where steps exchange rows",
            "set exchange.location in env to a directory that driver and workers share",
        )


def _look(modules: tuple[str, ...], token: str, rows: Iterable[Any]) -> Iterator[tuple[str, list[str], str]]:
    for _ in rows:
        pass
    missing = []
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing.append(error.name or name)
    try:
        seen = Path(token).read_text()
    except OSError:
        seen = ""
    yield f"{sys.version_info.major}.{sys.version_info.minor}", missing, seen
