"""Runs one job: opens its store, runs its driver, reports start and end, and removes obsolete state afterwards."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from seatunnel_py.api.factory import JobMode
from seatunnel_py.config.env import RequiredGuarantee
from seatunnel_py.errors import PlanError, PluginError
from seatunnel_py.plan import altered_log
from seatunnel_py.plan.altered_log import PlanAgain
from seatunnel_py.plan.graph_nodes import FlowGraph, IsolatedTable
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.sql.analysis import SqlAnalyst
from seatunnel_py.plan.steps import Job
from seatunnel_py.plan.tables import not_carried_over
from seatunnel_py.plan.tables.conversions import total
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.reconcile.graph_refresher import GraphRefresher
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.control import change_decisions, rule_decisions, start_requests
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.counts.table_totals import read_in
from seatunnel_py.runtime.diagnosis.live_record import LiveRecord
from seatunnel_py.runtime.driver.driver import Driver
from seatunnel_py.runtime.messages.engine_port import Engine
from seatunnel_py.runtime.observe.events import JobEnded, JobEvent, JobStarted, TableChanged
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState
from seatunnel_py.runtime.observe.repeated_attempts import RepeatedAttempts
from seatunnel_py.runtime.resume import table_refresh, table_reset
from seatunnel_py.runtime.resume.begun_logs import as_begun
from seatunnel_py.runtime.resume.job_claim import SEEN, JobClaim, KnownStore, claim_job, require_no_records
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.storage import quarantine_store
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.open_storage import open_storage
from seatunnel_py.runtime.storage.retrying_storage import RetryingStorage
from seatunnel_py.runtime.storage.savepoint_locations import SavepointKeeper, SavepointLocations
from seatunnel_py.runtime.storage.segment_sweep import sweep
from seatunnel_py.runtime.storage.shared_job_files import JOB, PLAN, RECEIPT, SharedJobFiles
from seatunnel_py.runtime.values.settings import Settings, settings_of
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.segment_files import remove_all
from seatunnel_py.work.unit import FailureKind, UnitFailure

NEXT_RUN = "the next run with `--restore latest` goes on where this one has ended"
GARBAGE_AFTER = {JobMode.STREAMING: (2_000, 10, 10), JobMode.BATCH: (20_000, 10, 50)}
"""Collection thresholds. A stream collects more often, for its memory must not grow, and few objects make it cheap. A
batch ends, and has objects for each of its tables: one scan of all those of a thousand tables takes 0.1 s."""


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job, its plan as stored, the pipelines to run, and the tables that cannot be planned. ``analyst``: of jobs with
    queries, for plans of changed tables; ``resets``: names of tables to be copied again; ``graph``: all nodes, for
    tables that are refreshed."""

    job: Job
    plan: Mapping[str, Any]
    pipelines: tuple[Pipeline, ...]
    isolated: tuple[IsolatedTable, ...] = ()
    analyst: SqlAnalyst | None = None
    resets: tuple[str, ...] = ()
    graph: FlowGraph = field(default_factory=FlowGraph)


def drive(
    work: PlannedJob,
    engine: Callable[[], Engine],
    place: JobDirectory,
    tell: Callable[[JobEvent], None],
    on_driver: Callable[[Any], None],
    began: float,
) -> tuple[Receipt, bool]:
    """Run the pipelines to their ends. Return the receipt, and whether the job can be resumed. ``engine`` blocks until
    it is ready; ``on_driver`` then receives the driver, before anything is changed."""
    job = work.job
    run = _JobRun(job, work.pipelines, place, others=bool(work.isolated))
    run.reset(work)
    plan_again = partial(altered_log.plan_again, job, work.analyst)
    as_recorded = partial(altered_log.plan_as_decided, job, work.analyst)
    plan_tables = partial(altered_log.plan_tables, job, work.analyst)
    kept = run.journal.journal
    decided = change_decisions.behaviors(kept.decisions), rule_decisions.active(kept)
    pipelines = as_begun(work.pipelines, run.records, as_recorded, plan_tables, kept.resets, *decided, kept.emptied)
    run.publish(work.plan)
    repeats = RepeatedAttempts()

    def hear(event: JobEvent) -> None:
        repeats.saw(event)
        tell(event)

    driver = run.driver(pipelines, engine, hear, plan_again)
    driver.attach_control(run.desk(work.plan))
    apart = tuple(map(_receipt, work.isolated))
    started = time.time()

    def begin() -> None:
        nonlocal started
        on_driver(driver)
        gc.freeze()  # plans stay until their driver ends: scanning them for garbage took a tenth of 200 tables' time
        gc.set_threshold(*GARBAGE_AFTER[job.file.env.job_mode])
        started = time.time()
        tell(_started(work, place, started, run.authority, run.records))
        for one in apart:
            tell(TableChanged(f"isolated {one.table}", one.table, one.state, started, one.cause, (one.table,)))

    tables = (*driver.run(begin), *apart)
    run.leave(driver)
    receipt = _receipt_of(run, driver, tables, repeats, began, started)
    tell(JobEnded(receipt, time.time()))
    return receipt, driver.job.resumable or bool(apart)


def _receipt_of(
    run: _JobRun,
    driver: Driver,
    tables: tuple[TableReceipt, ...],
    repeats: RepeatedAttempts,
    began: float,
    started: float,
) -> Receipt:
    """The receipt of the run, which is also left for other machines."""
    job, place = run.job, run.place
    left = driver.end_lineage()
    ended = time.time()
    seen = (*run.opened.notes(), *quarantine_store.notes(place.job_id, tables), *driver.swept())
    notes = (*job.notes, *seen, *left, *_converted(tables), *_left_behind(tables))
    notes += (NEXT_RUN,) if driver.goes_on else ()
    seconds = _seconds(driver, began, started, ended)
    receipt = Receipt(
        place.job_id, job.name, tables, seconds, notes, driver.job.stopped_by,
        run.authority.incarnation, place.driver, repeated=repeats.told(), goes_on=driver.goes_on,
    )  # fmt: skip
    return run.tell_end(receipt)


def _converted(tables: Sequence[TableReceipt]) -> tuple[str, ...]:
    """How many columns were converted, if any."""
    arrived = (table for table in tables if table.state is TableState.DONE)
    changed = ((table.table, one.checked) for table in arrived for into in table.targets for one in into.conversions)
    found = total(changed)
    return (f"{found}: `seatunnel plan` names them",) if found else ()


def _left_behind(tables: Sequence[TableReceipt]) -> tuple[str, ...]:
    """Which parts of their sources' definitions the created tables lack, if any."""
    arrived = (table for table in tables if table.state is TableState.DONE)
    pairs = ((table.table, into) for table in arrived for into in table.targets)
    found = not_carried_over.total((name, one.kind.value) for name, into in pairs for one in into.not_carried_over)
    return (f"{found}; `--json` and receipt.json name each",) if found else ()


def _receipt(one: IsolatedTable) -> TableReceipt:
    cause = UnitFailure(FailureKind.FATAL, one.message, one.remedy, one.step)
    return TableReceipt(str(one.table), (), TableState.ISOLATED, cause=cause)


class _JobRun:
    """The resources that this run holds for its job: the store, the right to write there, the journal. ``shared``: the
    part of the job's state that other machines can read, if any."""

    def __init__(self, job: Job, pipelines: Sequence[Pipeline], place: JobDirectory, *, others: bool) -> None:
        """``others``: tables that cannot be planned belong to the job as well, and may be resumed later."""
        env = job.file.env
        self.job = job
        self.others = others
        self.place = place
        self.asked = place.read(JOB) or {}
        self.opened = open_storage(env.checkpoint_location, place.job_id, place.checkpoints)
        if env.guarantee is RequiredGuarantee.EXACTLY_ONCE:
            self.opened.require_exclusive()
        self.shared = SharedJobFiles(self.opened.storage) if env.checkpoint_location else None
        self.storage = RetryingStorage(self.opened.storage, endless=env.job_mode is JobMode.STREAMING)
        self.store = CheckpointStore(self.storage)
        self.settings = self._settings()
        self.authority = self._authority(pipelines)
        self.journal = JournalFile(self.storage, self.authority.incarnation)
        self.refreshes = TableRefreshes()
        sweep(self.settings.exchange, self.authority.incarnation - 1, self.storage, self.journal.journal)

    def _settings(self) -> Settings:
        env, place = self.job.file.env, self.place
        return replace(
            settings_of(env, place.exchange.as_uri(), place.job_id),
            errors=quarantine_store.limits_of(env, place.path.parent, place.job_id),
            store=env.checkpoint_location or str(place.checkpoints),
            fresh=bool(self.asked.get("fresh")),
            isolates=self.others,
        )

    def _authority(self, pipelines: Sequence[Pipeline]) -> JobClaim:
        """Start the next incarnation; the first one of a job with a savepoint starts from it."""
        plan = self.place.read(PLAN)
        file = f"{self.place.path / PLAN}.json"
        if seen := KnownStore.of(plan, file):
            seen.require(self.store, self._where, file)
        elif plan is None and self.shared is None:
            require_no_records(self.store, file)
        began_with = self.asked.get("savepoint")
        if began_with and not self.store.read().claims:
            with self._savepoints.holding(began_with) as (shelf, name):
                shelf.begin_with(name, self.store, self.place.job_id)
        return claim_job(self.store, keys(pipelines))

    def reset(self, work: PlannedJob) -> None:
        """Let tables be copied again, by option or request, and rows of them be refreshed; take decisions about changes
        down. Raises PlanError for options that name others."""
        if work.resets:
            self._reset(work, work.resets)
        if not any(one.log is not None for one in work.pipelines):
            return  # the running job refuses requests; looking for them takes a start its time
        store = self._requests()
        known = self.journal.journal, self.authority.records
        asked = sorted(store.open(), key=lambda one: one.wish is RequestKind.REMOVE_RULE)  # of a new rule too
        for request in asked:
            if request.wish is RequestKind.RESET:
                store.answer(self._reset_as_asked(work, request))
            elif request.wish in start_requests.DECISIONS:
                answer, lines = start_requests.decided(request, *known, time.time())
                self._note(lines)
                store.answer(answer)
        self._note(rule_decisions.of_waiting(*known, keys(work.pipelines), time.time()))
        self.refreshes = TableRefreshes(GraphRefresher(work.graph, store.tell))
        for request in asked:
            if request.wish is RequestKind.REFRESH and (refused := self._refresh(work, request)):
                store.answer(refused)

    def _refresh(self, work: PlannedJob, request: ControlRequest) -> ControlAnswer | None:
        """Refresh rows at this start; the answer of a request that is refused."""
        resets = self.journal.journal.resets
        try:
            found = table_refresh.chosen(keys(work.pipelines), self.authority.records, request.refresh, resets)
        except PlanError as error:
            return ControlAnswer(request.id, False, *table_reset.refusal(error))
        if found is not None:
            self.refreshes.add(*found)
        return None

    def _note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Make these journal lines durable and valid."""
        self.journal.append(lines)
        for line in lines:
            self.journal.journal.apply(line)

    def _reset_as_asked(self, work: PlannedJob, request: ControlRequest) -> ControlAnswer:
        try:
            self._reset(work, request.tables)
        except PlanError as error:
            return ControlAnswer(request.id, False, *table_reset.refusal(error))
        return ControlAnswer(
            request.id, True, f"{', '.join(request.tables)}: its target is emptied, and it is copied again"
        )

    def _reset(self, work: PlannedJob, tables: Sequence[str]) -> None:
        named, resets = keys(work.pipelines), self.journal.journal.resets
        self._note(table_reset.lines_of(table_reset.copies_of(named, self.authority.records, tables, resets)))

    def _requests(self) -> RequestStore:
        others = () if self.shared is None else (self.opened.storage,)
        return RequestStore(LocalStorage(self.place.path), *others)

    @property
    def records(self) -> Mapping[str, CheckpointRecord]:
        """The records to go on from, by pipeline."""
        return self.journal.journal.resumed(self.authority.records)

    @property
    def _savepoints(self) -> SavepointLocations:
        return SavepointLocations.of(self.place.savepoints, self.job.file.env)

    @property
    def _where(self) -> str:
        """The place of the store, for messages."""
        return redacted_text(self.job.file.env.checkpoint_location or str(self.place.checkpoints))

    def publish(self, plan: Mapping[str, Any]) -> None:
        """Store the baseline with which a later run, here or elsewhere, compares its own plan."""
        authority = self.authority
        self.place.keep_plan({**plan, SEEN: asdict(KnownStore(authority.lineage, authority.incarnation, self._where))})
        self.tell_others(JOB, self.asked)
        self.tell_others(PLAN, plan)

    def tell_others(self, what: str, plain: Mapping[str, Any]) -> None:
        if self.shared is not None:
            self.shared.write(self.authority.incarnation, what, plain)

    def tell_end(self, receipt: Receipt) -> Receipt:
        """The job has ended, and the receipt has its failures, whether or not the store is full."""
        try:
            self.tell_others(RECEIPT, receipt.to_plain())
        except PluginError as error:
            note = f"other machines do not see how the job ended: {error.message}"
            return replace(receipt, notes=(*receipt.notes, note))
        return receipt

    def driver(
        self,
        pipelines: tuple[Pipeline, ...],
        engine: Callable[[], Engine],
        tell: Callable[[JobEvent], None],
        plan_again: PlanAgain,
    ) -> Driver:
        driver = Driver(
            pipelines,
            engine,
            self.place.job_id,
            self.authority,
            self.store,
            self.journal,
            self.settings,
            _SystemClock(),
            tell,
            plan_again,
            self.refreshes,
        )
        self.storage.begin(lambda event: driver.post(partial(driver.job.tell, event)))
        return driver

    def desk(self, plan: Mapping[str, Any]) -> RequestHandler:
        """Place of requests to this run, from this machine and from others."""
        job, place, authority = self.job, self.place, self.authority
        about = {"job_id": place.job_id, "job_name": job.name, "job_file": job.file.path, "plan": plan}
        keeper = SavepointKeeper(self._savepoints, authority.lineage, authority.incarnation, about)
        requests, live = self._requests(), LiveRecord.of(place, job.file.env)
        return RequestHandler(requests, place.driver, keeper, place.hold, live.write, self.refreshes, live.before)

    def leave(self, driver: Driver) -> None:
        """Remove obsolete state. Not every target can refuse an older driver: only the newest driver may report the
        outcome of the job (I34) and remove the files beside it. Raises FencedOffError."""
        exchange, incarnation = self.settings.exchange, self.authority.incarnation
        try:
            self.store.check(incarnation)
        except FencedOffError:
            if self.place.finished:
                driver.withdraw()
                remove_all(exchange)
            raise
        if driver.job.resumable or self.others:
            sweep(exchange, incarnation, self.storage, self.journal.journal)
            return
        if self.job.file.env.exchange_location:
            remove_all(exchange)
        if self.settings.errors is not None:
            quarantine_store.sweep(Path(self.settings.errors.location), self.authority.lineage)


def _started(
    work: PlannedJob, place: JobDirectory, at: float, authority: JobClaim, records: Mapping[str, CheckpointRecord]
) -> JobStarted:
    job, pipelines = work.job, work.pipelines
    names = tuple(dict.fromkeys(str(path) for line in pipelines for path in line.tables))
    names += tuple(str(one.table) for one in work.isolated)
    expected = {line.id: _rows(line) for line in pipelines}
    known = {name: rows for name, rows in expected.items() if rows is not None}
    rows = sum(known.values()) if len(known) == len(expected) else None
    before = {line.id: _read_before(line, records.get(key)) for key, line in keys(pipelines).items()}
    return JobStarted(place.job_id, job.name, names, rows, at, authority.incarnation, known, before)


def _read_before(pipeline: Pipeline, record: CheckpointRecord | None) -> int:
    vertices = {vertex.id for vertex in pipeline.vertices}
    return sum(rows for vertex, rows in read_in(record).items() if vertex in vertices)


def _rows(pipeline: Pipeline) -> int | None:
    """Total rows as estimated by the sources, if all of them give an estimate."""
    if pipeline.log is not None:
        return None
    rows = [vertex.source.table.rows for vertex in pipeline.vertices if vertex.source]
    return sum(filter(None, rows)) if None not in rows else None


def _seconds(driver: Driver, began: float, started: float, ended: float) -> Seconds:
    first = driver.job.first_unit_at
    data = 0.0 if first is None else (driver.job.last_commit_at or ended) - first
    first_row = driver.job.first_row_at - began if driver.job.first_row_at else None
    return Seconds(ended - began, started - began, data, first_row)


class _SystemClock:
    """Seconds since the epoch, free of jumps: the wall clock is read only once."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return self._offset + time.monotonic()
