"""Drops what a job has made at its sources, such as replication slots, once no restore reads from it.

Rules. (1) The checkpoints of the job are deleted first. (2) A savepoint of the job, and a job that was started from
one, may read from the same place: they keep everything, until the savepoint is deleted and the job has ended for good.
(3) The intent is durable before anything is dropped, in the receipt or in job.json: if the driver or the command dies,
`seatunnel jobs drop` does the rest. (4) Sources drop only what the job has made. (5) The jobs with whose savepoints
this one began, directly or not, cannot go on after the drop. A run that ends keeps everything for them too; the command
announces it to the user, who decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from seatunnel_py.api.log_source import Leftover, LogSource
from seatunnel_py.api.source import Split
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.log_graph import log_id
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.steps import Job, Step
from seatunnel_py.protocol.commit.claims import Stored
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.resume.lineage import LineageMember, shown_job
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from seatunnel_py.runtime.targets.prepared_pipeline import prepared_of


@dataclass(frozen=True, slots=True)
class LogAtSource:
    """The log of a step. ``splits``: all splits that the records of the job hold, without those of other logs."""

    step: Step
    source: LogSource
    splits: tuple[Split, ...] = ()

    def leftovers(self) -> tuple[Leftover, ...]:
        """The objects that exist now. Raises SeaTunnelError."""
        with _naming_its_step():
            return plugin_calls.leftovers_of(self.step, self.source, self.splits)

    def drop(self) -> None:
        """Drop those that the job has made. Raises SeaTunnelError."""
        with _naming_its_step():
            plugin_calls.drop_leftovers(self.step, self.source, self.splits)


@contextmanager
def _naming_its_step() -> Iterator[None]:
    try:
        yield
    except plugin_calls.PluginCallError as error:
        raise SeaTunnelError(f"{error.step}: {error.message}", error.remedy) from error


def logs_in(job: Job, stored: Mapping[str, Sequence[Stored]]) -> tuple[LogAtSource, ...]:
    """The logs of a job file, with the splits of these records."""
    records = [one for some in stored.values() for one in some if isinstance(one, CheckpointRecord)]
    splits = [found for one in records for found in _splits(one)]
    steps = job.of_kind(PluginKind.SOURCE)
    made = ((step, plugin_calls.created(step, job)) for step in steps)
    logs = [(step, source) for step, source in made if isinstance(source, LogSource)]
    vertices = {log_id(step.id): step for step, _ in logs}
    return tuple(
        LogAtSource(step, source, tuple(split for at, split in splits if vertices.get(at, step) is step))
        for step, source in logs
    )


def _splits(record: CheckpointRecord) -> Iterable[tuple[str, Split]]:
    """Each with its vertex."""
    if record.plan is None:
        return ()
    return ((vertex, split) for vertex, some in prepared_of(record.plan).splits.items() for split in some)


@dataclass(frozen=True, slots=True)
class EndedPipeline:
    """A pipeline at the end of a run. ``splits``: of all its sources."""

    pipeline: Pipeline
    splits: tuple[Split, ...]

    def reads_for(self, step: Step) -> bool:
        """Whether its splits may be of the log of this step."""
        return self.pipeline.log is None or self.pipeline.log.step is step


def finished_logs(ended: Sequence[EndedPipeline]) -> tuple[LogAtSource, ...]:
    """The logs that end with this run, of a job whose tables are all done."""
    logs = [
        (log.step, log.source)
        for log in (one.pipeline.log for one in ended)
        if log is not None and isinstance(log.source, LogSource) and log.source.drops_when_finished
    ]
    return tuple(
        LogAtSource(step, source, tuple(split for one in ended if one.reads_for(step) for split in one.splits))
        for step, source in logs
    )


@dataclass(frozen=True, slots=True)
class LastRun:
    """The end of a job's last run: its receipt announces the drop, and then names each thing that was dropped.
    ``logs``: none for a job that goes on, or has failed."""

    logs: tuple[LogAtSource, ...]
    places: SavepointLocations
    member: LineageMember
    is_last: bool

    @staticmethod
    def of(
        receipt: Receipt, ended: Sequence[EndedPipeline], places: SavepointLocations, member: LineageMember
    ) -> LastRun:
        """The last run, if this receipt is of one."""
        ends = receipt.exit_code == ExitCode.SUCCESS and not receipt.goes_on
        return LastRun(finished_logs(ended) if ends else (), places, member, ends)

    def announced(self, receipt: Receipt) -> Receipt:
        """The receipt with the intent (rule 3)."""
        return replace(receipt, notes=(*receipt.notes, self._intent(receipt))) if self.logs else receipt

    def _intent(self, receipt: Receipt) -> str:
        steps = ", ".join(one.step.id for one in self.logs)
        return f"what the job has made at {steps} is dropped now; `seatunnel jobs drop {receipt.job_id}` completes that"

    def performed(self, receipt: Receipt, keep: Callable[[Receipt], None]) -> Receipt:
        """Drop, and ``keep`` the receipt with the outcome in place of the intent. The job has ended: an error is a
        note."""
        notes = self._ended()
        if not self.logs and not notes:
            return receipt
        notes += [note for one in self.logs for note in self._dropped(one, receipt.job_id)]
        intent = self._intent(receipt)
        receipt = replace(receipt, notes=(*(note for note in receipt.notes if note != intent), *notes))
        keep(receipt)
        return receipt

    def _ended(self) -> list[str]:
        """Note that the job will not go on, if it has a log or has begun with a savepoint."""
        try:
            if self.is_last and (self.logs or self.member.number):
                self.member.end(self.places)
        except (SeaTunnelError, OSError) as error:
            return [f"jobs that share its savepoints were not told that it has ended: {redacted_text(str(error))}"]
        return []

    def _dropped(self, one: LogAtSource, job_id: str) -> list[str]:
        try:
            readers = self.member.readers(self.places)
            earlier = (f"{shown_job(one)}, before this one, may go on" for one in readers.earlier)
            if stays := (*readers.sentences, *earlier):
                return [f"{one.step.id}: nothing is dropped: {'; '.join(stays)}; {_LATER.format(job_id)}"]
            found = one.leftovers()
            one.drop()
        except SeaTunnelError as error:
            return [f"{one.step.id}: not dropped: {error.message}; {_LATER.format(job_id)}"]
        return [f"{left.name} {f'stays: {left.kept}' if left.kept else 'was dropped'}" for left in found]


def drops_later(job_id: str, notes: Iterable[str]) -> bool:
    """Whether a finished job has left something at its sources, by the notes of its receipt."""
    later = f"`seatunnel jobs drop {job_id}`"
    return any(later in note for note in notes)


_LATER = "`seatunnel jobs drop {}` does it later"
