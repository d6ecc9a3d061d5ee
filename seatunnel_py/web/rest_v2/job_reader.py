"""Collects what documents of SeaTunnel's API show, from the index, the store and the files of runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from seatunnel_py.config.job_file import loads
from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.server_process import ServerProcess, limits_of
from seatunnel_py.control.store import definitions, intents
from seatunnel_py.control.store.intents import Intent, IntentState
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_reading import Rates, read
from seatunnel_py.run_plan import stored_plan
from seatunnel_py.runtime.control.requests import FOLDER, RequestKind, RequestStore
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.reading.run_files import RunDocuments, RunFiles
from seatunnel_py.web.rest_v2.documents.job_documents import JobFacts
from seatunnel_py.web.rest_v2.documents.job_metrics import JobRates
from seatunnel_py.web.rest_v2.documents.job_status import ENDED, job_status
from seatunnel_py.web.rest_v2.job_numbers import JobNumbers

NUMBERS_FILE = "job-numbers.json"
STOPPED = "STOPPED"
RATES_MAX = 200


@dataclass(frozen=True, slots=True)
class JobHead:
    """A run with its status, before its files are read."""

    run: str
    status: str
    row: RunRow | None
    intents: Sequence[Intent]

    @property
    def ended(self) -> float:
        """When it ended, for the order of a list."""
        if self.row is not None:
            return self.row.started + (self.row.seconds or 0.0)
        return (self.intents[0].ended_at or self.intents[0].at) if self.intents else 0.0


class JobReader:
    """The jobs of a server as SeaTunnel's clients see them. ``partial``: the status of a run of which some tables have
    failed."""

    def __init__(self, control: ServerProcess, files: RunFiles, partial: str) -> None:
        self._control, self._files, self._partial = control, files, partial
        self.numbers = JobNumbers(control.home.path / "server" / NUMBERS_FILE, self._runs)
        self._rates: OrderedDict[str, Rates] = OrderedDict()
        self._saved: dict[str, tuple[str, bool]] = {}
        self._lock = Lock()

    def _runs(self) -> Collection[str]:
        rows = [row.run for row in sorted(self._control.index.rows(), key=lambda row: (row.started, row.run))]
        with self._control.database.reading() as connection:
            return list(dict.fromkeys([*rows, *intents.runs(connection)]))

    @property
    def slots(self) -> int:
        """How many drivers may run at once."""
        return limits_of(self._control.database).max_running

    def heads(self) -> list[JobHead]:
        """All runs, in no order."""
        rows = {row.run: row for row in self._control.index.rows()}
        with self._control.database.reading() as connection:
            by_run = {intent.run: [intent] for intent in intents.newest_of_runs(connection)}
        queued = self._queued()
        found = [self._head(run, rows.get(run), by_run.get(run, []), queued) for run in {**rows, **by_run}]
        return [head for head in found if head.row is not None or head.intents]

    def head(self, given: str) -> JobHead:
        """One run, by its number or its id. Raises ApiError for an unknown one."""
        run = self.numbers.run(given)
        row = self._control.index.look(run)
        with self._control.database.reading() as connection:
            starts = intents.of_run(connection, run)
        if row is None and not starts:
            meant = did_you_mean(run, [one.run for one in self._control.index.rows()]) if len(run) <= 100 else ""
            raise ApiError(
                404, "unknown-run", "there is no such job", f"{meant}GET /running-jobs and GET /finished-jobs list them"
            )
        return self._head(run, row, starts, self._queued())

    def _head(self, run: str, row: RunRow | None, starts: Sequence[Intent], queued: Collection[str]) -> JobHead:
        newest = starts[0] if starts else None
        asked: frozenset[RequestKind] = frozenset()
        saved = False
        place = self._control.index.place(run)
        if row is not None and place is not None and row.alive:
            asked = _asked(place, row.driver)
        elif row is not None and place is not None and row.state == STOPPED:
            saved = self._has_saved(place, row.driver)
        partial = self._partial
        status = job_status(row, newest, queued=run in queued, asked=asked, saved=saved, partial=partial)
        return JobHead(run, status, row, starts)

    def _has_saved(self, place: JobDirectory, driver: str) -> bool:
        """Whether the driver has ended with the savepoint that was asked for. The answer never changes, and lists ask
        often."""
        known = self._saved.get(place.job_id)
        if known is None or known[0] != driver:
            known = self._saved[place.job_id] = (driver, _saved(place, driver))
        return known[1]

    def _queued(self) -> frozenset[str]:
        return frozenset(one.entry.intent.run for one in self._control.supervisor.waiting)

    def facts(self, head: JobHead) -> JobFacts:
        """The facts of a run, with what its files have. A file that cannot be read leaves its part empty."""
        number = self.numbers.of(head.run)
        place = self._control.index.place(head.run)
        if head.row is None or head.row.fault or place is None:
            return JobFacts(head.run, number, head.status, head.row, head.intents, name=self._name(head))
        try:
            found = self._files.documents(head.run)
            plan = stored_plan(place)
        except (SeaTunnelError, OSError, KeyError, TypeError, ValueError, AttributeError):
            found, plan = RunDocuments({}, None, None), None
        told = found.receipt or found.counters
        rates = self._live_rates(head, place) if head.row.alive else _mean(told)
        return JobFacts(head.run, number, head.status, head.row, head.intents, found.about, told, plan, rates)

    def facts_of(self, heads: Sequence[JobHead]) -> list[JobFacts]:
        """The facts of runs in a list, with all of their starts. Without runs that were removed meanwhile."""
        with self._control.database.reading() as connection:
            starts = intents.of_runs(connection, [head.run for head in heads])
        found = []
        for head in heads:
            try:
                found.append(self.facts(replace(head, intents=starts.get(head.run, ()))))
            except ApiError:
                continue
        return found

    def _live_rates(self, head: JobHead, place: JobDirectory) -> JobRates:
        with self._lock:
            rates = self._rates.pop(head.run, None) or Rates()
            self._rates[head.run] = rates
            while len(self._rates) > RATES_MAX:
                self._rates.popitem(last=False)
            try:
                reading = read(place)
                rates.add(reading)
                tables = [table["table"] for table in (reading.counters or {"tables": ()})["tables"]]
            except (SeaTunnelError, OSError, KeyError, TypeError, ValueError):
                return JobRates()
            return JobRates(rates.total or 0.0, {table: rates.of(table) or 0.0 for table in tables})

    def _name(self, head: JobHead) -> str:
        """The name of a run that has no directory yet, from the text that it is to be started with."""
        if not head.intents:
            return head.run
        newest = head.intents[0]
        try:
            with self._control.database.reading() as connection:
                text = definitions.revision(connection, newest.definition, newest.revision).text
            return loads(text, {}, root=None, environment={}, collect=[], decrypt=False).env.job_name
        except SeaTunnelError:
            return newest.definition


def _mean(told: Mapping[str, Any] | None) -> JobRates:
    """The mean rates of a run that has ended."""
    if told is None:
        return JobRates()
    tables = {
        table["table"]: table["rows_read"] / table["seconds"] if table.get("seconds") else 0.0
        for table in told.get("tables") or ()
    }
    return JobRates((told.get("this_run") or {}).get("rows_per_second") or 0.0, tables)


def _asked(place: JobDirectory, driver: str) -> frozenset[RequestKind]:
    """Kinds of the requests that the driver has not answered yet, for the whole job."""
    try:
        found = RequestStore(LocalStorage(place.path)).open()
    except (SeaTunnelError, OSError):
        return frozenset()
    return frozenset(one.wish for one in found if one.run == driver and not one.tables)


def _saved(place: JobDirectory, driver: str) -> bool:
    """Whether the driver has ended with the savepoint that was asked for."""
    storage = LocalStorage(place.path)
    store = RequestStore(storage)
    try:
        ids = [name.removesuffix(".request") for name in storage.names(FOLDER) if name.endswith(".request")]
        stops = [one for one in map(store.asked, ids) if one and one.wish is RequestKind.STOP and one.run == driver]
        answers = [store.answered(one.id) for one in stops]
    except (SeaTunnelError, OSError, TypeError):
        return False
    return any(answer is not None and answer.done for answer in answers)


def is_waiting(head: JobHead) -> bool:
    """Whether the run waits for its start."""
    return bool(head.intents) and head.intents[0].state is IntentState.WAITING


def has_ended(head: JobHead) -> bool:
    """Whether the run has ended."""
    return head.status in ENDED
