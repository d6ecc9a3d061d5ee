"""Looks at a cluster before a job is trusted to it: the workers' Python and libraries, and the shared exchange.

A worker may die under the first small jobs as under any other one, and Spark never tries a task again here: they are
run again, for nothing has begun yet that a second run could do twice.
"""

from __future__ import annotations

import importlib
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.errors import EngineError, first_line

if TYPE_CHECKING:
    from pyspark import SparkContext


TRIES = 3
WAIT_SECONDS_MAX = 600.0
"""For a first task: a cluster may have to start machines for it. Spark itself waits for ever, also for one that is
gone."""

T = TypeVar("T")


def insist(run: Callable[[], T], unless: Callable[[], bool] = lambda: False) -> T:
    """Run a small job at the start; again, where workers die under it."""
    from py4j.protocol import Py4JJavaError

    for _ in range(TRIES - 1):
        try:
            return run()
        except Py4JJavaError:
            if unless():
                raise
            continue  # what fails for another reason fails again
    return run()


def probe(
    context: SparkContext, modules: tuple[str, ...], exchange: Path, wait_seconds: float = WAIT_SECONDS_MAX
) -> None:
    """Run one small task. Raises EngineError that says what is wrong out there and what to do about it."""
    make_private(exchange)
    late = threading.Event()

    def give_up() -> None:
        late.set()
        context.cancelAllJobs()

    timer = threading.Timer(wait_seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        version, missing, fault = insist(partial(_asked, context, modules, exchange), late.is_set)
    except Exception as error:
        if late.is_set():
            raise EngineError(
                f"no worker of {context.master} has run a first task for {wait_seconds:g} s",
                "look at the master's page whether it is up, and whether its workers have cores and memory free for "
                "this job (spark.executor.cores, spark.executor.memory) or others hold them",
            ) from error
        raise EngineError(
            f"the cluster's workers do not run a first task: {first_line(str(error))}",
            "look at the executors' stderr: Spark's own page of the job names the file",
        ) from error
    finally:
        timer.cancel()
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


def _asked(context: SparkContext, modules: tuple[str, ...], exchange: Path) -> tuple[str, list[str], str]:
    """What a worker says: its Python, what it lacks, what is wrong with the exchange."""
    word = secrets.token_hex(8)
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
    return version, missing, fault


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
