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
        look = partial(_look, modules, str(token))
        ((version, missing, fault),) = context.parallelize([0], 1).mapPartitions(look).collect()
        if not fault and not (_answer(token).is_file() and _answer(token).read_text() == word):
            fault = "have a directory of their own under the name"
    finally:
        token.unlink()
        _answer(token).unlink(missing_ok=True)
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
    if fault:
        raise EngineError(
            f"the cluster's workers {fault} {exchange}, where steps exchange rows",
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
    yield f"{sys.version_info.major}.{sys.version_info.minor}", missing, _fault(Path(token))


def _fault(token: Path) -> str:
    """What is wrong with the exchange as a worker sees it; empty when nothing is. A pack is run once because its
    journal can be created once, so "create only if absent" has to hold between machines."""
    try:
        word = token.read_text()
    except OSError:
        return "cannot read"
    try:
        token.open("x").close()
    except FileExistsError:
        pass
    except OSError:
        return "cannot write to"
    else:
        return "can create the same file twice in"
    try:
        with _answer(token).open("x") as file:
            file.write(word)
    except OSError:
        return "cannot write to"
    return ""


def _answer(token: Path) -> Path:
    return token.with_suffix(".answer")
