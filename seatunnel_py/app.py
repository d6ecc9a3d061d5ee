"""Composes the parts, and offers the API for embedding: ``check``, ``plan``, ``run``.

The only place that chooses real parts: which engine, which clock, where state is kept. Everything below takes its parts
as arguments; tests build their own.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.config.env import FailurePolicy
from seatunnel_py.config.job_file import load
from seatunnel_py.engine_choice import Engines, LocalEngines, SparkEngines, needs_catalyst
from seatunnel_py.errors import (
    ChangesRefusedError,
    JobFileError,
    PlanError,
    Problem,
    SeaTunnelError,
    first_line,
)
from seatunnel_py.plan.plugins.installed import hooks, installed
from seatunnel_py.plan.sql.analysis import CatalystFactory
from seatunnel_py.plan.steps import Job, understand
from seatunnel_py.redaction import redacted_text

if TYPE_CHECKING:
    from seatunnel_py.config.env import EnvOptions
    from seatunnel_py.local.preview import StepRows
    from seatunnel_py.openlineage.run_reporter import RunReporter
    from seatunnel_py.plan.graph_nodes import FlowGraph, IsolatedTable
    from seatunnel_py.plan.pipelines import Pipeline
    from seatunnel_py.plan.sql.analysis import SqlAnalyst
    from seatunnel_py.runtime.observe.events import JobEvent
    from seatunnel_py.runtime.observe.receipt import Receipt
    from seatunnel_py.runtime.storage.home import Home
    from seatunnel_py.runtime.storage.job_directory import JobDirectory

PROCESS_STARTED = time.time()
LATEST = "latest"


class NothingToDoError(SeaTunnelError):
    """The request is already fulfilled."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job with its tables: the work that ``run`` would do. ``isolated``: the tables that cannot be planned."""

    job: Job
    graph: FlowGraph
    pipelines: tuple[Pipeline, ...]
    isolated: tuple[IsolatedTable, ...] = ()


def check(path: Path, variables: Mapping[str, str] | None = None) -> Job:
    """Read a job file and validate everything that needs no connection.

    Raises JobFileError with every problem. Starts no JVM and imports no client library.
    """
    found: list[Problem] = []
    job = understand(load(path, variables, collect=found), installed(), found)
    return _with_checked_queries(job)


def _with_checked_queries(job: Job) -> Job:
    queries = [step for step in job.steps if isinstance(step.factory, CatalystFactory)]
    if not queries:
        return job
    from seatunnel_py.plan.sql.check import query_notes, query_problems

    dialect = job.file.env.sql_dialect
    problems = tuple(problem for step in queries for problem in query_problems(step, dialect))
    if problems:
        raise PlanError(problems)
    notes = tuple(str(note) for step in queries for note in query_notes(step, dialect))
    return replace(job, notes=(*job.notes, *notes))


def plan(path: Path, variables: Mapping[str, str] | None = None) -> JobPlan:
    """Read a job file and ask its sources for their tables. Reads from the sources, changes nothing."""
    with planned(path, variables) as (found, _):
        return found


def preview(path: Path, variables: Mapping[str, str], rows: int) -> Iterator[StepRows | IsolatedTable]:
    """Return the first rows after every step, and the tables without rows; read from the sources, write nowhere."""
    from seatunnel_py.local.preview import first_rows

    with planned(path, variables) as (found, analyst):
        yield from first_rows(found.graph, rows, analyst)
        yield from found.isolated


@contextlib.contextmanager
def planned(path: Path, variables: Mapping[str, str] | None) -> Iterator[tuple[JobPlan, SqlAnalyst | None]]:
    """Make a plan while the query analyser is open. Starts Spark only for jobs with queries."""
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


def _planned(job: Job, analyst: SqlAnalyst | None) -> JobPlan:
    from seatunnel_py.plan import guarantee, pipelines, retry_loops, table_graph
    from seatunnel_py.plan.tables import isolated_tables, selection, target_collisions

    graph = table_graph.build(job, analyst)
    job = replace(job, notes=(*job.notes, *graph.notes(), *target_collisions.check(graph)))
    retry_loops.check(graph)
    divided = pipelines.divide(graph)
    unread = pipelines.unread(graph, divided)
    divided, apart = isolated_tables.set_apart(graph, divided)
    isolated_tables.require_some(divided, apart, fail_fast=job.file.env.failure_policy is FailurePolicy.FAIL_FAST)
    guarantee.require(graph, divided, job.file.env.guarantee)
    left_out = {one.table for one in apart}
    unread = tuple(path for path in unread if path not in left_out)
    if unread:
        text = f"not read, for transforms take them out of the flow: {selection.named([str(path) for path in unread])}"
        job = replace(job, notes=(*job.notes, text))
    return JobPlan(job, graph, divided, apart)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run beside the job file. ``only`` restricts the job to some of its source tables. ``restore`` is
    ``latest``, to resume the job of that id, or a savepoint from which a new job starts. ``takes_over``: end a running
    driver of that job. ``reset``: tables of a log to be copied again."""

    variables: Mapping[str, str]
    job_id: str | None = None
    fresh: bool = False
    restore: str | None = None
    only: tuple[str, ...] = ()
    local: bool = False
    accept_changes: bool = False
    takes_over: bool = True
    reset: tuple[str, ...] = ()


def run(
    path: Path, options: RunOptions, home: Home, listen: Callable[[JobEvent], None], on_driver: Callable[[Any], None]
) -> Receipt:
    """Run a job to its end. ``on_driver`` receives the driver once it exists, so that a signal can stop it.

    Raises SeaTunnelError for errors found before any table starts; later, tables fail and the call returns.
    """
    job = check(path, options.variables)
    if options.reset and options.restore != LATEST:
        text = "--reset copies tables again of a job that has begun"
        raise SeaTunnelError(text, "add --job-id ID --restore latest; `seatunnel jobs list`")
    silent = _silent_driver(options.job_id, options, job, home, listen) if options.job_id else None
    restored = restored_from(home, options, job.file.env)
    if options.restore == LATEST and options.job_id:
        _require_variables(home.place(options.job_id), job, options.variables)
    latest = options.restore == LATEST
    place = claim(job, home, options.job_id, fresh=options.fresh, restore=latest, savepoint=restored, silent=silent)
    try:
        with JobSession((job,), place.path, local=options.local, began=PROCESS_STARTED) as session:
            return _run_until_ended(session, job, place, home, listen, on_driver, options)
    except (JobFileError, ChangesRefusedError, KeyboardInterrupt):
        # Nothing was started (once a driver exists, a signal stops it): the job id is free again.
        if not latest:
            place.forget()
        raise


def _run_until_ended(
    session: JobSession,
    job: Job,
    place: JobDirectory,
    home: Home,
    listen: Callable[[JobEvent], None],
    on_driver: Callable[[Any], None],
    options: RunOptions,
) -> Receipt:
    """Run the job; again if a request asks for that."""
    drivers: list[Any] = []

    def begun(driver: Any) -> None:
        drivers.append(driver)
        on_driver(driver)

    reset = options.reset
    while True:
        receipt = session.run(
            job, place, listen, begun, options.only, accept_changes=options.accept_changes, reset=reset
        )
        if not drivers[-1].job.runs_again:
            return receipt
        savepoint = (place.read("job") or {}).get("savepoint")
        place, reset = claim(job, home, place.job_id, restore=True, savepoint=savepoint), ()


def _silent_driver(
    job_id: str, options: RunOptions, job: Job, home: Home, listen: Callable[[JobEvent], None]
) -> str | None:
    """The driver that a run of this id may take over, if any. Raises SeaTunnelError if it may not run."""
    from seatunnel_py.runtime.control.driver_liveness import driver_taken_over, silent_driver
    from seatunnel_py.runtime.storage.open_storage import require_place

    location, resumed = job.file.env.checkpoint_location, options.restore == LATEST
    silent = None
    if resumed and options.takes_over:
        silent = driver_taken_over(home, job_id, listen)
    elif options.fresh or resumed:
        silent = silent_driver(home, job_id, location, listen, fresh=options.fresh)
    if location and not resumed:
        require_place(location, job_id, fresh=options.fresh)
    return silent


def _require_variables(place: JobDirectory, job: Job, given: Mapping[str, str]) -> None:
    """Only their names are recorded, not their values: one may be a secret. Raises SeaTunnelError."""
    had = (place.last_claim or {}).get("variables", ())
    missing = [f"-i {name}=…" for name in had if name not in given and name in job.file.variables]
    if missing:
        raise SeaTunnelError(
            f"the job was started with {', '.join(missing)}, which this command lacks",
            "give the variables again: their values are not kept, for one may be a secret",
        )


def restored_from(home: Home, options: RunOptions, env: EnvOptions) -> str | None:
    """The savepoint from which the job starts, or started if it is resumed. Raises SeaTunnelError."""
    if options.restore is None:
        return None
    from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations

    if options.restore != LATEST:
        with SavepointLocations.of(home.savepoints, env).holding(options.restore):
            return options.restore
    if options.job_id is None:
        raise SeaTunnelError("--restore latest needs to know which job", "add --job-id ID; `seatunnel jobs list`")
    if home.finished(options.job_id):
        raise NothingToDoError(f"the job {options.job_id!r} has finished: there is nothing to do")
    about = home.place(options.job_id).read("job") or {}
    if "dropped" in about:
        raise SeaTunnelError(
            f"the job {options.job_id!r} was given up: `seatunnel jobs drop` has deleted its checkpoints",
            "--fresh starts again from nothing",
        )
    return about.get("savepoint")


def claim(
    job: Job,
    home: Home,
    job_id: str | None = None,
    *,
    fresh: bool = False,
    restore: bool = False,
    savepoint: str | None = None,
    silent: str | None = None,
) -> JobDirectory:
    """Claim a job id and its directory, and record the run there. ``silent``: the driver that may be taken over."""
    about: dict[str, Any] = {"job_file": job.file.path, "job_name": job.name, "config": job.file.redacted()}
    about |= {"error_location": job.file.env.error_location, "fresh": fresh}
    about |= {"variables": sorted(job.file.given)}
    if savepoint is not None:
        about["savepoint"] = savepoint
    if job.file.env.checkpoint_location:
        about["checkpoint_location"] = redacted_text(job.file.env.checkpoint_location)
    return home.claim(job_id, fresh=fresh, about=about, restore=restore, silent=silent)


class JobSession:
    """Run jobs one after the other in one Spark application::

        with Session(jobs, place) as session:
            for job in jobs:
                receipt = session.run(job, claim(job, home), listen)

    The application has the ``spark.*`` settings of all its jobs (the first job wins where two differ) and keeps its log
    in ``place``. ``began`` is the wall-clock time from which receipts count.
    """

    def __init__(self, jobs: Sequence[Job], place: Path, *, local: bool = False, began: float | None = None) -> None:
        self._engines: Engines = LocalEngines() if local else SparkEngines(jobs, place)
        self._began = began

    def wait(self) -> None:
        """Return once the application runs; optional, as the first job waits for it. Raises EngineError."""
        self._engines.wait()

    def run(
        self,
        job: Job,
        place: JobDirectory,
        listen: Callable[[JobEvent], None],
        on_driver: Callable[[Any], None] = lambda driver: None,
        only: tuple[str, ...] = (),
        pick: Callable[[tuple[Pipeline, ...]], tuple[Pipeline, ...]] = tuple,
        accept_changes: bool = False,
        reset: tuple[str, ...] = (),
    ) -> Receipt:
        """Run one job, or the pipelines that ``pick`` derives from it, to its end, and its receipt; see ``run``."""
        began = self._began or time.time()
        job = identified(job, place)
        from seatunnel_py import job_changes, job_end, run_plan
        from seatunnel_py.job_run import PlannedJob, drive
        from seatunnel_py.plan.tables import selection

        ran_before = place.has_plan or place.has_checkpoints
        begun: list[Any] = []

        def begin(driver: Any) -> None:
            on_driver(driver)
            begun.append(driver)

        try:
            analyst = self._engines.analyst() if needs_catalyst(job) else None
            planned = _planned(job, analyst)
            pipelines, isolated_tables = selection.only(planned.pipelines, planned.isolated, only)
            pipelines, isolated_tables = pick(pipelines), isolated_tables if pick is tuple else ()
            plan = run_plan.RunPlan(place, begun, listen, planned, pipelines, isolated_tables)
            with contextlib.closing(plan) as hear, self._reported(job, planned, pipelines, place, begun) as reporter:
                with _listeners(job, place, hear, reporter) as tell:
                    job_changes.announce(planned, place, tell, accepted=accept_changes, resets=reset)
                    engine = partial(self._engines.engine, place.exchange)  # waits for Spark
                    plain = job_changes.baseline(planned, place)
                    work = PlannedJob(planned.job, plain, pipelines, isolated_tables, analyst, reset, planned.graph)
                    receipt, resumable = drive(work, engine, place, tell, begin, began)
                last = job_end.last_run(receipt, begun[-1], job, place)
                receipt = job_end.kept(last.announced(receipt), place, resumable=resumable)
        except BaseException as error:
            with contextlib.suppress(OSError, SeaTunnelError):  # errors are raised
                place.gave_up(redacted_text(first_line(str(error)) or type(error).__name__), changed=bool(begun))
            # The shared store may already hold state of this job: keep everything that its records may name.
            kept = ran_before or job.file.env.checkpoint_location or any(place.checkpoints.glob("records/*"))
            place.clear(finished=not kept, rows=not kept, plan=not kept)
            raise
        finally:
            job_end.measured(place, job.file.env)
        return last.performed(receipt, place.end)

    def _reported(
        self, job: Job, planned: JobPlan, pipelines: tuple[Pipeline, ...], place: JobDirectory, drivers: Sequence[Any]
    ) -> contextlib.AbstractContextManager[RunReporter | None]:
        from seatunnel_py.openlineage.reporting import reported

        local = isinstance(self._engines, LocalEngines)
        return reported(job, planned.graph, pipelines, place, drivers, local=local)

    def close(self) -> None:
        """Stop the application."""
        self._engines.stop()

    def __enter__(self) -> JobSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _listeners(
    job: Job, place: JobDirectory, listen: Callable[[JobEvent], None], reporter: RunReporter | None
) -> Iterator[Callable[[JobEvent], None]]:
    """Write the events of a job to its directory, and send them to hooks, to ``listen`` and to the ``reporter``."""
    from seatunnel_py.runtime.diagnosis.checkpoint_log import CheckpointLog
    from seatunnel_py.runtime.diagnosis.job_log import JobLog
    from seatunnel_py.runtime.diagnosis.listeners import Listener, Listeners, hook_listeners

    level = job.file.env.log_level.value
    with JobLog(place.events, place.job_id, level) as log, CheckpointLog(place.checkpoint_history) as history:
        found: list[Listener] = [history, *hook_listeners(hooks().manager), listen]
        if reporter is not None:
            reporter.note = log.write
            found.append(reporter)
        yield Listeners(log, found)


def identified(job: Job, place: JobDirectory) -> Job:
    """The job with its id and its store, which names at sources and targets follow from."""
    store = redacted_text(job.file.env.checkpoint_location or str(place.checkpoints))
    return Job(job.file, job.steps, job.notes, place.job_id, store=store)
