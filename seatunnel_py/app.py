"""The composition root, and the API for embedding: ``check``, ``plan``, ``run``.

The only place that chooses real parts: which engine, which clock, where state lives. Everything below it takes
what it needs as arguments; tests build their own.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.factory import JobMode
from seatunnel_py.config.env import FailurePolicy
from seatunnel_py.config.job_file import load
from seatunnel_py.engines import Engines, LocalEngines, SparkEngines, needs_catalyst
from seatunnel_py.errors import JobFileError, PlanError, Problem
from seatunnel_py.plan.registry import hooks, installed
from seatunnel_py.plan.sql import CatalystFactory
from seatunnel_py.plan.steps import Job, understand

if TYPE_CHECKING:
    from seatunnel_py.local.preview import StepRows
    from seatunnel_py.plan.flows import FlowGraph
    from seatunnel_py.plan.pipelines import Pipeline
    from seatunnel_py.plan.sql import SqlAnalyst
    from seatunnel_py.runtime.events import JobEvent
    from seatunnel_py.runtime.home import Home, JobPlace
    from seatunnel_py.runtime.ports import Engine
    from seatunnel_py.runtime.receipt import Receipt

PROCESS_STARTED = time.time()


@dataclass(frozen=True, slots=True)
class Plan:
    """A job with its tables known: what ``run`` would do."""

    job: Job
    graph: FlowGraph
    pipelines: tuple[Pipeline, ...]


def check(path: Path, variables: Mapping[str, str] | None = None) -> Job:
    """Read a job file and everything that can be known of it without opening anything.

    Raises JobFileError with every problem. Starts no JVM and imports no client library.
    """
    found: list[Problem] = []
    job = understand(load(path, variables, collect=found), installed(), found)
    return _with_checked_queries(job)


def _with_checked_queries(job: Job) -> Job:
    queries = [step for step in job.steps if isinstance(step.factory, CatalystFactory)]
    if not queries:
        return job
    from seatunnel_py.plan.sql_check import query_notes, query_problems

    dialect = job.file.env.sql_dialect
    problems = tuple(problem for step in queries for problem in query_problems(step, dialect))
    if problems:
        raise PlanError(problems)
    notes = tuple(str(note) for step in queries for note in query_notes(step, dialect))
    return replace(job, notes=(*job.notes, *notes))


def plan(path: Path, variables: Mapping[str, str] | None = None) -> Plan:
    """Read a job file and ask its sources for their tables. Reads from the sources, changes nothing."""
    with planned(path, variables) as (found, _):
        return found


def preview(path: Path, variables: Mapping[str, str], rows: int) -> Iterator[StepRows]:
    """The first rows behind every step; reads from the sources, writes nowhere."""
    from seatunnel_py.local.preview import first_rows

    with planned(path, variables) as (found, analyst):
        yield from first_rows(found.graph, rows, analyst)


@contextlib.contextmanager
def planned(path: Path, variables: Mapping[str, str] | None) -> Iterator[tuple[Plan, SqlAnalyst | None]]:
    """A plan, and what analysed its queries while that is still there. Starts Spark for jobs with queries only."""
    job = check(path, variables)
    if not needs_catalyst(job):
        yield _planned(job, None), None
        return
    with tempfile.TemporaryDirectory(prefix="seatunnel-") as place:
        spark = SparkEngines((job,), Path(place))
        try:
            analyst = spark.analyst()
            yield _planned(job, analyst), analyst
        finally:
            spark.stop()


def _planned(job: Job, analyst: SqlAnalyst | None) -> Plan:
    from seatunnel_py.plan import flows, guarantee, pipelines, selection

    graph = flows.build(job, analyst)
    divided = pipelines.divide(graph)
    guarantee.require(graph, divided, job.file.env.guarantee)
    unread = pipelines.unread(graph, divided)
    if unread:
        text = f"not read, for transforms take them out of the flow: {selection.named([str(path) for path in unread])}"
        job = replace(job, notes=(*job.notes, text))
    return Plan(job, graph, divided)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run, beside what the job file says. ``only`` restricts the job to some of its source tables."""

    variables: Mapping[str, str]
    job_id: str | None = None
    fresh: bool = False
    only: tuple[str, ...] = ()
    local: bool = False


def run(
    path: Path, options: RunOptions, home: Home, listen: Callable[[JobEvent], None], on_driver: Callable[[Any], None]
) -> Receipt:
    """Run a job to its end. ``on_driver`` gets the driver once it exists, so that a signal can stop it.

    Raises SeaTunnelError for what is found before any table starts; afterwards tables fail, not the call.
    """
    job = runnable(path, options.variables)
    place = claim(job, home, options.job_id, fresh=options.fresh)
    try:
        with Session((job,), place.path, local=options.local, began=PROCESS_STARTED) as session:
            return session.run(job, place, listen, on_driver, options.only)
    except (JobFileError, KeyboardInterrupt):
        # Nothing was started (once there is a driver, a signal stops that): the job id is free again.
        place.forget()
        raise


def runnable(path: Path, variables: Mapping[str, str] | None = None) -> Job:
    """``check``, and that this version can run the job. Raises JobFileError."""
    job = check(path, variables)
    _refuse_streaming(job)
    return job


def claim(job: Job, home: Home, job_id: str | None = None, *, fresh: bool = False) -> JobPlace:
    """A job id and its directory, with what is started there written down."""
    about = {"job_file": job.file.path, "job_name": job.name, "config": job.file.redacted()}
    return home.claim(job_id, fresh=fresh, about=about)


class Session:
    """One Spark application in which jobs run one after the other::

        with Session(jobs, place) as session:
            for job in jobs:
                receipt = session.run(job, claim(job, home), listen)

    The application has the ``spark.*`` settings of all jobs that it is made for (where two differ, the first one's)
    and keeps its log in ``place``. ``began`` is the wall-clock time that receipts count from.
    """

    def __init__(self, jobs: Sequence[Job], place: Path, *, local: bool = False, began: float | None = None) -> None:
        self._engines: Engines = LocalEngines() if local else SparkEngines(jobs, place)
        self._began = began

    def wait(self) -> None:
        """Return once the application runs; without it the first job waits. Raises EngineError."""
        self._engines.wait()

    def run(
        self,
        job: Job,
        place: JobPlace,
        listen: Callable[[JobEvent], None],
        on_driver: Callable[[Any], None] = lambda driver: None,
        only: tuple[str, ...] = (),
    ) -> Receipt:
        """Run one job to its end and leave its receipt in ``place``; see ``run``."""
        began = self._began or time.time()
        job = Job(job.file, job.steps, job.notes, place.job_id)
        from seatunnel_py.plan import selection
        from seatunnel_py.runtime.job_log import JobLog, secrets_of
        from seatunnel_py.runtime.listeners import Listeners, hook_listeners

        try:
            planned = _planned(job, self._engines.analyst() if needs_catalyst(job) else None)
            pipelines = selection.only(planned.pipelines, only)
            engine = self._engines.engine(place.exchange)
            with JobLog(place.events, place.job_id, job.file.env.log_level.value, secrets_of(job)) as log:
                tell = Listeners(log, (*hook_listeners(hooks()), listen))
                receipt = _drive(planned.job, pipelines, engine, place, tell, on_driver, began)
            return _kept(receipt, place)
        finally:
            place.clear()

    def close(self) -> None:
        """End the application."""
        self._engines.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _kept(receipt: Receipt, place: JobPlace) -> Receipt:
    """What the job did is done: a full disk must not keep the receipt from whoever waits for it."""
    try:
        place.end(receipt)
    except OSError as error:
        note = f"the receipt could not be kept in {place.path}: {error.strerror or error}"
        return replace(receipt, notes=(*receipt.notes, note))
    return receipt


def _refuse_streaming(job: Job) -> None:
    if job.mode is JobMode.STREAMING:
        problem = Problem(
            "job.mode = STREAMING needs checkpoints, which this version does not have yet",
            file=job.file.path,
            path="env.job.mode",
            remedy="run it with job.mode = BATCH",
        )
        raise PlanError((problem,))


def _drive(
    job: Job,
    pipelines: tuple[Pipeline, ...],
    engine: Engine,
    place: JobPlace,
    tell: Callable[[JobEvent], None],
    on_driver: Callable[[Any], None],
    began: float,
) -> Receipt:
    from seatunnel_py.runtime.attempts import RetryPolicy
    from seatunnel_py.runtime.chains import JobIdentity
    from seatunnel_py.runtime.driver import Driver, Settings
    from seatunnel_py.runtime.events import JobEnded, JobStarted
    from seatunnel_py.runtime.receipt import Receipt, Seconds
    from seatunnel_py.work.unit import Budget

    env = job.file.env
    settings = Settings(
        RetryPolicy(env.job_retry_times, env.job_retry_interval),
        Budget(env.unit_rows, env.unit_seconds or Budget().seconds),
        env.channel_capacity,
        env.failure_policy is FailurePolicy.FAIL_FAST,
        env.exchange_location or place.exchange.as_uri(),
    )
    identity = JobIdentity(place.job_id, secrets.token_hex(16))
    driver = Driver(pipelines, engine, identity, settings, _SystemClock(), tell)
    on_driver(driver)
    rows = [vertex.source.table.rows for line in pipelines for vertex in line.vertices if vertex.source]
    names = tuple(str(path) for line in pipelines for path in line.tables)
    started = time.time()
    tell(JobStarted(place.job_id, job.name, names, sum(filter(None, rows)) if None not in rows else None, started))
    try:
        tables = driver.run()
    finally:
        engine.stop()
    ended = time.time()
    data = (driver.last_commit_at or driver.first_unit_at or 0.0) - (driver.first_unit_at or 0.0)
    first_row = driver.first_row_at - began if driver.first_row_at else None
    seconds = Seconds(ended - began, started - began, data, first_row)
    receipt = Receipt(place.job_id, job.name, tables, seconds, job.notes, driver.stopped_by)
    tell(JobEnded(receipt, ended))
    return receipt


class _SystemClock:
    """Seconds since the epoch that never jump: the wall clock is looked at once."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return self._offset + time.monotonic()
