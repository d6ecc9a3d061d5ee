"""The only loop: it waits for what happens, and hands it to the job.

Nothing blocks here. Units run in the engine; preparing and committing run on a few side threads; records and journals
are written by one thread; all of them report back through one queue.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import suppress

from seatunnel_py.errors import ExitCode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.driver import ledger_retention
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.driver.job_runner import JobRunner
from seatunnel_py.runtime.messages.engine_port import Clock, Engine
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableReceipt
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.values.settings import Settings


class Driver:
    """Runs the pipelines of one job to their ends. ``stop`` may be called from any thread or signal handler."""

    def __init__(
        self,
        pipelines: tuple[Pipeline, ...],
        engine: Callable[[], Engine],
        job_id: str,
        authority: JobClaim,
        store: CheckpointStore,
        journal: JournalFile,
        settings: Settings,
        clock: Clock,
        listen: Callable[[JobEvent], None],
    ) -> None:
        self._await_engine = engine
        self._journal = journal
        self._settings = settings
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._executors = Executors(self.post)
        self.job = JobRunner(
            pipelines, job_id, authority, store, journal, settings, clock, self._executors, self.post, listen
        )

    def attach_control(self, handler: RequestHandler) -> None:
        """Where it looks for requests while it runs."""
        self.job.attach_control(handler)

    def post(self, call: Callable[[], None]) -> None:
        """Have something called on the loop; from any thread."""
        self._queue.put(call)

    def stop(self, exit_code: int = ExitCode.INTERRUPTED) -> None:
        """End the job. The first call lets streaming pipelines end behind a savepoint; a second one ends at once."""
        self._queue.put(lambda: self.job.stop_all(exit_code, "the job was stopped"))

    def run(self, begun: Callable[[], None] = lambda: None) -> tuple[TableReceipt, ...]:
        """Run to the end and say what arrived. ``begun`` is called before anything is changed. Raises what keeps the
        engine from starting, what ``begun`` raises, and failures of the loop itself."""
        try:
            self.job.admit()  # targets and sources are looked at while the engine starts
            self._work(self._begin(begun))
        finally:
            self._executors.close()
            self._journal.close()
        at = self.job.now()
        return tuple(receipt for one in self.job.pipelines.values() for receipt in receipts_of(one, at))

    def _begin(self, begun: Callable[[], None]) -> Engine:
        try:
            engine = self._executors.await_(self._await_engine, self._next)
            begun()
        except BaseException as error:
            self.job.stop_all(ExitCode.FAILED, str(error))
            while self.job.at_work:  # sources that were looked at are open
                self._next()
            raise
        return engine

    def _work(self, engine: Engine) -> None:
        try:
            engine.start(lambda event: self._queue.put(lambda: self.job.from_engine(event)))
            self.job.begin(engine)
            while self.job.busy:
                self._next()
        finally:
            self.job.end()
            engine.stop()

    def _next(self) -> None:
        """Wait for something to happen, and for timers; let those begin whose turn has come."""
        with suppress(queue.Empty):
            self._queue.get(timeout=self.job.timers.pause(self.job.now()))()
        self.job.fire_timers()
        self.job.admit()

    # ---------------------------------------------------------------- behind the end of a run

    def status(self) -> tuple[PipelineStatus, ...]:
        """What each pipeline is at."""
        return tuple(one.status for one in self.job.pipelines.values())

    def withdraw(self) -> None:
        """Another driver has finished the job, so that rows which this one has staged since are of no use."""
        for one in self.job.pipelines.values():
            groups, setups = tuple(one.context.groups.values()), one.state.prepared.setups
            sink_operations.drop(groups, one.cleanup.ever_staged, setups, one.context.job, last=True)

    def end_lineage(self) -> tuple[str, ...]:
        """Targets need not remember a job that is done for ever; notes for people."""
        return ledger_retention.notify_targets(self.job.pipelines.values(), self._settings.ledger_days)

    def swept(self) -> tuple[str, ...]:
        """Notes for people: what a job that began anew has removed from its targets, and what it has left there."""
        lines = self.job.pipelines.values()
        return tuple(f"{line.pipeline.name}: {one}" for line in lines for one in line.state.prepared.swept)
