"""Assembles the control plane of a home: its lock, store, lease, index of runs, supervisor and launcher. The web layer
opens it, and closes it at its end; drivers go on.

Rules. (1) Of several servers the leader decides; it writes through ``FencedDatabase``. (2) A server that begins to lead
adopts the runs, as after a start. (3) Acts of persons are rows, which each server may write.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from seatunnel_py.api.process.file_systems import is_on_network
from seatunnel_py.control.driver_files import PROGRAM, DriverFiles, own_environment
from seatunnel_py.control.groups.driver_groups import DriverGroups
from seatunnel_py.control.launching import Launcher, environment_of
from seatunnel_py.control.leading.fenced_database import FencedDatabase
from seatunnel_py.control.leading.leadership import Leadership, LeasedLeadership, SoleLeadership
from seatunnel_py.control.local_launcher import LocalLauncher
from seatunnel_py.control.notify.notifier import Notifier
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.presence.home_identity import HomeIdentity
from seatunnel_py.control.run_commands import RunCommands
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.schedule.performer import SchedulePerformer
from seatunnel_py.control.schedule.schedule_commands import ScheduleCommands
from seatunnel_py.control.series.row_sampler import EVERY_SECONDS, RowSampler
from seatunnel_py.control.server_lock import ServerLock
from seatunnel_py.control.start_order import StartLimits
from seatunnel_py.control.store import settings
from seatunnel_py.control.store.database import Database, StoreUnreadableError
from seatunnel_py.control.store.places.postgres_store import PostgresStore
from seatunnel_py.control.store.places.sqlite_file import SqliteFile, database_file
from seatunnel_py.control.store.places.store_place import StorePlace
from seatunnel_py.control.supervisor import Machine, Supervisor
from seatunnel_py.control.warm_drivers import WarmDrivers
from seatunnel_py.errors import SeaTunnelError, worded
from seatunnel_py.runtime.observe.driver_process import boot_id
from seatunnel_py.runtime.storage.home import Home

TURN_SECONDS = 0.5
END_SECONDS = 10.0
_log = logging.getLogger("seatunnel.server")


class RealMachine:
    """``Machine`` of this process."""

    def clock(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def now(self) -> float:
        """Wall-clock seconds since 1970."""
        return time.time()

    def random(self) -> float:
        """A number from 0 to 1."""
        return random.random()

    def boot(self) -> str:
        """The id of this start of the machine."""
        return boot_id()


@dataclass(slots=True)
class ServerProcess:
    """The control plane of one home. ``due``: set if the supervisor's next turn must not wait. ``fault``: why the
    supervisor cannot do its work, empty: it can. ``warm_drivers``: how many wait for a job while this server leads."""

    home: Home
    database: Database
    index: RunIndex
    commands: RunCommands
    supervisor: Supervisor
    sampler: RowSampler
    files: DriverFiles
    lock: ServerLock
    due: threading.Event
    warm: WarmDrivers
    performer: SchedulePerformer
    schedules: ScheduleCommands
    notifier: Notifier
    leadership: Leadership
    warm_drivers: int = 0
    _term: tuple[bool, int | None] = (False, None)
    _broken: str = ""
    _turned_at: float = 0.0
    _ending: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        home: Home,
        address: str,
        *,
        machine: Machine | None = None,
        launcher: Launcher | None = None,
        environment: Mapping[str, str] | None = None,
        passed: frozenset[str] | None = None,
        program: Sequence[str] = PROGRAM,
        warm_drivers: int = 0,
        book: TargetBook | None = None,
        store: StorePlace | None = None,
    ) -> Self:
        """Take a home and open its database. ``address``: where the server answers; ``passed``: variables of its
        environment that definitions may refer to, None: all of them. ``program``: the command line of drivers;
        ``warm_drivers``: how many wait for a job; ``book``: the targets of notifications, None: there are none;
        ``store``: the place of the database, None: a file in the home. Raises ServerRunsError, NewerDatabaseError and
        StoreUnreadableError."""
        machine = machine or RealMachine()
        place = store or SqliteFile(database_file(home.path))
        lock = ServerLock.take(home.path, address, together=isinstance(place, PostgresStore))
        try:
            identity = HomeIdentity.of(home.path)
            database = opened_store(place, identity, machine.now)
        except SeaTunnelError:
            lock.release()
            raise
        due = threading.Event()
        leadership, fenced = _leading(place, database, address, due)
        index = RunIndex(home, machine.clock, is_on_network(home.path), identity.is_here, machine.now)
        own = own_environment() if environment is None else environment
        files = DriverFiles(database, home.path, own, passed, program)
        groups = DriverGroups.of_this_process()
        folder, given = home.path / "server" / "warm", environment_of(own, (), home.path)
        warm = WarmDrivers(program, given, folder, 0, machine.clock, groups=groups)
        launcher = launcher or LocalLauncher(warm, groups)
        limits = partial(limits_of, database)
        book = book or TargetBook(None, {})
        clocks = machine.clock, machine.now, machine.random
        notifier = Notifier.of(fenced, index, book, address, *clocks, lambda: leadership.leads)
        supervisor = Supervisor(fenced, index, launcher, machine, files.launch_of, limits, notifier.notes)
        commands = RunCommands(database, index, machine.now, launcher, due.set)
        sampler = RowSampler(fenced, index, machine.now)
        performer = SchedulePerformer(fenced, commands, machine.now)
        schedules = ScheduleCommands(database, commands, machine.now)
        parts = commands, supervisor, sampler, files, lock, due, warm, performer, schedules, notifier, leadership
        return cls(home, database, index, *parts, warm_drivers)

    @property
    def fault(self) -> str:
        """Why nothing can be started now; empty: it can."""
        return self._broken or self.supervisor.fault

    def turned_within(self, seconds: float) -> bool:
        """Whether the supervisor has ended a turn in the last seconds; else it hangs."""
        return self.supervisor.machine.clock() - self._turned_at <= seconds

    def start(self) -> None:
        """Adopt the runs of the home if this server leads, and go on in a thread."""
        self.leadership.begin()
        self._turn()
        self._turned_at = self.supervisor.machine.clock()
        for name, run in (("supervisor", self._run), ("series", self._sample)):
            self._threads.append(threading.Thread(target=run, name=name, daemon=True))
            self._threads[-1].start()
        self.notifier.start()

    def _run(self) -> None:
        while True:
            self.due.wait(TURN_SECONDS)
            self.due.clear()
            if self._ending.is_set():
                return
            try:
                self._turn()
                self._broken = ""
            except Exception as error:  # noqa: BLE001 - the next turn may succeed; readyz shows the fault meanwhile
                self._broken = worded(error)
            self._turned_at = self.supervisor.machine.clock()

    def _turn(self) -> None:
        before, self._term = self._term, (self.leadership.leads, self.leadership.number)
        leads = self._term[0]
        self.warm.wanted = self.warm_drivers if leads and not self.index.away else 0
        if before[0] and not leads:
            self.warm.close()
        with self.supervisor.database.term():
            if not leads:
                self.supervisor.follow()
            elif self._term != before:
                self.supervisor.adopt()
            else:
                self.performer.turn()  # first, so that its starts begin in the same turn
                self.supervisor.turn()

    def _sample(self) -> None:
        """Apart from the supervisor, whose turns must not wait for files and writes of pictures."""
        while not self._ending.wait(EVERY_SECONDS):
            try:
                self.sampler.turn()
            except Exception:  # noqa: BLE001 - the next turn may succeed, and no job depends on a picture
                _log.exception("rows could not be sampled; it is tried again")
        self.sampler.write()

    def close(self) -> None:
        """End the supervisor and close everything. Drivers go on."""
        self._ending.set()
        self.due.set()
        for thread in self._threads:
            thread.join(END_SECONDS)
        self.notifier.close()
        self.supervisor.launcher.close()
        self.leadership.end()
        self.database.close()
        self.lock.release()


def opened_store(place: StorePlace, identity: HomeIdentity, now: Callable[[], float]) -> Database:
    """Open the database of a home. Raises NewerDatabaseError, StoreUnreadableError, and SeaTunnelError for the one of
    another home."""
    database = Database.open(place, now)
    try:
        if isinstance(place, PostgresStore):
            with database.writing() as connection:
                identity.bind(connection)
    except SeaTunnelError:
        database.close()
        raise
    return database


def _leading(place: StorePlace, database: Database, address: str, due: threading.Event) -> tuple[Leadership, Database]:
    """The leadership of this server, and the database for the acts of a leader."""
    if not isinstance(place, PostgresStore):
        return SoleLeadership(address), database
    leadership = LeasedLeadership(place, address, due.set)
    return leadership, FencedDatabase(database, leadership)


def limits_of(database: Database) -> StartLimits:
    """The limits of starts, with the settings that were changed."""
    defaults = StartLimits()
    try:
        with database.reading() as connection:
            found = settings.every(connection)
    except StoreUnreadableError:
        return defaults
    return StartLimits(
        int(_number(found, "max-running", defaults.max_running)),
        float(_number(found, "spawn-seconds", defaults.spawn_seconds)),
    )


def _number(found: Mapping[str, Any], name: str, default: float) -> float:
    value = found.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else default
