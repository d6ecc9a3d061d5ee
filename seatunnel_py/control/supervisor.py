"""The supervisor: starts what waits, notes what has ended, and restores the runs that are wished.

Rules. (1) An intent is committed before its process is made; the directory of the run shows the outcome, so a server
that dies at any moment leaves one driver or none, and one that was overtaken by another leader starts none. (2) The end
of a driver, the new counts of its wish and the next start are one transaction. (3) Runs that were started by hand are
shown, and never restarted. (4) Waits are monotonic times. After a restart of the server they start again: too late is
harmless. (5) While the database cannot be written, or the home is away, nothing is started and nothing is taken for
ended; it is noted later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from seatunnel_py.control.backoff import FIRST_SECONDS, backoff_seconds
from seatunnel_py.control.ending.forced_end_performer import ForcedEndPerformer
from seatunnel_py.control.intent_progress import Progress, ProgressKind, StartEvidence, progress
from seatunnel_py.control.launching import Launch, Launcher, LaunchError, ProcessEnd
from seatunnel_py.control.notify.run_notes import RunNotes
from seatunnel_py.control.restart_policy import EndKind, RestartDecision, RunEnd, decide, end_kind
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.start_order import StartFacts, StartLimits, WaitingStart, order
from seatunnel_py.control.store import intents, queue, wishes
from seatunnel_py.control.store.audit import SUPERVISOR, Act
from seatunnel_py.control.store.database import AuditedWrite, Database, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.intents import Intent, IntentState, StartKind, StartOptions, StartWish
from seatunnel_py.control.store.queue import QueueEntry
from seatunnel_py.control.store.wishes import Wish
from seatunnel_py.errors import ExitCode, SeaTunnelError, first_line

TRIES_MAX = 3
"""How often a start is asked again that a crash of the server has lost."""


class Machine(Protocol):
    """The machine of the supervisor: monotonic seconds, wall-clock seconds, a number from 0 to 1, and the id
    of this start of the machine."""

    def clock(self) -> float: ...

    def now(self) -> float: ...

    def random(self) -> float: ...

    def boot(self) -> str: ...


@dataclass(slots=True)
class Supervisor:
    """``launch_of``: what is to be started for an intent; it may raise SeaTunnelError; ``notes``: reports the acts."""

    database: Database
    index: RunIndex
    launcher: Launcher
    machine: Machine
    launch_of: Callable[[Intent], Launch]
    limits: Callable[[], StartLimits] = StartLimits
    notes: RunNotes | None = None
    waiting: Sequence[WaitingStart] = ()
    fault: str = ""
    _known_since: dict[int, float] = field(default_factory=dict)
    _alive_since: dict[tuple[str, str], float] = field(default_factory=dict)
    _ends: dict[str, ProcessEnd] = field(default_factory=dict)
    _not_before: dict[str, float] = field(default_factory=dict)
    _spawned_at: float = float("-inf")
    _boot_delay: float | None = None
    _forced: ForcedEndPerformer = field(init=False)

    def __post_init__(self) -> None:
        self._forced = ForcedEndPerformer(
            self.database, self.index, self.launcher, self.machine.clock, self.machine.now
        )

    def adopt(self) -> None:
        """Read all runs at the start of the server, or when it begins to lead. Waits start again."""
        self._known_since, self._alive_since, self._not_before, self._boot_delay = {}, {}, {}, None
        self.index.scan()
        self.turn()

    def follow(self) -> None:
        """Look at the runs and at the queue of another server, which leads; called in place of ``turn``."""
        self._look()
        facts = StartFacts(0, frozenset(), float("inf"), closed="the server that leads, which begins it")
        try:
            with self.database.reading() as connection:
                self.waiting = order(queue.entries(connection), facts, StartLimits()).waiting
            self.fault = ""
        except StoreUnreadableError as error:
            self.fault = error.message

    def _look(self) -> None:
        for end in self.launcher.ends():
            self._ends[end.run] = end
            self.index.look(end.run)
        self.index.poll()

    def turn(self) -> None:
        """Do what is due; called at least once a second. ``fault``: why nothing can be decided."""
        self._look()
        if self.index.away:
            self.fault = f"the home {self.index.home.path} is away"
            return
        try:
            self._judge()
            self._forced.turn()
            self._begin_next()
            self.fault = ""
        except (StoreUnwritableError, StoreUnreadableError) as error:
            self.fault = error.message

    def _judge(self) -> None:
        with self.database.reading() as connection:
            started = intents.in_states(connection, (IntentState.STARTING, IntentState.STARTED))
        now = self.machine.clock()
        for intent in started:
            starting = intent.state is IntentState.STARTING
            row = self.index.look(intent.run) if starting else self.index.row(intent.run)
            if row is not None and row.alive:
                self._alive_since.setdefault((row.run, row.driver), now)
            waited = now - self._known_since.setdefault(intent.id, now)
            child = self.launcher.child_of(intent.run) is not None
            step = progress(intent, StartEvidence(row, child, self._ends.get(intent.run), waited))
            if step.kind is not ProgressKind.WAIT and self.index.look_at_home():
                self._go_on(intent, step, row)

    def _go_on(self, intent: Intent, step: Progress, row: RunRow | None) -> None:
        if step.kind is ProgressKind.STARTED:
            with self.database.writing() as connection:
                begun = intents.move(connection, intent.id, IntentState.STARTED)
                if self.notes is not None:
                    self.notes.begun(connection, begun, row)
            if row is not None and not row.alive:  # it has ended since
                self._judge_again(begun, row)
        elif step.kind is ProgressKind.NOT_STARTED:
            self._ask_again(intent)
        else:
            self._end(intent, step, row)

    def _judge_again(self, intent: Intent, row: RunRow) -> None:
        child = self.launcher.child_of(intent.run) is not None
        step = progress(intent, StartEvidence(row, child, self._ends.get(intent.run), 0.0))
        if step.kind is ProgressKind.ENDED:
            self._end(intent, step, row)

    def _end(self, intent: Intent, step: Progress, row: RunRow | None, why: str = "") -> None:
        """Note the end of a driver, and decide about the next one, in one transaction."""
        ended = self._ends.get(intent.run)
        why = why or (ended.memory if ended is not None else "")
        end = self._end_of(intent, step, row, why)
        now = self.machine.now()
        noted = {"exit_code": step.exit_code, "signal": step.signal, "ended_at": now}
        act = Act(SUPERVISOR, "run.ended", intent.run, revision=intent.revision, result=str(end.kind))
        with self.database.acting(act) as write:
            intents.move(write.connection, intent.id, IntentState.ENDED, **noted)
            before = wishes.of_definition(write.connection, intent.definition)
            decision = RestartDecision(Wish(intent.definition), restore=False)
            if before.run == intent.run:
                decision = decide(before, end)
                wishes.keep(write.connection, decision.wish, now)
                write.note(result="; ".join(filter(None, (str(end.kind), why, decision.wish.held))))
                if decision.restore:
                    self._add_next(write, intent, row, now)
            if self.notes is not None:
                self.notes.ended(write.connection, intent, row, end, decision.wish, restores=decision.restore)
        self._ends.pop(intent.run, None)
        self._not_before.pop(intent.run, None)
        self._alive_since = {key: since for key, since in self._alive_since.items() if key[0] != intent.run}

    def _end_of(self, intent: Intent, step: Progress, row: RunRow | None, why: str) -> RunEnd:
        process = row.process if row is not None else None
        boot = process is not None and bool(self.machine.boot()) and process.boot != self.machine.boot()
        since = self._alive_since.get((intent.run, row.driver if row else ""), self.machine.clock())
        kind = end_kind(step.exit_code, boot_differs=boot)
        if row is None and intent.state is IntentState.STARTED:
            return RunEnd(EndKind.STOPPED, cause="its directory was deleted")  # nothing is left to go on with
        new = row is not None and row.driver != intent.previous_driver
        cause, position = (row.cause or why, row.position) if row is not None and new else (why, "")
        return RunEnd(kind, self.machine.clock() - since, cause, position)

    def _add_next(self, write: AuditedWrite, intent: Intent, row: RunRow | None, now: float) -> None:
        """The next start: a restore, or the same again where no driver has made a directory."""
        kind, options = intent.kind, intent.options
        if row is not None:
            kind, options = StartKind.RESTORE, StartOptions(options.variables, options.environment)
        wish = StartWish(intent.run, intent.definition, intent.revision, kind, options, SUPERVISOR)
        queue.put(write.connection, intents.add(write.connection, wish, now), now)

    def _ask_again(self, intent: Intent) -> None:
        """A start that was lost: ask for it again, unless that was done often."""
        now = self.machine.now()
        act = Act(SUPERVISOR, "run.not-started", intent.run, revision=intent.revision)
        with self.database.acting(act) as write:
            intents.move(write.connection, intent.id, IntentState.NOT_STARTED, ended_at=now)
            lost = [one.state for one in intents.of_run(write.connection, intent.run)].count(IntentState.NOT_STARTED)
            if lost < TRIES_MAX:
                wish = StartWish(
                    intent.run, intent.definition, intent.revision, intent.kind, intent.options, intent.asked_by
                )
                queue.put(write.connection, intents.add(write.connection, wish, now), now)
                write.note(result="asked again")
            elif self.notes is not None:
                self.notes.lost(write.connection, intent)

    def _begin_next(self) -> None:
        with self.database.reading() as connection:
            entries = queue.entries(connection)
            started = intents.in_states(connection, (IntentState.STARTING, IntentState.STARTED))
            failures = {one.run: one.failures for one in wishes.every(connection) if one.run is not None}
        facts = self._facts(entries, started, failures)
        found = order(entries, facts, self.limits())
        self.waiting = found.waiting
        if found.next is not None:
            self._begin(found.next.intent)

    def _facts(
        self, entries: Sequence[QueueEntry], started: Sequence[Intent], failures: Mapping[str, int]
    ) -> StartFacts:
        now = self.machine.clock()
        alive = {row.run for row in self.index.rows() if row.alive}
        on_their_way = {intent.run for intent in started}
        children = {entry.intent.run for entry in entries if self.launcher.child_of(entry.intent.run) is not None}
        delays = {}
        for entry in entries:
            run = entry.intent.run
            if entry.intent.asked_by == SUPERVISOR:
                if run not in self._not_before:
                    self._not_before[run] = now + self._delay(failures.get(run, 0))
                delays[run] = self._not_before[run] - now
        return StartFacts(
            len(alive | on_their_way), frozenset(alive | on_their_way | children), now - self._spawned_at, delays
        )

    def _delay(self, failures: int) -> float:
        """After a start of the machine nothing has failed. All runs wait for the same short time, so that they keep
        their order, and other machines that have started with this one have another."""
        random = self.machine.random()
        if failures:
            return backoff_seconds(failures, random)
        if self._boot_delay is None:
            self._boot_delay = FIRST_SECONDS * random
        return self._boot_delay

    def _begin(self, intent: Intent) -> None:
        row = self.index.look(intent.run)
        if (row is not None and row.alive) or not self.index.look_at_home():
            return  # started by hand in this moment, or its home is away
        with self.database.writing() as connection:
            taken = queue.take(connection, intent.id, row.driver if row is not None else "", self.database.fence)
        self._ends.pop(intent.run, None)
        self._known_since[intent.id] = self._spawned_at = self.machine.clock()
        try:
            launch = self.launch_of(taken)
            self.database.confirm()  # the next leader asks for a start again that has no driver
            pid = self.launcher.spawn(launch)
        except StoreUnwritableError:
            raise
        except (LaunchError, SeaTunnelError) as error:
            why = error.message if isinstance(error, SeaTunnelError) else str(error)
            self._end(taken, Progress(ProgressKind.ENDED, ExitCode.FAILED), row, f"not started: {first_line(why)}")
            return
        with self.database.writing() as connection:
            intents.spawned(connection, intent.id, pid)
