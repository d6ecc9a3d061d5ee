"""Checkers of a job that copies tables and follows their log: I40, I42, I48."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.targets.prepared_pipeline import held_in, refused_in
from seatunnel_py.runtime.targets.target_alteration import place_of_log
from tests.simulation.checks.checker import Checker
from tests.simulation.checks.drivers import Driver, Shown
from tests.simulation.checks.visible import rows_of
from tests.simulation.followed import situations
from tests.simulation.followed.plan import LOG_NODE, LOG_PIPELINE, logged_node, names_of
from tests.simulation.followed.sources import number_of
from tests.simulation.followed.targets import TargetTable
from tests.simulation.jobs.targets import Answer, SimulatedLedger

if TYPE_CHECKING:
    from tests.simulation.followed.job import FollowedJob


class Followed(Checker):
    """What all of them share."""

    @property
    def job(self) -> FollowedJob:
        return self.line.job.followed  # type: ignore[no-any-return]

    def hooks(self) -> Mapping[Any, Any]:  # type: ignore[override]
        return {} if self.line.job.followed is None else super().hooks()

    def place(self, record: CheckpointRecord) -> int:
        """The place from which a record lets the log be read."""
        found = place_of_log(record, LOG_NODE)
        return 0 if found is None else number_of(found)


class I42Handoff(Followed):
    """A target has each row of its table once, without a gap and in order: those of the copy, then those of the log.
    Also when its table leaves, is copied again, joins, or goes back; a table that leaves has all rows up to there."""

    after: ClassVar = {"committed": "committed", "emptied": "emptied", "driver": "begins", "stored": "stored"}

    def __init__(self, line: Any) -> None:
        super().__init__(line)
        self.places: dict[int, int] = {}
        """Of the log, by record."""
        self.back: dict[int, int] = {}
        """By the serial number of a machine, the checkpoint whose next one may stand before it."""

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        if answer is not Answer.DONE:
            return
        table: TargetTable = target.ledger.table
        known = set(table.places)
        new = [row[2] for row in rows_of(pieces)]
        twice = sorted({place for place in new if place in known or new.count(place) > 1})
        self.expect(not twice, f"{target.node} shows rows {twice[:5]} of {table.name} twice")
        table.places += new
        if target.ledger is not table.logged or not new:
            return
        self.expect("setup" in target.ledger.told, f"{target.node} has rows, and was not set up")
        ordered = new == sorted(new) and new[0] > max(known, default=-1)
        self.expect(ordered, f"{target.node} shows {new[:5]} of {table.name} after {max(known, default=None)}")
        wanted = self.job.database.history.places(table.name, new[-1] + 1)
        missing = sorted(set(wanted).difference(table.places))
        self.expect(not missing, f"{target.node} shows row {new[-1]} of {table.name}, and lacks {missing[:5]}")

    def emptied(self, node: str, ledger: SimulatedLedger) -> None:
        name = ledger.table.name
        self.expect(name in self.job.open_resets, f"the target of {name} is emptied, and it is not copied again")
        log = self.world.lines.get(LOG_PIPELINE)
        if log is not None and log.newest is not None:
            ledger.table.logged.emptied_at = log.newest.checkpoint
        self.count(situations.EMPTIED)

    def begins(self, driver: Driver) -> None:
        found, past = driver.joined, driver.machine.context.past.record
        if found is None or past is None:
            return
        for path in found.tables:
            self.count(situations.WENT_BACK if path in found.going_back else situations.JOINED)
        if found.going_back:
            self.back[driver.serial] = past.checkpoint
        stopped = names_of(refused_in(past.plan)) | self._isolated(past)
        emptied = names_of(found.again) | self.job.open_resets  # their targets may be empty by now
        for name in names_of(found.left) - names_of(found.going_back):
            self.count(situations.LEFT)
            if name not in stopped | emptied:
                wanted = self.job.database.history.places(name, self.place(past))
                missing = sorted(set(wanted).difference(self.job.targets[name].places))
                self.expect(not missing, f"{name} leaves the log at {self.place(past)}, and lacks rows {missing[:5]}")

    def _isolated(self, record: CheckpointRecord) -> set[str]:
        return {name for name in self.job.targets if f"{logged_node(name)}<{LOG_NODE}" in record.topology.detached}

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or not self.line.follows or record.kind is RecordKind.ZERO:
            return
        now, before = self.place(record), self.places.get(record.previous, 0)
        self.places[record.checkpoint] = now
        right = now >= before or self.back.get(driver.serial) == record.previous
        self.expect(right, f"record {record.checkpoint} holds the log at {now}, the one before at {before}")


class I40LogIsKept(Followed):
    """The log is confirmed up to a place from which no record that may be restored reads before, and no table that waits
    for a decision, as long as the log is kept for that."""

    after: ClassVar = {"confirmed": "confirmed"}

    def confirmed(self, place: int, machine: PipelineMachine) -> None:
        for record in self._restorable(machine):
            at = self.place(record)
            self.expect(place <= at, f"the log is confirmed up to {place}, record {record.checkpoint} reads from {at}")
        newest = self.line.newest
        if newest is None or not (held := held_in(newest.plan)):
            return
        first = min(number_of(one.position) for one in held)
        given_up = self.place(newest) - first > self.job.policy.log_bytes_max
        text = f"the log is confirmed up to {place}, and {held[0].path} waits at {first}"
        self.expect(place <= first or given_up, text)
        self.count(situations.KEPT)

    def _restorable(self, machine: PipelineMachine) -> Iterable[CheckpointRecord]:
        """The newest ones that are kept by the machine that reads the log; later drivers delete those of earlier ones."""
        line, kept = self.line, self.world.settings.checkpoint.max_retained
        view, other = machine.view, (RecordKind.ZERO, RecordKind.SAVEPOINT)
        known = frozenset[int]() if view is None else frozenset(view.completed).intersection(line.records)
        older = [one for one in line.completed if one.kind not in other and one.checkpoint in known][-kept:]
        newest = [] if line.newest is None else [line.newest]
        return [one for one in (*older, *newest, *line.doubted.values()) if one.kind is not RecordKind.ZERO]


class I48FollowedVersions(Followed):
    """A target is altered for a version when it has all rows of the versions before, and none of it; it takes rows of
    its own version, and of later ones that a person has rejected for it."""

    after: ClassVar = {"altered": "altered", "committed": "committed"}

    def _skipped(self, table: TargetTable, versions: range) -> bool:
        return self.job.ignored[table.name].issuperset(versions)

    def altered(self, node: str, ledger: SimulatedLedger, version: int) -> None:
        table, history = ledger.table, self.job.database.history
        self.count(situations.ALTERED)
        if version == table.version:
            return
        right = version > table.version and self._skipped(table, range(table.version + 1, version))
        self.expect(right, f"{node}: version {table.version} -> {version}")
        place = history.changes[table.name][version - 1]
        missing = sorted(set(history.places(table.name, place)).difference(table.places))
        self.expect(not missing, f"{node} is altered for version {version}, and lacks rows {missing[:5]}")
        later = [one for one in table.places if one >= place]
        self.expect(not later, f"{node} is altered for version {version}, and has rows {later[:5]} of it")
        table.version = version

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        table: TargetTable = target.ledger.table
        if answer is not Answer.DONE or target.ledger is not table.logged:
            return
        for row in rows_of(pieces):
            version = self.job.database.history.version(table.name, row[2])
            right = version >= table.version and self._skipped(table, range(table.version + 1, version + 1))
            self.expect(right, f"{target.node} has version {table.version}, and takes row {row[2]} of {version}")


CHECKERS = (I42Handoff, I40LogIsKept, I48FollowedVersions)
