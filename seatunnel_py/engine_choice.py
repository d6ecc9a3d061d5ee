"""Chooses the engine of a job: a Spark application, started in the background, or this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from seatunnel_py.errors import EngineError
from seatunnel_py.plan.plugins.registry import PluginKind, extras_of
from seatunnel_py.plan.sql.analysis import CatalystFactory, SparkFactory
from seatunnel_py.plan.steps import Job, Step

if TYPE_CHECKING:
    from concurrent.futures import Future

    from seatunnel_py.api.factory import SourceFactory
    from seatunnel_py.plan.sql.analysis import SqlAnalyst
    from seatunnel_py.runtime.messages.engine_port import Engine
    from seatunnel_py.spark.app.session import SparkApplication


class Engines(Protocol):
    """Gives every job its own engine: an engine knows chains by their vertex, and two jobs may use the same vertex
    names."""

    def wait(self) -> None:
        """Return when jobs can run. Raises EngineError if they never will."""

    def engine(self, exchange: Path) -> Engine: ...

    def analyst(self) -> SqlAnalyst: ...

    def stop(self) -> None: ...


class LocalEngines:
    """Runs everything in this process: no Spark, so no queries."""

    def wait(self) -> None:
        """Does nothing: nothing has to start."""

    def engine(self, exchange: Path) -> Engine:
        from seatunnel_py.local.engine import LocalEngine

        return LocalEngine()

    def analyst(self) -> SqlAnalyst:
        raise EngineError("a job with queries needs Spark", "run it without --here")

    def stop(self) -> None:
        """Does nothing: nothing is held."""


class SparkEngines:
    """Starts one Spark application while the first job is being planned."""

    def __init__(self, jobs: Sequence[Job], place: Path) -> None:
        """``place`` receives the application's log and scratch files."""
        from seatunnel_py.spark.app import prepared, session

        steps = [step for job in jobs for step in job.steps]
        settings = session.SparkSettings(
            jobs[0].name if len(jobs) == 1 else f"{len(jobs)} jobs",
            _settings_of(jobs),
            place,
            cache_directory(),
            any(needs_catalyst(job) for job in jobs),
            tuple(sorted({module for step in steps for module in _modules(step)})),
            tuple(sorted({extra for step in steps for extra in extras_of(step.factory, step.options)})),
            max(_residents(job) for job in jobs),
        )
        from concurrent.futures import ThreadPoolExecutor

        self._starting = ThreadPoolExecutor(1, thread_name_prefix="spark")
        self._application: Future[SparkApplication] = self._starting.submit(prepared.start, settings)

    def wait(self) -> None:
        self._application.result()

    def engine(self, exchange: Path) -> Engine:
        from seatunnel_py.spark.packs.engine import SparkEngine

        found = self._application.result()
        return SparkEngine(found.context, found.slots, exchange, found.residents, staying=found.staying)

    def analyst(self) -> SqlAnalyst:
        from seatunnel_py.spark.query.catalyst import Analyst

        return Analyst(self._application.result().session())

    def stop(self) -> None:
        self._starting.shutdown(wait=True)
        if self._application.exception() is None:
            self._application.result().stop()


def _modules(step: Step) -> tuple[str, ...]:
    """List the modules that a worker imports for a step: its factory's own, and those of the implementation."""
    return (type(step.factory).__module__, *step.factory.modules(step.options))


def needs_catalyst(job: Job) -> bool:
    """Whether the job has queries, or steps that Spark itself reads or writes."""
    return any(isinstance(step.factory, (CatalystFactory, SparkFactory)) for step in job.steps)


RESIDENTS_PER_STEP = 8  # a source may have many tables: beyond this number their units share slots like others


def _residents(job: Job) -> int:
    """Number of workers that may want their own slot."""
    wanted = 0
    for step in job.of_kind(PluginKind.SOURCE):
        factory = cast("SourceFactory[Any]", step.factory)
        wanted += RESIDENTS_PER_STEP * factory.capabilities(step.options, step.context(job)).resident
    return wanted


def _settings_of(jobs: Sequence[Job]) -> dict[str, str]:
    """Merge the ``spark.*`` keys of all jobs; the first job wins where two differ."""
    return {key: value for job in reversed(jobs) for key, value in job.file.env.spark.items()}


def cache_directory() -> Path:
    """Directory of class-data archives: they serve every job of this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seatunnel-py"
