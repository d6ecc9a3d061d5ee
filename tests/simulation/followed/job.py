"""A followed job over all its drivers: the tables of its job file, and what persons ask for.

Rules. (1) What a person asks for waits for the next driver, as requests to a stopped job do: a table is added, taken
out, or copied again; tables are named in another order; a change that waits is decided. (2) A person who has seen that a table gets no more rows decides
about it, or has it copied again, at the latest when nothing goes wrong any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from seatunnel_py.api import Position, SchemaBehavior, SchemaEvent, SchemaPolicy
from seatunnel_py.errors import PlanError
from seatunnel_py.plan.change_rules import ChangeRule
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control import change_decisions, rule_decisions
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume import table_reset
from seatunnel_py.runtime.resume.begun_logs import as_begun
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.resume.log_growth import NO_TABLE_LEFT
from seatunnel_py.runtime.storage.journal import JournalFile, removed_rule_line, rule_line
from seatunnel_py.runtime.targets.prepared_pipeline import held_in, refused_in, tables_in
from seatunnel_py.runtime.targets.target_alteration import place_of_log
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.unit import Unit
from tests.simulation.followed import situations
from tests.simulation.followed.history import Database, drawn
from tests.simulation.followed.plan import LOG_NODE, LOG_PIPELINE, Planner, logged_node, names_of
from tests.simulation.followed.sources import Copy, FollowedLog, begin_of, number_of, version_of
from tests.simulation.followed.targets import TargetTable
from tests.simulation.jobs.shapes import Job
from tests.simulation.wishes import stop

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

WISHES_MAX = 4
WISH_SECONDS = 8.0
STOPPED, STOPS_MAX = ("waits for a decision", "does not take version"), 4
"""A log fails with its last table, so often in a row: the job has to start anew."""
LOG_BYTES = (1 << 30, 1 << 30, 6)


class FollowedJob:
    """``tables``: those of the job file; ``open_resets``: tables whose targets may be emptied, as the journal says;
    ``given_up``: those that only a new start of the whole job would bring back."""

    def __init__(self, world: World) -> None:
        self.world = world
        stream = self._stream = world.choices.followed
        self._rules = world.choices.rules
        self.database = Database(drawn(stream), lambda: world.now)
        names = list(self.database.history.changes)
        behavior = stream.pick((SchemaBehavior.EVOLVE, SchemaBehavior.EVOLVE, SchemaBehavior.INBOX))
        self.policy = SchemaPolicy(behavior, log_bytes_max=stream.pick(LOG_BYTES))
        self.targets = {name: TargetTable(name) for name in names}
        self.ignored: dict[str, set[int]] = {name: set() for name in names}
        log = FollowedLog(self.database, self.policy)
        copies = {name: Copy(self.database) for name in names}
        self.planner = Planner(log, copies, self.targets, self.ignored)
        first = stream.between(1, len(names))
        self.tables, self._later = names[:first], names[first:]
        self._before, self._logged = list(self.tables), list[str]()
        for name, changes in self.database.history.changes.items():
            refused = (version for version in range(1, len(changes) + 1) if stream.chance(0.3))
            self.targets[name].refused |= set(refused)
        self.open_resets: set[str] = set()
        self.given_up: set[str] = set()
        self._resets: set[str] = set()
        self._apart: set[str] = set()
        self._stops = 0
        for target in (*log_states(self.planner), *(one for each in self.targets.values() for one in ledgers_of(each))):
            target.act = world.at_target  # type: ignore[attr-defined]

    # ---------------------------------------------------------------- the job

    @property
    def jobs(self) -> list[Job]:
        """For the checkers: the copies of the job file, and the log with all tables that it may ever have."""
        history, end = self.database.history, self.database.end
        every = {name: history.version(name, end) for name in self.targets}
        whole = self.planner.logged(every, after=tuple(self.tables))
        lines = [("copy", self.planner.copy(name, every[name])) for name in self.tables]
        return [Job(shape, line, {}, {}, shape == "copy", followed=self) for shape, line in [*lines, ("log", whole)]]

    def pipelines(self, records: Mapping[str, CheckpointRecord] = MappingProxyType({})) -> tuple[Pipeline, ...]:
        """As they are planned today. A copy that has begun shows its table as of its place, in any later driver."""
        history, end = self.database.history, self.database.end
        today = {name: history.version(name, end) for name in self.tables}
        begun = {name: version_of(*tables_in(records[name].plan)) for name in self.tables if name in records}
        copies = (self.planner.copy(name, version) for name, version in {**today, **begun}.items())
        return (*copies, self.planner.logged(today, after=tuple(self.tables)))

    def begin(self, authority: JobClaim, journal: JournalFile) -> tuple[Pipeline, ...]:
        """The pipelines of a driver. FatalError: the job is refused as it is."""
        kept = journal.journal
        log = authority.records.get(LOG_PIPELINE)
        place = None if log is None else place_of_log(log, LOG_NODE)
        self.database.began = max(0 if place is None else number_of(place), self.database.read)
        self._logged = [] if log is None else [one.schema.path.table for one in tables_in(log.plan)]
        if not self.world.faults.on or self._stream.chance(0.5):
            self._look(log)
        self._copy_again(keys(self.pipelines()), authority.records, journal)
        self._decide(authority.records, journal)
        self._rule(authority.records, journal)
        records = kept.resumed(authority.records)
        decided = change_decisions.behaviors(kept.decisions), rule_decisions.active(kept)
        plan = self.planner
        lines = as_begun(
            self.pipelines(records), records, plan.as_decided, plan.of_tables, kept.resets, *decided, kept.emptied
        )
        self._before = list(self.tables)
        return lines

    def start_refused(self) -> None:
        """A person restores the list of tables: those of the last run, and those that the log has not left yet."""
        self.world.counters[situations.REFUSED] += 1
        self.tables = list(dict.fromkeys([*self._before, *self._logged]))

    def _copy_again(
        self, named: Mapping[str, Pipeline], records: Mapping[str, CheckpointRecord], journal: JournalFile
    ) -> None:
        for name in sorted(self._resets.intersection(self.tables)):
            try:
                copies = table_reset.copies_of(named, records, [name], journal.journal.resets)
            except PlanError:
                self.world.counters["a reset was refused"] += 1
                if not self.world.faults.on and records.get(LOG_PIPELINE) is not None:
                    self.given_up.add(name)
            else:
                self._write(journal, *table_reset.lines_of(copies))
                self._apart.discard(name)
            self._resets.discard(name)

    def _decide(self, records: Mapping[str, CheckpointRecord], journal: JournalFile) -> None:
        stream, log = self._stream, records.get(LOG_PIPELINE)
        stays = set() if log is None else names_of(one.schema.path for one in tables_in(log.plan))
        stays.intersection_update(self.tables)
        if stays and stays <= self._stopped(log) | journal.journal.resets and not self.world.faults.on:
            self.world.counters["all tables of a log had stopped"] += 1  # only a new start of the whole job helps
            self.given_up |= set(self.tables)
        stays -= journal.journal.resets
        for one in change_decisions.waiting_in(records):
            if not one.alone:
                if stays <= {one.table}:
                    continue  # a log cannot leave all of its tables
                stays.discard(one.table)
            if self.world.faults.on and stream.chance(0.4):
                continue
            wish = stream.pick((RequestKind.APPROVE, RequestKind.APPROVE, RequestKind.REJECT))
            if not self.world.faults.on or stream.chance(0.7):
                self.targets[one.table].refused.clear()
            request = ControlRequest(f"r{one.id}", wish, "", name=one.id, by="a person")
            _, lines = change_decisions.decided(request, records, self.world.now)
            assert lines, f"{one.id} waits, and is not found"
            self._write(journal, *lines)
            self.world.counters[situations.DECIDED.format(wish.value)] += 1

    def _rule(self, records: Mapping[str, CheckpointRecord], journal: JournalFile) -> None:
        """A person adds a rule about all changes, or removes it. Changes that wait are left to persons: a log cannot
        leave all of its tables."""
        stream, rules = self._rules, rule_decisions.active(journal.journal)
        if self.policy.behavior is not SchemaBehavior.INBOX:
            return
        if rules and self.world.faults.on and stream.chance(0.2):
            self._write(journal, removed_rule_line({"rule": rules[0].id, "by": "a person", "at": self.world.now}))
        elif not rules and not change_decisions.waiting_in(records) and stream.chance(0.5):
            name, approves = f"r{len(journal.journal.rules)}", stream.chance(0.6)
            rule = ChangeRule(name, ".*", tuple(SchemaEvent), approves, "a person", self.world.now)
            self._write(journal, rule_line(rule.to_plain()))

    @staticmethod
    def _write(journal: JournalFile, *lines: Mapping[str, object]) -> None:
        journal.append(lines)
        for line in lines:
            journal.journal.apply(line)

    def _look(self, record: CheckpointRecord | None) -> None:
        """Tables that get no more rows, and wait for no decision, are copied again, and those that could not join."""
        held = set() if record is None else names_of(one.path for one in held_in(record.plan))
        self._resets |= (self._stopped(record) - held | self._apart) - self.given_up

    def _stopped(self, record: CheckpointRecord | None) -> set[str]:
        if record is None:
            return set()
        refused = names_of(refused_in(record.plan))
        out = {name for name in self.tables if f"{logged_node(name)}<{LOG_NODE}" in record.topology.detached}
        return refused | out

    def reset_written(self, key: str, *, begins: bool) -> None:
        """The journal says that a table is copied again, or has joined."""
        (self.open_resets.add if begins else self.open_resets.discard)(key)
        self.world.counters[situations.COPIED] += not begins

    def confirms(self, position: Position, machine: PipelineMachine) -> None:
        """A reader tells the server that the log before this place is not needed any more."""
        place = number_of(position)
        line = self.world.lines.get(LOG_PIPELINE)
        assert line is not None, "a log is read before its first record"
        line.tell("confirmed", place, machine)
        self.database.confirm(place)

    def asked(self, unit: Unit) -> None:
        """A unit of the log whose result may count was read."""
        assert unit.split is not None
        self.database.asked(unit.id, begin_of(unit.split) if unit.start is None else number_of(unit.start))

    # ---------------------------------------------------------------- wishes

    def begin_wishes(self) -> None:
        stream = self._stream
        kinds: dict[str, Callable[[], bool]] = {
            situations.ADDED: self._add, situations.REMOVED: self._remove, situations.RESET: self._reset,
            situations.REORDERED: self._reorder,
        }  # fmt: skip
        for _ in range(stream.between(0, WISHES_MAX)):
            wish = stream.pick([*kinds, situations.ADDED, situations.RESET])
            self.world.later(0.3 + stream.draw() * WISH_SECONDS, self._wish, wish, kinds[wish])

    def _wish(self, name: str, perform: Callable[[], bool]) -> None:
        world = self.world
        if not perform():
            return
        world.counters[name] += 1
        process = world.processes[-1] if world.processes else None
        if process is not None and process.alive and not process.job.stopped_by:
            stop(process)

    def _add(self) -> bool:
        if not self._later:
            return False
        self.tables.append(self._later.pop(0))
        return True

    def _remove(self) -> bool:
        if len(self.tables) == 1:
            return False
        self.tables.remove(self._stream.pick(self.tables))
        return True

    def _reorder(self) -> bool:
        self.tables.reverse()
        return len(self.tables) > 1

    def _reset(self) -> bool:
        self._resets.add(self._stream.pick(self.tables))
        return True

    # ---------------------------------------------------------------- the end

    def is_whole(self, name: str) -> bool:
        """Whether a target has all rows of its table."""
        history = self.database.history
        return len(self.targets[name].places) == len(history.places(name))

    @property
    def written(self) -> bool:
        """Whether the log is written to its end."""
        return self.database.end == len(self.database.history.owners)

    @property
    def whole(self) -> bool:
        """Whether all tables of the job file have arrived, but for those that are given up."""
        return self.written and all(name in self.given_up or self.is_whole(name) for name in self.tables)

    def looks_at(self, process: Process) -> bool:
        """Whether the log has brought all that it can bring: then it is stopped. One that is about to change its tables
        is not, or no driver would come so far."""
        machine = process.job.pipelines[LOG_PIPELINE]
        if machine.state.awaits_record:
            return False
        at_work = [one.key for one in process.job.pipelines.values() if one.key not in process.job.closed]
        stopped = self._stopped(machine.newest) | set(process.job.logs.apart) | self.given_up
        closed = (one for key, one in process.job.pipelines.items() if key in process.job.closed)
        stopped |= {one.key for one in closed if one.shown_state is not TableState.DONE}
        left = {name for name in self.tables if not self.is_whole(name)}
        return at_work == [LOG_PIPELINE] and self.written and left <= stopped

    def ended(self, process: Process) -> bool:
        """Whether nothing is left to be done by another driver."""
        self._apart |= set(process.job.logs.apart).intersection(self.tables)
        failure = process.job.pipelines[LOG_PIPELINE].failure
        if failure is not None and failure.remedy.startswith(NO_TABLE_LEFT):
            self.start_refused()
        stopped = failure is not None and any(one in failure.message for one in STOPPED)
        self._stops = self._stops + 1 if stopped and not self.world.faults.on else 0
        if self._stops == STOPS_MAX:
            self.world.counters["all tables of a log had stopped"] += 1  # only a new start of the whole job helps
            self.given_up |= set(self.tables)
        return self.whole and self.open_resets.intersection(self.tables) <= self.given_up


def log_states(planner: Planner) -> list[object]:
    return [planner.log.state, *(one.state for one in planner.copies.values())]


def ledgers_of(target: TargetTable) -> tuple[object, object]:
    return target.copied, target.logged
