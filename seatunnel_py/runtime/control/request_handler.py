"""Handles requests in the driver: reads them from the storages, performs them on the loop, answers each once.

Rules. (1) A separate thread reads and writes files, so that a target that hangs delays no request. (2) A savepoint is
answered when the record of every pipeline is durable and its rows are committed; for a pipeline that has ended, its
last record is taken. A pipeline that refuses a savepoint for now is asked again until the request's time is up. If a
target has refused a commit for good, or a pipeline has ended before it confirmed the commits of its record, the
savepoint is refused at once, because it would lose those rows. (3) A stop or cancel that names an earlier run is
refused, because the job was started again since. (4) A driver does not end before it has answered. (5) A reset of
tables is performed at a start of the job (``table_reset.py``), so this run ends with savepoints, and the process begins
another one, which answers it; so is a decision about a change of a schema. (6) Storages of other machines are read less
often, because each read may cost money.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.tables.table_refresh import RefreshOutcome
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.control import start_requests
from seatunnel_py.runtime.control.request_checks import (
    cancelled_text,
    concerned,
    invalid,
    lost_commits,
    named,
    tables_text,
)
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.diagnosis.checkpoint_totals import OF_CHECKPOINTS
from seatunnel_py.runtime.diagnosis.live_counters import EarlierCounts, LiveCounters
from seatunnel_py.runtime.diagnosis.stall_detector import StallDetector
from seatunnel_py.runtime.diagnosis.standing import PipelineDiagnosis
from seatunnel_py.runtime.messages.events import SavepointRequest, StopWithdrawn
from seatunnel_py.runtime.observe.events import JobEvent, RequestAnswered, TableRefreshed
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.resume import table_refresh
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.storage.savepoint_store import SavepointSummary, committed_only, name_taken_error

if TYPE_CHECKING:
    from seatunnel_py.runtime.diagnosis.job_port import JobPort
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

POLL_SECONDS = 0.5
FAR_EVERY = 4  # reads of the job's directory per read of the other storages


class SavepointWriter(Protocol):
    """Writes savepoints to a place that outlives the job."""

    def kept(self, name: str) -> SavepointSummary | None:
        """Return the savepoint of this name, if there is one."""

    def keep(
        self, name: str, request: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]
    ) -> SavepointSummary:
        """Write a savepoint of these records; ``absent``: pipelines that had not begun."""


@dataclass(slots=True)
class _OpenRequest:
    """A request that is being performed. ``records``: by pipeline, its record for the savepoint, None: it had not
    begun; ``asked``: pipelines that have not answered yet; ``reasons``: why not; ``aside``: its files are being read
    or written, and the request waits for that; ``progress``: the last reported progress."""

    request: ControlRequest
    until: float
    records: dict[str, CheckpointRecord | None] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    aside: bool = False
    progress: str = ""


class RequestHandler:
    """Handles the requests of one job. ``run``: the name of this run in requests; ``show``: shows that this driver is
    alive; ``count``: writes the live counters; ``refreshes``: those that this run performs; ``before``: counts of
    earlier drivers."""

    def __init__(
        self,
        control: RequestStore,
        run: str,
        keeper: SavepointWriter,
        show: Callable[[], object] = lambda: None,
        count: Callable[[Mapping[str, Any]], object] = lambda counters: None,
        refreshes: TableRefreshes | None = None,
        before: EarlierCounts | None = None,
    ) -> None:
        self._control = control
        self._show = show
        self._count, self._before = count, before
        self._counters: LiveCounters | None = None
        self._run = run
        self._keeper = keeper
        self._refreshes = refreshes or TableRefreshes()
        self._ends_for_tables = False
        self._open: dict[str, _OpenRequest] = {}
        self._answered: set[str] = set()
        self._watch: StallDetector | None = None
        self._looks = 0
        self._unheard = ""
        self._files = ThreadPoolExecutor(1, thread_name_prefix="control")

    def begin(self, driver: JobPort, machines: Mapping[str, PipelineMachine]) -> None:
        """Start to read requests, because the driver runs."""
        self._driver = driver
        self._machines = machines
        self._answered |= self._refreshes.taken  # this run has performed them, or will
        self._watch = StallDetector(driver, machines)
        self._counters = LiveCounters(self._run, machines, driver.closed, self._before)
        self._poll()

    @property
    def busy(self) -> bool:
        """Whether a request waits for its answer."""
        return bool(self._open)

    def saw(self, event: JobEvent) -> None:
        """Note an event of the job."""
        if self._watch is not None:
            self._watch.saw(event)
        if self._counters is not None and isinstance(event, OF_CHECKPOINTS):
            self._counters.saw(event)
        if isinstance(event, TableRefreshed):
            self._refreshed(event.outcome)

    def close(self) -> None:
        """Answer that the job has ended, and stop."""
        if self._watch is not None:
            self._watch.close()
        self._files.shutdown(wait=True)
        if self._counters is not None:
            with suppress(OSError, SeaTunnelError):  # the receipt counts
                self._count(self._counters.last(self._driver.now()))
        with suppress(OSError, SeaTunnelError):  # without an answer the sender sees that the driver has ended
            for request in self._control.open():
                if request.awaits_start:
                    continue  # the next run answers it
                self._control.answer(ControlAnswer(request.id, False, "the job has ended"))

    # ---------------------------------------------------------------- reading requests

    def _poll(self) -> None:
        if self._watch is not None:
            self._watch.look()
        counters = self._counters.due(self._driver.now()) if self._counters is not None else None
        if counters is not None:
            self._aside(partial(self._count, counters), lambda _: None)
        self._looks += 1
        everywhere = self._looks % FAR_EVERY == 1
        self._aside(partial(self._look_in, everywhere=everywhere), partial(self._asked, everywhere=everywhere))
        self._driver.after(("control",), POLL_SECONDS, self._poll)

    def _look_in(self, *, everywhere: bool) -> tuple[ControlRequest, ...]:
        self._show()
        return self._control.open(others=everywhere)

    def _asked(self, requests: tuple[ControlRequest, ...], *, everywhere: bool) -> None:
        if everywhere:  # all storages were read: only their requests can come again
            self._unheard = ""
            self._answered &= {request.id for request in requests} | self._open.keys()
        for request in requests:
            if request.id not in self._open and request.id not in self._answered:
                self._begin(request)
        self.look()

    def _begin(self, request: ControlRequest) -> None:
        if request.wish is RequestKind.LIVES:
            self._answered.add(request.id)  # no event, because it changes nothing
            ours = request.run in ("", self._run)
            text = "it works" if ours else "another driver has the job now"
            self._aside(partial(self._control.answer, ControlAnswer(request.id, ours, text)), lambda _: None)
            return
        if request.wish is RequestKind.EXPLAIN and self._watch is not None:
            self._answered.add(request.id)
            self._watch.explain(partial(self._explained, request.id))
            return
        if request.awaits_start:
            self._of_tables(request)
            return
        if request.wish is not RequestKind.SAVEPOINT and request.run != self._run:
            text = "the driver that was to end is dead, and another driver has resumed the job"
            self._answer(ControlAnswer(request.id, False, text, "send the request again to end this run"))
            return
        machines = [machine for machine in self._machines.values() if concerned(machine, request.tables)]
        if wrong := invalid(machines, request):
            self._answer(wrong)
            return
        opened = self._open[request.id] = _OpenRequest(request, self._driver.now() + request.seconds)
        if request.wish is RequestKind.CANCEL:
            self._driver.cancel_all(machines, f"it was cancelled (request {request.id})", whole=not request.tables)
            return
        opened.aside = True  # the job goes on if the name of the savepoint is taken
        self._aside(
            partial(self._keeper.kept, request.name), partial(self._looked_up, opened), partial(self._not_kept, opened)
        )

    def _of_tables(self, request: ControlRequest) -> None:
        """End this run, so that the next one performs the request; refuse what cannot be done at once.
        A second call to end would end it without a savepoint."""
        pipelines = {key: one.pipeline for key, one in self._machines.items()}
        try:
            records = {key: self._driver.newest(key) for key in pipelines}
            task: Callable[[], Any] = lambda: None  # noqa: E731 - nothing else to look at
            if request.wish is not RequestKind.REFRESH:
                start_requests.require(request, pipelines, records)
            else:
                found = table_refresh.chosen(pipelines, records, request.refresh)
                if found is None:
                    return  # it is looked at again
                task = partial(self._refreshes.try_out, found[1])
        except SeaTunnelError as error:
            self._answer(ControlAnswer(request.id, False, *start_requests.refusal(error)))
            return
        self._answered.add(request.id)
        opened = _OpenRequest(request, self._driver.now() + request.seconds)
        self._aside(task, partial(self._ends_for, request), partial(self._not_kept, opened))

    def _ends_for(self, request: ControlRequest, _: object) -> None:
        if not self._ends_for_tables:
            self._ends_for_tables = True
            why = f"{start_requests.REASONS[request.wish]} (request {request.id})"
            self._driver.stop_all(ExitCode.TERMINATED, why, again=True)

    def _refreshed(self, found: RefreshOutcome) -> None:
        """Answer the request of a refresh, whose outcome an event has reported."""
        answer = ControlAnswer(found.wish.request, found.done, found.text, found.remedy, found.about)
        self._aside(partial(self._control.answer, answer), lambda _: None)

    def _looked_up(self, opened: _OpenRequest, found: SavepointSummary | None) -> None:
        """Handle the savepoint that already has this name, if there is one. The savepoint belongs to this request if an
        earlier driver died between writing and answering."""
        if found is not None and found.request == opened.request.id:
            self._kept(opened, found)
        elif found is not None:
            self._not_kept(opened, name_taken_error(opened.request.name, found.place))
        else:
            opened.aside = False
            if opened.request.wish is RequestKind.STOP and not lost_commits(self._driver, self._machines):
                self._driver.stop_waiting(ExitCode.TERMINATED)
            self.look()

    def refused(self, pipeline: str, name: str, reason: str) -> None:
        """Note that a pipeline refuses the savepoint of this name for now."""
        for opened in self._open.values():
            if name == opened.request.name:
                opened.asked.discard(pipeline)
                opened.reasons[pipeline] = reason

    def completed(self, pipeline: str, record: CheckpointRecord) -> None:
        """Note a durable record; it may be part of a savepoint that was requested."""
        for opened in self._open.values():
            if record.kind is RecordKind.SAVEPOINT and record.name == opened.request.name:
                opened.records[pipeline] = record

    def restarted(self, pipeline: str) -> None:
        """Ask again, because another machine has replaced the one of this pipeline."""
        for opened in self._open.values():
            opened.asked.discard(pipeline)

    # ---------------------------------------------------------------- performing requests

    def look(self) -> None:
        """Check whether open requests are complete or overdue."""
        for opened in list(self._open.values()):
            if opened.aside or opened.request.id in self._answered:
                continue
            waiting = self._cancelled(opened) if opened.request.wish is RequestKind.CANCEL else self._saved(opened)
            if waiting and self._driver.now() > opened.until:
                text = f"not within {opened.request.seconds:.0f} s: {named(waiting)}"
                self._give_up(opened, text, "ask again with a longer --timeout", waiting)
            elif waiting:
                self._tell(opened, waiting)

    def _cancelled(self, opened: _OpenRequest) -> dict[str, str]:
        """Return the pipelines that have not ended yet, with the reason; answer the request if all have ended."""
        machines = [machine for machine in self._machines.values() if concerned(machine, opened.request.tables)]
        waiting = {
            machine.pipeline.name: "it is ending" for machine in machines if machine.key not in self._driver.closed
        }
        if not waiting:
            ends = {machine.pipeline.name: machine.shown_state.value for machine in machines}
            stopped = sum(state == TableState.STOPPED for state in ends.values())
            self._answer(ControlAnswer(opened.request.id, True, cancelled_text(stopped, len(ends)), about=ends))
        return waiting

    def _saved(self, opened: _OpenRequest) -> dict[str, str]:
        """Return the pipelines whose checkpoint is missing, with the reason; write the savepoint if none is missing."""
        waiting: dict[str, str] = {}
        if lost := lost_commits(self._driver, self._machines):
            texts = {name: text for name, (text, _) in lost.items()}
            remedies = dict.fromkeys(remedy for _, remedy in lost.values())
            self._give_up(opened, f"a savepoint would lose rows: {named(texts)}", "; ".join(remedies), texts)
            return {}
        for key, machine in self._machines.items():
            if key not in opened.records:
                self._ask(opened, key, machine)
            if why := self._lacks(opened, key, machine):
                waiting[machine.pipeline.name] = why
        if not waiting:
            opened.aside = True
            records = {key: committed_only(record) for key, record in opened.records.items() if record is not None}
            absent = tuple(key for key, record in opened.records.items() if record is None)
            keep = partial(self._keeper.keep, opened.request.name, opened.request.id, records, absent)
            self._aside(keep, partial(self._kept, opened), partial(self._not_kept, opened))
        return waiting

    def _ask(self, opened: _OpenRequest, key: str, machine: PipelineMachine) -> None:
        if key in self._driver.closed or machine.state.shown.started_at is None:
            record = self._driver.newest(key)
            opened.records[key] = None if record is None or record.kind is RecordKind.ZERO else record
        elif machine.view is not None and key not in opened.asked:
            opened.asked.add(key)
            self._driver.turn(machine, SavepointRequest(opened.request.name, opened.request.wish is RequestKind.STOP))

    def _lacks(self, opened: _OpenRequest, key: str, machine: PipelineMachine) -> str:
        """Why the savepoint has to wait for this pipeline; empty: it need not wait."""
        if key not in opened.records:
            return opened.reasons.get(key, "its checkpoint is under way")
        record = opened.records[key]
        unconfirmed = self._driver.unconfirmed(key)
        if record is not None and any(checkpoint <= record.checkpoint for checkpoint in unconfirmed):
            return "its rows are not committed yet"
        return "it is ending" if opened.request.wish is RequestKind.STOP and key not in self._driver.closed else ""

    def _kept(self, opened: _OpenRequest, kept: SavepointSummary) -> None:
        name, begun = opened.request.name, len(kept.checkpoints)
        about = {"savepoint": name, "path": kept.place, "checkpoints": kept.checkpoints, "absent": kept.absent}
        text = f"savepoint {name}: {begun} of {tables_text(begun + len(kept.absent))} had begun"
        self._answer(ControlAnswer(opened.request.id, True, text if kept.absent else f"savepoint {name}", about=about))

    def _not_kept(self, opened: _OpenRequest, error: BaseException) -> None:
        if not isinstance(error, SeaTunnelError):
            raise error
        self._answer(ControlAnswer(opened.request.id, False, error.message, error.remedy))

    def _give_up(self, opened: _OpenRequest, text: str, remedy: str, about: Mapping[str, str]) -> None:
        for machine in self._machines.values():
            if opened.request.wish is RequestKind.STOP:
                self._driver.turn(machine, StopWithdrawn())
        self._answer(ControlAnswer(opened.request.id, False, text, remedy, dict(about)))

    # ---------------------------------------------------------------- answers

    def _explained(self, request: str, found: Sequence[PipelineDiagnosis]) -> None:
        """Answer with the diagnosis of all pipelines."""
        answer = ControlAnswer(
            request, True, tables_text(len(found)), about={"tables": [one.to_plain() for one in found]}
        )
        self._aside(partial(self._control.answer, answer), lambda _: None)

    def _tell(self, opened: _OpenRequest, waiting: Mapping[str, str]) -> None:
        text = f"waiting for {tables_text(len(waiting))}: {named(waiting)}"
        if text != opened.progress:
            opened.progress = text
            self._aside(partial(self._control.tell, opened.request.id, text), lambda _: None)

    def _answer(self, answer: ControlAnswer) -> None:
        self._answered.add(answer.request)
        wish = self._open[answer.request].request.wish.value if answer.request in self._open else "request"
        self._driver.tell(RequestAnswered(answer.request, wish, answer.done, answer.text, self._driver.now()))
        self._aside(partial(self._control.answer, answer), partial(self._is_answered, answer.request))

    def _is_answered(self, request: str, _: bool) -> None:
        self._open.pop(request, None)

    def _aside(
        self,
        task: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        def work() -> None:
            try:
                value = task()
            except Exception as error:  # noqa: BLE001 - reported below; no row depends on it
                self._driver.post(partial(failed or self._failed, error))
            else:
                self._driver.post(partial(then, value))

        self._files.submit(work)

    def _failed(self, error: BaseException) -> None:
        """Report that the requests cannot be read or answered."""
        self._open = {name: opened for name, opened in self._open.items() if name not in self._answered}
        text = f"cannot be read or answered: {error}"
        if text != self._unheard:  # an outage of the store is reported once
            self._unheard = text
            self._driver.tell(RequestAnswered("", "request", False, text, self._driver.now()))
