"""Checks a cluster before a job runs on it: the workers' Python and libraries, and the shared exchange.

A worker may die under the first small jobs as under any other one, and Spark never retries a task here. So jobs of the
check are run again: no unit has started yet, so a second run repeats no effect.
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
"""For a first task: a cluster may have to start machines for it. Spark itself waits forever, even for a lost
cluster."""

T = TypeVar("T")


def retry_until(run: Callable[[], T], unless: Callable[[], bool] = lambda: False) -> T:
    """Run a small job at the start, and again if its workers die."""
    from py4j.protocol import Py4JJavaError

    for _ in range(TRIES - 1):
        try:
            return run()
        except Py4JJavaError:
            if unless():
                raise
            continue  # a failure with another cause would repeat
    return run()


def probe(
    context: SparkContext, modules: tuple[str, ...], exchange: Path, wait_seconds: float = WAIT_SECONDS_MAX
) -> None:
    """Run one small task. Raises EngineError with the fault of the cluster and a remedy."""
    make_private(exchange)
    late = threading.Event()

    def give_up() -> None:
        late.set()
        context.cancelAllJobs()

    timer = threading.Timer(wait_seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        version, missing, fault = retry_until(partial(_asked, context, modules, exchange), late.is_set)
    except Exception as error:
        if late.is_set():
            raise EngineError(
                f"no worker of {context.master} has run a first task for {wait_seconds:g} s",
                "check on the master's page that it is up, and that its workers have cores and memory free for "
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
    """Report of a worker: its Python, its missing libraries, faults of the exchange."""
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
    """Fault of the exchange as seen by a worker; empty if there is none. A pack is run only once because its journal
    can be created only once, so "create only if absent" has to hold between machines."""
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
