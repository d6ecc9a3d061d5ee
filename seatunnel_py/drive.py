"""One run of one job: its store, its driver, what is told when it begins and ends, and what is removed behind it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.config.env import RequiredGuarantee
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.steps import Job
from seatunnel_py.protocol.records import CheckpointRecord
from seatunnel_py.runtime import quarantine, savepoint
from seatunnel_py.runtime.checkpoint_store import CheckpointStore, FencedOff
from seatunnel_py.runtime.control import Control
from seatunnel_py.runtime.control_desk import Desk
from seatunnel_py.runtime.events import JobEnded, JobEvent, JobStarted
from seatunnel_py.runtime.graph import keys
from seatunnel_py.runtime.home import JobPlace
from seatunnel_py.runtime.local_storage import LocalStorage
from seatunnel_py.runtime.loop import Driver
from seatunnel_py.runtime.ports import Engine
from seatunnel_py.runtime.receipt import Receipt, Seconds
from seatunnel_py.runtime.segment_retention import sweep
from seatunnel_py.runtime.settings import Settings, settings_of
from seatunnel_py.runtime.shared_job import JOB, PLAN, RECEIPT, SharedJob
from seatunnel_py.runtime.storages import open_storage
from seatunnel_py.runtime.takeover import Authority, take_over
from seatunnel_py.runtime.unit_journal import JournalFile
from seatunnel_py.work.segments import remove_all


def drive(
    job: Job,
    plan: Mapping[str, Any],
    pipelines: tuple[Pipeline, ...],
    engine: Engine,
    place: JobPlace,
    tell: Callable[[JobEvent], None],
    on_driver: Callable[[Any], None],
    began: float,
) -> tuple[Receipt, bool]:
    """Run these pipelines to their ends. The receipt, and whether the job can go on from where it stands."""
    opened = open_storage(job.file.env.checkpoint_location, place.job_id, place.checkpoints)
    if job.file.env.guarantee is RequiredGuarantee.EXACTLY_ONCE:
        opened.require_exclusive()
    settings, store = _settings(job, place), CheckpointStore(opened.storage)
    authority = _authority(place, store, pipelines)
    place.keep_plan(plan)
    shared = SharedJob(opened.storage) if job.file.env.checkpoint_location else None
    if shared is not None:
        shared.write(authority.incarnation, JOB, place.read(JOB) or {})
        shared.write(authority.incarnation, PLAN, plan)
    journal = JournalFile(opened.storage, authority.incarnation)
    sweep(settings.exchange, authority.incarnation - 1, opened.storage, journal.journal)
    driver = Driver(pipelines, engine, place.job_id, authority, store, journal, settings, _SystemClock(), tell)
    others = (opened.storage,) if shared is not None else ()
    driver.hears_at(_desk(place, job, plan, authority, others))
    on_driver(driver)
    started = time.time()
    tell(_started(job, place, pipelines, started, authority.incarnation))
    try:
        tables = driver.run()
    finally:
        engine.stop()
    _require_owner(store, authority, place, driver, settings)
    if driver.resumable:
        sweep(settings.exchange, authority.incarnation, opened.storage, journal.journal)
    else:
        _remove(job, settings, authority)
    ended = time.time()
    notes = (*job.notes, *opened.notes(), *quarantine.notes(place.job_id, tables))
    seconds = _seconds(driver, began, started, ended)
    receipt = Receipt(place.job_id, job.name, tables, seconds, notes, driver.stopped_by)
    if shared is not None:
        shared.write(authority.incarnation, RECEIPT, receipt.to_plain())
    tell(JobEnded(receipt, ended))
    return receipt, driver.resumable


def _settings(job: Job, place: JobPlace) -> Settings:
    env = job.file.env
    return replace(
        settings_of(env, place.exchange.as_uri(), place.job_id),
        errors=quarantine.limits_of(env, place.path.parent, place.job_id),
        store=env.checkpoint_location or str(place.checkpoints),
        fresh=bool((place.read("job") or {}).get("fresh")),
    )


def _authority(place: JobPlace, store: CheckpointStore, pipelines: tuple[Pipeline, ...]) -> Authority:
    """The next incarnation; of a job that begins with a savepoint, from there."""
    began_with = (place.read("job") or {}).get("savepoint")
    if began_with and not store.read().claims:
        savepoint.begin_with(Path(began_with), store)
    return take_over(store, keys(pipelines))


def _require_owner(
    store: CheckpointStore, authority: Authority, place: JobPlace, driver: Driver, settings: Settings
) -> None:
    """Not every target can refuse an older driver. What became of the job is for the newest one to say (I34), and what
    lies beside the job is for that one to remove. Raises FencedOff."""
    try:
        store.check(authority.incarnation)
    except FencedOff:
        if place.finished:
            driver.withdraw()
            remove_all(settings.exchange)
        raise


def _started(job: Job, place: JobPlace, pipelines: Sequence[Pipeline], at: float, driver: int) -> JobStarted:
    rows = [vertex.source.table.rows for line in pipelines for vertex in line.vertices if vertex.source]
    names = tuple(str(path) for line in pipelines for path in line.tables)
    return JobStarted(place.job_id, job.name, names, sum(filter(None, rows)) if None not in rows else None, at, driver)


def _remove(job: Job, settings: Settings, authority: Authority) -> None:
    """What only a job needs that can go on."""
    if job.file.env.exchange_location:
        remove_all(settings.exchange)
    if settings.errors is not None:
        quarantine.sweep(Path(settings.errors.location), authority.lineage)


def _seconds(driver: Driver, began: float, started: float, ended: float) -> Seconds:
    first = driver.first_unit_at
    data = 0.0 if first is None else (driver.last_commit_at or first) - first
    first_row = driver.first_row_at - began if driver.first_row_at else None
    return Seconds(ended - began, started - began, data, first_row)


def _desk(place: JobPlace, job: Job, plan: Mapping[str, Any], authority: Authority, others: Sequence[Storage]) -> Desk:
    """Where requests to this run are heard, on this machine and from ``others``; savepoints stand beside the jobs."""
    about = {"job_id": place.job_id, "job_name": job.name, "job_file": job.file.path, "plan": plan}

    def keep(name: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]) -> Path:
        taken = savepoint.Savepoint(name, authority.lineage, authority.incarnation, time.time(), about, records, absent)
        return savepoint.write(place.savepoints, taken)

    return Desk(Control(LocalStorage(place.path), *others), place.driver, keep, place.hold)


class _SystemClock:
    """Seconds since the epoch that never jump: the wall clock is looked at once."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return self._offset + time.monotonic()
