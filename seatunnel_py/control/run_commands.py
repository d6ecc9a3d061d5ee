"""Acts of a person on runs: start, restore, stop, cancel, savepoint, and the policy of a definition.

Rules. (1) Each act and its audit row are one transaction. (2) A driver gets requests only as records in the directory
of its run (``runtime/control/requests.py``), as from the command line. (3) A run that a person stops is not wished any
more, so the supervisor leaves it.
"""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock

from sqlalchemy import Connection

from seatunnel_py.config.resolve import nearest
from seatunnel_py.control.launching import Launch, Launcher, LaunchError, replay_name
from seatunnel_py.control.restart_policy import released
from seatunnel_py.control.run_index import STALLED, RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store import definitions, forced_ends, intents, kept_keys, queue, wishes
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import AuditedWrite, Database
from seatunnel_py.control.store.forced_ends import ForcedEnd
from seatunnel_py.control.store.intents import Intent, IntentState, StartKind, StartOptions, StartWish
from seatunnel_py.control.store.kept_keys import KeptKey
from seatunnel_py.control.store.wishes import RestartPolicy, Wish
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.redaction import is_secret, secrets_in
from seatunnel_py.runtime.control.requests import (
    FOLDER,
    ControlAnswer,
    ControlRequest,
    RequestKind,
    RequestStore,
    request_id,
)
from seatunnel_py.runtime.observe.run_summary import NOT_ENDED
from seatunnel_py.runtime.storage.job_directory import JobDirectory
from seatunnel_py.runtime.storage.local_storage import LocalStorage

ENDING = (RequestKind.STOP, RequestKind.CANCEL)
SENT = (RequestKind.SAVEPOINT, *ENDING)
ID_CHARACTERS = 60


class UnknownRunError(SeaTunnelError):
    """There is no such run, or it was not started by this server."""


class RunStateError(SeaTunnelError):
    """The run is not in a state for this act."""


class DriverEndsError(RunStateError):
    """The run has ended, and its driver is about to."""


@dataclass(frozen=True, slots=True)
class RunCommands:
    """Acts on the runs of ``index``. ``now``: wall-clock seconds; ``asked``: called once a start waits. Each method
    takes the ``Act`` for the audit; it fills in object, revision and digest."""

    database: Database
    index: RunIndex
    now: Callable[[], float]
    launcher: Launcher
    asked: Callable[[], None] = lambda: None
    _sending: Lock = field(default_factory=Lock)

    def start(
        self,
        definition: str,
        options: StartOptions,
        act: Act,
        *,
        key: str = "",
        body_digest: str = "",
        priority: int = 0,
        run: str = "",
        revision: int = 0,
    ) -> Intent:
        """Ask for a new run of a definition; it waits in the queue for its turn. The same ``key`` again returns the
        same intent. ``run``: its id, made up if empty; ``revision``: 0: the newest. Raises UnknownDefinitionError,
        IdempotencyKeyError, RunStateError for an id that is taken, and SeaTunnelError for a secret among the
        variables."""
        require_no_secret(options)
        wish = StartWish(run, definition, revision, StartKind.NEW, options, act.actor, key, body_digest)
        with self.database.acting(replace(act, object=definition)) as write:
            intent = self.start_within(write, wish, priority)
        self.asked()
        return intent

    def start_within(self, write: AuditedWrite, asked: StartWish, priority: int = 0) -> Intent:
        """``start`` within a transaction of the caller. Raises as ``start``."""
        now, connection = self.now(), write.connection
        revision = definitions.found(connection, asked.definition).newest
        if asked.revision:
            revision = definitions.revision(connection, asked.definition, asked.revision)
        if asked.run and (self.index.look(asked.run) is not None or intents.of_run(connection, asked.run)):
            raise RunStateError(f"there is a run {asked.run!r} already", "choose another id, or restore that run")
        run = asked.run or new_run_id(asked.definition, now)
        intent = intents.add(connection, replace(asked, run=run, revision=revision.number), now)
        write.note(object=intent.run, revision=intent.revision, digest=revision.digest)
        if intent.run == run:
            queue.put(connection, intent, now, priority)
            self._wish(connection, asked.definition, run, now)
        else:
            write.note(result="the same request again")
        return intent

    def restore(
        self,
        run: str,
        act: Act,
        *,
        accept_changes: bool = False,
        priority: int = 0,
        revision: int | None = None,
        key: str = "",
        body_digest: str = "",
    ) -> Intent:
        """Ask for the next driver of a run, from its newest checkpoint, with the revision that it had, or with another
        one. The same ``key`` again returns the same intent. Raises UnknownRunError for a run that was not started by
        the server, RunStateError while a driver is alive, UnknownDefinitionError and IdempotencyKeyError."""
        now = self.now()
        with self.database.acting(replace(act, object=run)) as write:
            if (before := intents.repeated(write.connection, key, body_digest, now)) is not None:
                write.note(revision=before.revision, result="the same request again")
                return before
            last, row = self._restorable(write.connection, run)
            number = last.revision if revision is None else revision
            definitions.revision(write.connection, last.definition, number)
            kind, options = last.kind, last.options
            if row is not None:  # else no driver has made its directory yet
                kind, options = StartKind.RESTORE, replace(options, accept_changes=accept_changes, only=(), restore="")
            wish = StartWish(run, last.definition, number, kind, options, act.actor, key, body_digest)
            intent = intents.add(write.connection, wish, now)
            queue.put(write.connection, intent, now, priority)
            self._wish(write.connection, last.definition, run, now)
            write.note(revision=number)
        self.asked()
        return intent

    def repeated(self, key: str, body_digest: str) -> Intent | None:
        """The start that the same request has asked for; None: there is none. Raises IdempotencyKeyError."""
        if not key:
            return None
        with self.database.writing() as connection:  # a key that is too old is forgotten
            return intents.repeated(connection, key, body_digest, self.now())

    def restorable(self, run: str) -> Intent:
        """The last start of a run that may be restored now. Raises as ``restore``."""
        with self.database.reading() as connection:
            return self._restorable(connection, run)[0]

    def _restorable(self, connection: Connection, run: str) -> tuple[Intent, RunRow | None]:
        self.index.require_home()
        last, row = self._last_intent(connection, run), self.index.look(run)
        alive = row is not None and row.alive
        if row is not None and not alive and last.state is IntentState.STARTED:
            raise DriverEndsError(f"the driver of {run!r} is about to end", "ask again in a moment")
        if row is not None and row.state == NOT_ENDED:
            raise RunStateError(
                f"the driver of {run!r} is on {row.host}, and has not ended as far as this machine knows",
                f"`seatunnel jobs restore {run}` asks it first, and goes on here if it does not answer",
            )
        if alive or last.state in intents.OPEN:
            raise RunStateError(f"the run {run!r} has a driver, or waits for one", "stop it first")
        return last, row

    def replayable(self, run: str, revision: int | None) -> tuple[Intent, int]:
        """The last start of a run, and the revision for its bad rows: the newest, if none is given. Raises
        UnknownRunError and UnknownDefinitionError."""
        with self.database.reading() as connection:
            last = self._last_intent(connection, run)
            if revision is None:
                return last, definitions.found(connection, last.definition).newest.number
            return last, definitions.revision(connection, last.definition, revision).number

    def replay(
        self, last: Intent, revision: int, table: str, act: Act, launch_of: Callable[[Intent, int, str], Launch]
    ) -> None:
        """Start a process that delivers bad rows of a run. A crash before it is there loses nothing: the next call
        delivers them. Raises RunStateError while one is at work, and SeaTunnelError."""
        with self._sending, self.database.acting(replace(act, object=last.run, revision=revision)):
            if self.launcher.child_of(replay_name(last.run)) is not None:
                raise RunStateError(f"bad rows of {last.run!r} are being delivered", "wait for its end")
            try:
                self.launcher.spawn(launch_of(last, revision, table))
            except LaunchError as error:
                raise SeaTunnelError(f"no process could be made: {error}", "look at the limits of this user") from None

    def _wish(self, connection: Connection, definition: str, run: str, now: float) -> None:
        before = wishes.of_definition(connection, definition)
        wishes.keep(connection, replace(released(before), run=run), now)

    def _last_intent(self, connection: Connection, run: str) -> Intent:
        found = intents.of_run(connection, run)
        if not found:
            raise UnknownRunError(
                f"this server has not started the run {run!r}",
                f"`seatunnel jobs restore {run}` on the machine of the server resumes it",
            )
        return found[0]

    def send(
        self,
        run: str,
        kind: RequestKind,
        act: Act,
        *,
        name: str = "",
        tables: tuple[str, ...] = (),
        seconds: float = 60.0,
        key: str = "",
        body_digest: str = "",
        forced: bool = False,
    ) -> str:
        """Send a request to the driver of a run, one of ``SENT``; return its id. The same ``key`` again returns the
        same one. ``forced``: a driver that has not ended after ``seconds`` is killed. Raises UnknownRunError,
        RunStateError if no driver is alive, and IdempotencyKeyError. A start that waits is dropped instead by
        ``drop``."""
        assert kind in SENT, kind
        self.index.require_home()
        row, place = self.index.look(run), self.index.place(run)
        if row is None or place is None:
            raise self._unknown(run)
        store = RequestStore(LocalStorage(place.path))
        with self._sending:  # the same request may come twice at the same moment
            kept = self._kept(key, body_digest)
            if kept is not None and (kept.driver != row.driver or not row.alive or store.asked(kept.made)):
                return kept.made
            if not row.alive or not row.driver:
                raise RunStateError(f"no driver of the run {run!r} is alive: it is {row.state}")
            id = request_id() if kept is None else kept.made  # one that a crash of the server has lost is sent again
            with self.database.acting(replace(act, object=run)) as write:
                if kept is not None:
                    write.note(result="the same request again")
                if key:
                    kept_keys.keep(write.connection, KeptKey(key, body_digest, id, row.driver, self.now()))
                if kind in ENDING and not tables:
                    self._give_up(write.connection, run)
                if forced:
                    wish = ForcedEnd(run, row.driver, act.actor, act.address, act.request, self.now(), seconds)
                    forced_ends.keep(write.connection, wish)
            store.ask(ControlRequest(id, kind, row.driver, name, tables, seconds))
        return id

    def require_begun(self, run: str) -> None:
        """Raise RunStateError for a run whose first driver is still to come: it has no directory for requests."""
        if self.index.look(run) is not None:
            return
        with self.database.reading() as connection:
            found = intents.of_run(connection, run)
        if found:
            raise RunStateError(
                f"the run {run!r} has no driver yet: its start is {found[0].state}",
                f"DELETE /api/v1/queue/{run} drops a start that is WAITING; ask again in a moment if it is STARTING",
            )

    def _kept(self, key: str, body_digest: str) -> KeptKey | None:
        if not key:
            return None
        with self.database.reading() as connection:
            return kept_keys.found(connection, key, body_digest, self.now())

    def kill(self, run: str, act: Act) -> None:
        """Kill a driver that hangs: it is STALLED, or has not answered a request to end in time. Raises RunStateError
        for another one, and where its process is not known or not on this machine."""
        self.index.require_home()
        row, place = self.index.look(run), self.index.place(run)
        if row is None or place is None:
            raise self._unknown(run)
        open_requests = RequestStore(LocalStorage(place.path)).open()
        ignored = [
            one for one in open_requests if one.wish in ENDING and one.run == row.driver and self._late(place, one)
        ]
        with self.database.acting(replace(act, object=run)):
            if not row.alive or (row.state != STALLED and not ignored):
                raise RunStateError(
                    f"the run {run!r} is {row.state}, and no request to end it is late", "stop it, or cancel it, first"
                )
            if row.process is None or not self.launcher.signal(row.process, signal.SIGKILL):
                raise RunStateError(f"the process of the driver of {run!r} is not known on this machine")

    def _late(self, place: JobDirectory, request: ControlRequest) -> bool:
        with suppress(OSError):
            asked = (place.path / FOLDER / f"{request.id}.request").stat().st_mtime
            return self.now() - asked >= request.seconds
        return False

    def answer(self, run: str, request: str) -> ControlAnswer | None:
        """The answer of the driver; None: there is none yet. Raises UnknownRunError."""
        place = self.index.place(run)
        if place is None:
            raise self._unknown(run)
        if not request.isalnum():
            raise SeaTunnelError(f"{request!r} is not the id of a request")
        return RequestStore(LocalStorage(place.path)).answered(request)

    def _give_up(self, connection: Connection, run: str) -> None:
        """The run is not to be kept running any more; a start that waits for it is dropped."""
        for intent in intents.of_run(connection, run):
            wish = wishes.of_definition(connection, intent.definition)
            if wish.run == run:
                wishes.keep(connection, replace(wish, run=None), self.now())
            if intent.state is IntentState.WAITING:
                queue.drop(connection, intent.id)

    def drop(self, run: str, act: Act) -> Intent:
        """Take the waiting start of a run out of the queue. Raises UnknownRunError, and RunStateError if none waits."""
        with self.database.acting(replace(act, object=run)) as write:
            last = self._last_intent(write.connection, run)
            if last.state is not IntentState.WAITING:
                remedy = "ask again in a moment" if last.state is IntentState.STARTING else "stop it, or cancel it"
                raise RunStateError(f"the run {run!r} is not in the queue: its start is {last.state}", remedy)
            self._give_up(write.connection, run)
            return intents.found(write.connection, last.id)

    def prioritise(self, run: str, priority: int, act: Act) -> Intent:
        """Give the waiting start of a run another priority; a higher one goes first."""
        with self.database.acting(replace(act, object=run)) as write:
            last = self._last_intent(write.connection, run)
            queue.prioritise(write.connection, last.id, priority)
            return last

    def set_policy(self, definition: str, policy: RestartPolicy, act: Act) -> Wish:
        """Change when runs of a definition are restored. Raises UnknownDefinitionError."""
        with self.database.acting(replace(act, object=definition)) as write:
            definitions.found(write.connection, definition)
            wish = replace(wishes.of_definition(write.connection, definition), policy=policy)
            wishes.keep(write.connection, wish, self.now())
        return wish

    def release(self, definition: str, act: Act) -> Intent:
        """Restore the run of a definition that is HELD, because a person has looked. Raises RunStateError if it is
        not."""
        with self.database.reading() as connection:
            wish = wishes.of_definition(connection, definition)
        if not wish.held or wish.run is None:
            raise RunStateError(f"no run of {definition!r} is HELD")
        return self.restore(wish.run, act)

    def _unknown(self, run: str) -> UnknownRunError:
        near = nearest(run, [row.run for row in self.index.rows()])
        return UnknownRunError(f"there is no run {run!r}", f"did you mean {near!r}?" if near else "")


def new_run_id(definition: str, now: float) -> str:
    """A new id for a run of a definition."""
    when = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    return f"{definition[:ID_CHARACTERS]}-{when}-{secrets.token_hex(3)}"


def require_no_secret(options: StartOptions) -> None:
    """Raises SeaTunnelError for a variable with a secret: it would be stored, and seen in the list of processes."""
    for name, value in options.variables.items():
        if is_secret(name) or secrets_in(value):
            raise SeaTunnelError(
                f"the variable {name!r} would hold a secret", "refer to it in the definition: ${env:NAME}, ${file:NAME}"
            )
        if "\0" in value or not value.isprintable() or '"' in value:
            raise SeaTunnelError(f"the variable {name!r} has a quote, or characters that cannot be printed")
