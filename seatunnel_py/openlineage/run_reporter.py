"""Reports one run of a job as lineage events: listens to the job, and decides when an event is sent.

Rules. (1) START when the job has been planned, RUNNING at most once in ``RUNNING_SECONDS``, and one event at the end,
also if the driver fails between. (2) A driver that goes on after a killed one continues its run, under the same id, and
begins with RUNNING. (3) A driver that was overtaken sends no end: the run goes on elsewhere. (4) The end of the run is
on disk before its lineage is waited for.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any

from seatunnel_py import __version__
from seatunnel_py.api.factory import JobMode
from seatunnel_py.errors import SeaTunnelError, first_line
from seatunnel_py.openlineage import parent_run
from seatunnel_py.openlineage.event_sender import EventSender
from seatunnel_py.openlineage.job_datasets import JobDatasets, datasets_of
from seatunnel_py.openlineage.run_events import RunEventType, RunFacts, RunState, ending_of, event_of, new_run_id
from seatunnel_py.openlineage.settings import LineageSettings
from seatunnel_py.openlineage.transports import transport_of
from seatunnel_py.openlineage.unsent_events import UnsentEvents
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.observe.events import JobEnded, JobEvent, JobStarted
from seatunnel_py.runtime.observe.receipt import TableReceipt
from seatunnel_py.runtime.storage.checkpoint_store import FencedOffError
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json

if TYPE_CHECKING:
    from seatunnel_py.plan.graph_nodes import FlowGraph
    from seatunnel_py.plan.pipelines import Pipeline
    from seatunnel_py.plan.steps import Job

RUNNING_SECONDS = 60.0
FILE = "openlineage"
UNSENT = "openlineage"
"""Directory in the home for events that were not delivered."""

Note = Callable[[str, str, Mapping[str, Any]], None]


@dataclass(slots=True)
class RunReporter:
    """A listener of one run. ``drivers``: empty until the driver has begun; ``datasets``: takes long at its first
    call; ``note``: writes a line of the job log."""

    facts: RunFacts
    sender: EventSender
    drivers: Sequence[Any]
    datasets: Callable[[], JobDatasets]
    place: JobDirectory
    continues: bool
    note: Note | None = None
    _started: JobStarted | None = None
    _ended: bool = False
    _next_running: float = 0.0

    def __call__(self, event: JobEvent) -> None:
        if isinstance(event, JobStarted):
            self._started, self._next_running = event, event.at + RUNNING_SECONDS
            self._remember(ended=False)
            kind = RunEventType.RUNNING if self.continues else RunEventType.START
            self._put(kind, event.at, RunState(event.driver), described=True)
        elif isinstance(event, JobEnded):
            kind, state = ending_of(event.receipt)
            self._end(kind, event.at, state)
        elif self._started is not None and event.at >= self._next_running:
            self._next_running = event.at + RUNNING_SECONDS
            self._put(RunEventType.RUNNING, event.at, RunState(self._started.driver, self._tables(event.at)))
        self._write_notes()

    def failed(self, error: BaseException) -> None:
        """The driver ends with this error: end the run, if it has begun and no other driver has it."""
        if self._started is None or self._ended or isinstance(error, FencedOffError):
            return
        with suppress(SeaTunnelError):
            if self.place.ours:
                text = first_line(str(error)) or type(error).__name__
                state = RunState(self._started.driver, state="FAILED", message=text)
                kind = RunEventType.FAIL if isinstance(error, Exception) else RunEventType.ABORT
                self._end(kind, time.time(), state)

    def _end(self, kind: RunEventType, at: float, state: RunState) -> None:
        self._ended = True
        self._remember(ended=True)
        self._put(kind, at, state, described=True)

    def _put(self, kind: RunEventType, at: float, state: RunState, *, described: bool = False) -> None:
        self.sender.put(kind, lambda: self._made(kind, at, state, described=described), stays=described)

    def _made(self, kind: RunEventType, at: float, state: RunState, *, described: bool) -> bytes:
        """Called on the thread of the sender: a job of a thousand tables has much lineage."""
        event = event_of(kind, at, self.facts, self.datasets(), state, described=described)
        return json.dumps(event).encode()

    def _tables(self, at: float) -> tuple[TableReceipt, ...]:
        if not self.drivers:
            return ()
        job = self.drivers[-1].job
        found = (job.closed.get(key) or receipts_of(one, at, ended=False) for key, one in job.pipelines.items())
        return tuple(chain.from_iterable(found))

    def _remember(self, *, ended: bool) -> None:
        with suppress(OSError, SeaTunnelError):
            about = {"run_id": self.facts.run_id, "ended": ended}
            write_json(self.place.path / f"{FILE}.json", about, durable=False)

    def _write_notes(self) -> None:
        while self.note is not None and self.sender.notes:
            self.note("WARNING", "openlineage", {"message": self.sender.notes.pop(0)})


def reporter_of(
    settings: LineageSettings,
    job: Job,
    graph: FlowGraph,
    pipelines: tuple[Pipeline, ...],
    place: JobDirectory,
    drivers: Sequence[Any],
    *,
    local: bool,
) -> RunReporter:
    """The reporter of a run that is about to start."""
    known = _known(place)
    continues = bool(known) and not known.get("ended")
    given, faults = parent_run.run_facets_of(os.environ)
    facts = RunFacts(
        str(known["run_id"]) if continues else new_run_id(time.time()),
        place.job_id,
        job.name,
        settings.namespace,
        job.mode is JobMode.STREAMING,
        ("seatunnel-py", __version__) if local else ("Spark", version("pyspark")),
        settings.sql,
        given,
        str(known.get("run_id", "")) if not continues else "",
    )
    unsent = UnsentEvents(place.home / UNSENT, settings.target)
    sender = EventSender(transport_of(settings), unsent, facts.run_id)
    sender.notes += faults
    datasets = cache(lambda: datasets_of(job.name, graph, pipelines))
    return RunReporter(facts, sender, drivers, datasets, place, continues)


def _known(place: JobDirectory) -> dict[str, Any]:
    """The run that an earlier driver of the job has reported, if its file can be read."""
    with suppress(SeaTunnelError):
        return place.read(FILE) or {}
    return {}
