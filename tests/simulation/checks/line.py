"""A pipeline over all its drivers: what is durable of it, who watches it, and what they are told.

Letters between coordinator and participants are seen as the machine handles them; records, lines of the journal and
commits as the store, the journal and the targets take them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import Position
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.participant.messages import Restored
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.storage.journal import Journal
from seatunnel_py.runtime.values.split_progress import took_of
from tests.simulation.checks.all import CHECKERS
from tests.simulation.checks.checker import COORDINATOR, PARTICIPANT
from tests.simulation.checks.drivers import Driver, Node, Shown
from tests.simulation.checks.observer import Observer
from tests.simulation.followed import situations
from tests.simulation.jobs.rows import Identity, expected, identity, rows_of_splits
from tests.simulation.jobs.shapes import Job
from tests.simulation.jobs.targets import Answer, SimulatedLedger, ledgers
from tests.simulation.violation import JobViolationError

if TYPE_CHECKING:
    from tests.simulation.world import World


class Line:
    """``ever``: records that were durable, by number; ``records``: those that were not deleted; ``newest``: what a driver
    has to go on from; ``completed``: records that are on the way to it; ``marked``: the newest record in the journal;
    ``doubted``: records that are there, of which their driver has heard the contrary; ``journal``: what units took, by
    subtask and number; ``floor``: forgotten up to here, for a record holds it; ``done``: set-up units. A pipeline that
    finishes an isolated sink goes on from ``before``."""

    def __init__(self, world: World, key: str, job: Job) -> None:
        self.world, self.key, self.job = world, key, job
        self.elastic = job.elastic
        name = job.pipeline.name
        self.before = None if key == name else world.line(name)
        self.drivers: list[Driver] = []
        self.ever: dict[int, CheckpointRecord] = {}
        self.records: dict[int, CheckpointRecord] = {}
        self.deleted: set[int] = set()
        self.newest: CheckpointRecord | None = None
        self.completed: list[CheckpointRecord] = []
        self.doubted: dict[int, CheckpointRecord] = {}
        self.doubted_before: dict[int, CheckpointRecord] = {}  # when the newest record was stored
        self.persisting: dict[int, Driver] = {}
        self.marked = 0
        self.journal: dict[Subtask, dict[int, tuple[Any, int, Any]]] = {}
        self.epochs: dict[Subtask, int] = {}  # of the life that each subtask has begun last
        self.floor: dict[Subtask, int] = {}
        self.done: set[str] = set()
        self.sent: dict[tuple[int, str, int], tuple[Driver, Shown, Any]] = {}
        self.apart: set[str] = set()
        self.unrecoverable: set[str] = set()  # sinks that no driver finishes, and whose receipt says so
        """Scopes whose sinks were isolated: another pipeline finishes them."""
        self.setting_up: dict[str, Line] = {}
        """Whose start effects those of a sink are."""
        self.again: set[str] = set()
        """Sinks that may show rows twice."""
        self.seen: dict[str, set[Identity]] = {}
        """Rows that are visible, by sink."""
        self.targets = ledgers(job.pipeline)
        self.follows = job.followed is not None and job.pipeline.log is not None
        """Whether it follows a log whose tables come and go."""
        self._rows_of = {} if job.followed is not None else rows_of_splits(job.pipeline)
        self._hooks: dict[Any, list[Callable[..., None]]] = defaultdict(list)
        self.facts = Observer(self)
        for watching in (*(kind(self) for kind in CHECKERS), self.facts):
            for kind, hook in watching.hooks().items():
                self._hooks[kind].append(hook)
        if self.before is None:
            for node, ledger in self.targets.items():
                ledger.seen = partial(self._saw, node, ledger)

    # ---------------------------------------------------------------- what is told

    def tell(self, kind: Any, *arguments: Any) -> None:
        for hook in self._hooks.get(kind, ()):
            hook(*arguments)

    def heard(self, driver: Driver, event: Any, commands: tuple[Any, ...]) -> None:
        """The coordinator has handled an event; its commands are not performed yet."""
        self._trace(driver, driver.name, event, commands)
        hooks = self._hooks
        self.facts.heard(driver, event, commands)
        for hook in hooks[COORDINATOR]:
            hook(driver, event, commands)
        for hook in hooks.get(type(event), ()):
            hook(driver, None, event, commands)
        for command in commands:
            for hook in hooks.get(type(command), ()):
                hook(driver, None, command)

    def handling(self, driver: Driver, node: Node, event: Any) -> None:
        """A participant is about to handle an event."""
        if type(event) is Restored:
            self.facts.restores(driver, node, event)
            self.tell("lives", driver, node, event)

    def handled(self, driver: Driver, node: Node, event: Any, commands: tuple[Any, ...]) -> None:
        """A participant has."""
        self._trace(driver, node.name, event, commands)
        hooks = self._hooks
        self.facts.handled(driver, node, event, commands)
        if commands:
            for hook in hooks[PARTICIPANT]:
                hook(driver, node, event, commands)
        for hook in hooks.get(type(event), ()):
            hook(driver, node, event, commands)
        for command in commands:
            for hook in hooks.get(type(command), ()):
                hook(driver, node, command)

    def _trace(self, driver: Driver, who: str, event: Any, commands: tuple[Any, ...]) -> None:
        world = self.world
        world.events += 1
        world.limits.letter()
        if world.trace is not None:
            world.trace.event(world.now, driver.incarnation, f"{self.key} {who}", event, commands)

    # ---------------------------------------------------------------- drivers

    def current(self, driver: Driver) -> bool:
        """Whether nobody has overtaken it."""
        return self.drivers[-1] is driver and driver.incarnation == self.world.storage.owner

    def prepared(self, machine: PipelineMachine) -> Driver:
        """A machine knows from what it goes on (I17)."""
        driver = Driver(machine, len(self.drivers))
        past = machine.context.past.record
        if driver.anew or past is None:
            self._begins_anew(driver)
        else:
            self._goes_on(past)
            if self.follows:  # a table that joins counts its units from the beginning
                new = driver.whole.by_id.keys() - past.topology.by_id.keys()
                self.floor = {at: number for at, number in self.floor.items() if at.vertex not in new}
        self.drivers.append(driver)
        self.tell("driver", driver)
        return driver

    def _goes_on(self, past: CheckpointRecord) -> None:
        if self.newest is None and not self.doubted:
            return  # it is that of the pipeline before
        held = max([*self.doubted, self.newest.checkpoint if self.newest else 0])
        if past.checkpoint != held:
            raise JobViolationError(
                "I17NewestIsRestored", f"{self.key} goes on from {past.checkpoint}, newest is {held}"
            )
        if held in self.doubted:
            self.newest = self.doubted[held]
            self.completed.append(self.newest)
        self.doubted = {}

    def _begins_anew(self, driver: Driver) -> None:
        self.tell("anew", driver)
        self.newest, self.completed, self.doubted, self.doubted_before = None, [], {}, {}
        self.floor.clear()

    def doubts(self, checkpoint: int) -> None:
        """Its driver has heard that a record was not stored, which may be wrong: only a later driver goes on from it."""
        record = self.ever.get(checkpoint)
        if record is not None and any(one is record for one in self.completed):
            self.doubted[checkpoint] = record
            self.completed = [one for one in self.completed if one is not record]
            self.newest = self.completed[-1] if self.completed else None

    def hangs_on(self, checkpoint: int) -> bool:
        """Whether the next driver can go on from this record only."""
        return self.newest is not None and self.newest.checkpoint == checkpoint and not self.doubted

    def void(self) -> None:
        """No driver goes on from the newest record."""
        assert self.newest is not None, "there is none"
        gone = self.newest
        self.completed = [one for one in self.completed if one is not gone]
        self.newest = self.completed[-1] if self.completed else None
        self.doubted = {number: one for number, one in self.doubted_before.items() if number in self.records}
        self.facts.voided(gone)

    def known(self, checkpoint: int) -> CheckpointRecord | None:
        """The record of this number, also of the pipeline before it."""
        found = self.ever.get(checkpoint)
        return self.before.known(checkpoint) if found is None and self.before is not None else found

    # ---------------------------------------------------------------- records

    def stored(self, record: CheckpointRecord, answer: Answer) -> None:
        """The store has taken a record, or refused it."""
        driver = self.persisting.pop(record.checkpoint)
        if answer is Answer.DONE:
            self.ever[record.checkpoint] = self.records[record.checkpoint] = record
            self.newest, self.doubted, self.doubted_before = record, {}, self.doubted
        self.tell("stored", driver, record, answer)
        if answer is Answer.DONE:
            self.completed.append(record)

    def removes(self, checkpoint: int) -> None:
        """A driver has asked for it."""
        if self.records.pop(checkpoint, None) is not None:
            self.deleted.add(checkpoint)

    def completes(self, record: CheckpointRecord) -> None:
        """The journal forgets what it holds."""
        for subtask, snapshot in record.snapshots.items():
            self.floor[subtask] = max(self.floor.get(subtask, 0), snapshot.taken)
            mine = self.journal.get(subtask, {})
            for number in [number for number in mine if number <= snapshot.taken]:
                del mine[number]

    # ---------------------------------------------------------------- the journal

    def begins_with(self, journal: Journal) -> None:
        """A driver has read the journal."""
        self.journal = {}
        for (key, subtask), entries in journal.taken.items():
            if key == self.key:
                mine = self.journal[subtask] = {}
                for number, entry in entries.items():
                    mine[number] = entry.channel, entry.batch, entry.range
                    self._gone(subtask, entry.range)
        self.done = set(journal.done.get(self.key, ()))
        self.marked = max(self.marked, journal.marks.get(self.key, 0))

    def written(self, line: Mapping[str, Any], incarnation: int) -> None:
        """A line is durable; those of an overtaken driver have no effect."""
        if incarnation != self.world.storage.owner:
            return
        if "record" in line:
            self.marked = line["record"]
        elif "void" in line:
            for number in line["void"]:
                self.doubted.pop(number, None)
        elif "dropped" in line or "graph" in line:
            self.journal = {}
            if "dropped" in line:
                self.done = set()
        elif "done" in line:
            self.done.add(line["done"])
        elif "reset" in line:
            self.job.followed.reset_written(self.key, begins=line["reset"])
        elif "decision" in line:
            self.world.counters[situations.RULED] += line["decision"]["by"].startswith("rule ")
        elif "n" in line:
            self._taken(Subtask(*line["s"]), line)
        elif "from" in line:
            mine = self.journal.get(Subtask(*line["s"]), {})
            for number in [number for number in mine if not line["from"] <= number <= line["to"]]:
                del mine[number]

    def _taken(self, subtask: Subtask, line: Mapping[str, Any]) -> None:
        number, channel = line["n"], line.get("c")
        mine = self.journal.setdefault(subtask, {})
        edge = None if channel is None else Channel(channel[0], Subtask(*channel[1]), Subtask(*channel[2]))
        mine[number] = edge, line.get("b", 0), line.get("r")
        self._gone(subtask, line.get("r"))

    def _gone(self, subtask: Subtask, taken: Any) -> None:
        """What a unit read is durable: a source that can be read only once need not give it again, and does not."""
        if taken is None or (took := took_of(taken)).result is None or took.split is None:
            return
        at = subtask.vertex, took.split
        end, known = self.rows_between(*at, None, took.end).stop, self.world.gone.get(at, 0)
        if took.result["id"]["epoch"] + 1 < self.epochs.get(subtask, 0):  # another life has begun without this line
            self.world.lost.setdefault(at, set()).update(range(known, end))
        self.world.gone[at] = max(end, known)

    def rows_between(self, vertex: str, split: str, start: Position | None, end: Position | None) -> range:
        """Rows of a split from one position to another; None: its beginning, or its end."""
        first = int(str(start.value["n"])) if start else 0
        return range(first, int(str(end.value["n"])) if end else self._rows_of[vertex, split])

    def length(self, driver: Driver, vertex: str, split: str) -> int:
        """How many rows a split has."""
        if self.job.followed is None:
            return self._rows_of[vertex, split]
        splits = driver.machine.state.prepared.splits[vertex]
        return next(one.rows or 0 for one in splits if one.id == split)

    # ---------------------------------------------------------------- targets

    def commits(self, driver: Driver, command: Any) -> None:
        """A commit is on its way to the targets of its scope."""
        for target in driver.targets().get(command.scope, ()):
            self.root.sent[driver.incarnation, target.node, command.checkpoint] = driver, target, command

    def sets_up(self, driver: Driver, group: str) -> None:
        """Start effects are on their way."""
        for node in driver.machine.context.groups[group]:
            self.root.setting_up[node.id] = self

    @property
    def root(self) -> Line:
        """The pipeline that the job names."""
        return self if self.before is None else self.before

    def _saw(self, node: str, ledger: SimulatedLedger, what: str, *about: Any) -> None:
        if what == "committed":
            incarnation, checkpoint, pieces, answer = about
            driver, target, command = self.sent[incarnation, node, checkpoint]
            self.world.lines[driver.machine.key].tell("committed", driver, target, command, answer, pieces)
        elif what == "set up":
            if not self.follows:  # a table that joins is set up when others have rows
                self.setting_up[node].tell(what, node, ledger)
        else:
            for line in [one for one in self.world.lines.values() if one.root is self]:
                line.tell(what, node, ledger, *about)

    # ---------------------------------------------------------------- the end

    def wanted(self) -> dict[str, Counter[Identity]]:
        """What each sink must show in the end, but for tables that follow a log."""
        if self.job.followed is not None:
            return {}
        return expected(self.job.pipeline, self.world.lost)

    def missing(self) -> bool:
        """Whether some row is not in its sinks yet."""
        if self.job.followed is not None:
            return not self.job.followed.whole
        wanted = self.wanted()
        return any(
            wanted[node] - Counter(map(identity, ledger.shown))
            for node, ledger in self.targets.items()
            if node not in self.unrecoverable
        )

    @property
    def succeeded(self) -> Driver | None:
        """The last driver, if the pipeline has ended well in it, and was not only stopped before it began."""
        last = self.drivers[-1] if self.drivers else None
        return last if last is not None and last.ended is not None and last.ended.reason is None else None

    def ends(self) -> None:
        """The run is over."""
        self.tell("end")

    @property
    def kept(self) -> list[CheckpointRecord]:
        """Savepoints that are there, and known to be."""
        held = self.records
        return [one for one in self.completed if one.kind is RecordKind.SAVEPOINT and one.checkpoint in held]
