"""Runs the only loop: it takes events from one queue, and hands them to the job.

Nothing blocks here. Units run in the engine; preparing and committing run on a few side threads; records and journals
are written by one thread; all of them report back through one queue.
"""

from __future__ import annotations

from collections.abc import Callable

from seatunnel_py.errors import ExitCode
from seatunnel_py.plan.altered_log import PlanAgain, no_plan
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.control.request_handler import RequestHandler
from seatunnel_py.runtime.counts import log_receipts
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.driver import ledger_retention
from seatunnel_py.runtime.driver.call_queue import CallQueue
from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.driver.job_runner import JobRunner
from seatunnel_py.runtime.messages.engine_port import Clock, Engine
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableReceipt
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.resume.lineage import LineageMember
from seatunnel_py.runtime.resume.source_cleanup import EndedPipeline
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.values.settings import Settings


class Driver:
    """Runs the pipelines of one job to their ends. ``stop`` may be called from any thread or signal handler.
    ``lineage``: of the job."""

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
        plan_again: PlanAgain = no_plan,
        refreshes: TableRefreshes | None = None,
    ) -> None:
        self._authority = authority
        self._await_engine = engine
        self._journal = journal
        self._settings = settings
        self._queue = CallQueue()
        self._executors = Executors(self.post)
        self.job = JobRunner(
            pipelines,
            job_id,
            authority,
            store,
            journal,
            settings,
            clock,
            self._executors,
            self.post,
            listen,
            plan_again,
            refreshes or TableRefreshes(),
        )

    def attach_control(self, handler: RequestHandler) -> None:
        """Set the handler that reads requests while the job runs."""
        self.job.attach_control(handler)

    def post(self, call: Callable[[], None]) -> None:
        """Call this on the loop; from any thread."""
        self._queue.put(call)

    def stop(self, exit_code: int = ExitCode.INTERRUPTED) -> None:
        """End the job. At the first call streaming pipelines end after a savepoint; at a second one all end at once."""
        self._queue.put(lambda: self.job.stop_all(exit_code, "the job was stopped"))

    def run(self, begun: Callable[[], None] = lambda: None) -> tuple[TableReceipt, ...]:
        """Run to the end and return the receipts. ``begun`` is called before anything is changed. Raises errors of the
        engine's start, of ``begun`` and of the loop itself."""
        try:
            self.job.admit()  # targets and sources are examined while the engine starts
            self._work(self._begin(begun))
        finally:
            self._executors.close()
            self._journal.close()
        return self._receipts()

    def _receipts(self) -> tuple[TableReceipt, ...]:
        """The receipts of all tables; a table that was copied and is followed has one."""
        at, machines = self.job.now(), tuple(self.job.pipelines.values())
        found = {one.pipeline.id: self.job.closed.get(one.key) or receipts_of(one, at) for one in machines}
        for machine in machines:
            after = [one for one in machine.pipeline.after if one in found]
            if machine.pipeline.log is not None and after:
                copies = tuple(receipt for one in after for receipt in found.pop(one))
                followed = found[machine.pipeline.id]
                found[machine.pipeline.id] = tuple(log_receipts.joined(copies, followed, self.job.logs.apart))
        receipts = [receipt for some in found.values() for receipt in some]
        return (*receipts, *log_receipts.refused(receipts, self.job.logs.apart))

    def _begin(self, begun: Callable[[], None]) -> Engine:
        try:
            engine = self._executors.await_(self._await_engine, self._next)
            begun()
        except BaseException as error:
            self.job.stop_all(ExitCode.FAILED, str(error))
            while self.job.at_work:  # sources that were examined are open
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
        """Wait for an event or a timer; let pipelines begin whose turn has come."""
        call = self._queue.get(self.job.timers.pause(self.job.now()))
        if call is not None:
            call()
        self.job.fire_timers()
        self.job.admit()

    # ---------------------------------------------------------------- after the end of a run

    def status(self) -> tuple[PipelineStatus, ...]:
        """Return the status of each pipeline."""
        return tuple(machine.status for machine in self.job.pipelines.values())

    @property
    def goes_on(self) -> bool:
        """Whether a pipeline is done for this run only."""
        return any(machine.goes_on for machine in self.job.pipelines.values())

    def ended_pipelines(self) -> tuple[EndedPipeline, ...]:
        """Return the pipelines with the splits of their sources."""
        machines = self.job.pipelines.values()
        splits = (machine.state.prepared.splits.values() for machine in machines)
        return tuple(
            EndedPipeline(machine.pipeline, tuple(split for some in found for split in some))
            for machine, found in zip(machines, splits, strict=True)
        )

    def withdraw(self) -> None:
        """Drop all rows that this driver has staged, because another driver has finished the job."""
        for machine in self.job.pipelines.values():
            context, setups = machine.context, machine.state.prepared.setups
            groups = tuple(context.groups.values())
            sink_operations.drop(groups, machine.cleanup.ever_staged, setups, context.job, last=True)

    def lineage_member(self, job_id: str) -> LineageMember:
        """The job of this driver among those that share its savepoints."""
        return LineageMember.of(job_id, self._authority.lineage, self._authority.incarnation)

    def end_lineage(self) -> tuple[str, ...]:
        """Let targets remove the ledger rows of a job that is done; return notes for the receipt."""
        return ledger_retention.notify_targets(self.job.pipelines.values(), self._settings.ledger_days)

    def swept(self) -> tuple[str, ...]:
        """Return notes for the receipt: rows of earlier runs that a job with ``--fresh`` has removed, or has not."""
        machines = self.job.pipelines.values()
        return tuple(
            f"{machine.pipeline.name}: {note}" for machine in machines for note in machine.state.prepared.swept
        )
