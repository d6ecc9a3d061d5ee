"""A machine without real drivers: its clocks are set by tests, its drivers hold real locks on real directories."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.driver_files import DriverFiles
from seatunnel_py.control.launching import Launch, ProcessEnd
from seatunnel_py.control.leading.fenced_database import FencedDatabase
from seatunnel_py.control.leading.leadership import Leadership
from seatunnel_py.control.local_launcher import LocalLauncher
from seatunnel_py.control.notify.notice_writer import NoticeWriter
from seatunnel_py.control.notify.observer import NoticeObserver
from seatunnel_py.control.notify.run_notes import RunNotes
from seatunnel_py.control.notify.target_settings import NotifySettings
from seatunnel_py.control.run_commands import RunCommands
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.performer import SchedulePerformer
from seatunnel_py.control.schedule.schedule_commands import ScheduleCommands
from seatunnel_py.control.schedule.stored_schedules import StoredFire
from seatunnel_py.control.schedule.terms import terms_of
from seatunnel_py.control.start_order import StartLimits
from seatunnel_py.control.store import audit, definitions, intents, wishes
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import Intent, StartOptions
from seatunnel_py.control.store.outbox import deliveries
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent, event_of
from seatunnel_py.control.store.places.store_place import StorePlace
from seatunnel_py.control.store.wishes import RestartPolicy, Wish
from seatunnel_py.control.supervisor import Supervisor
from seatunnel_py.runtime.observe.driver_process import DriverProcess
from seatunnel_py.runtime.storage.home import Home
from tests.control.homes import claimed, counted, receipt

JOB = "env { job.mode = STREAMING }\nsource { FakeSource {} }\nsink { Console {} }\n"
ACT = Act("tester", "run.start")
BEAT = 10.0


class Crash(BaseException):
    """The server dies here."""


@dataclass
class Driver:
    """A driver; ``descriptor`` holds its lock."""

    run: str
    name: str
    pid: int
    descriptor: int
    hangs: bool = False


@dataclass
class World:
    """One machine with one home. ``slow``: a spawned process takes so many seconds to make its place; ``crash_at``: how
    many more steps the server does before it dies; ``shared``: other machines have the home, too; ``store``: where its
    database is, None: a file; ``present``: whether its home is there."""

    path: Path
    seconds: float = 1_000.0
    wall: float = 1_800_000_000.0
    boot_name: str = "boot-1"
    luck: float | Iterator[float] = 0.5
    slow: float = 0.0
    crash_at: int | None = None
    shared: bool = False
    store: StorePlace | None = None
    present: bool = True
    drivers: dict[str, Driver] = field(default_factory=dict)
    coming: list[tuple[float, int, Launch, Launcher]] = field(default_factory=list)
    spawned: list[tuple[float, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    signalled: list[str] = field(default_factory=list)
    checkpoints: dict[str, int] = field(default_factory=dict)
    pids: int = 100
    servers: list[Server] = field(default_factory=list)

    @property
    def home(self) -> Home:
        return Home(self.path / "home")

    def clock(self) -> float:
        return self.seconds

    def now(self) -> float:
        return self.wall

    def random(self) -> float:
        return self.luck if isinstance(self.luck, float) else next(self.luck)

    def boot(self) -> str:
        return self.boot_name

    def step(self) -> None:
        """A point at which the server may die."""
        if self.crash_at is not None:
            if self.crash_at == 0:
                raise Crash
            self.crash_at -= 1

    def arrive(self) -> None:
        """Spawned processes make their places."""
        for one in [one for one in self.coming if one[0] <= self.seconds]:
            self.coming.remove(one)
            _, pid, launch, launcher = one
            self._begin(pid, launch, launcher)

    def _begin(self, pid: int, launch: Launch, launcher: Launcher) -> None:
        place = self.home.place(launch.run)
        is_new = "restore" not in launch.command
        if (is_new and place.path.exists()) or (not is_new and not place.path.exists()) or place.running:
            self.refused.append(launch.run)
            launcher.over.append(ProcessEnd(launch.run, pid, 1, None))
            return
        name = f"driver-{pid}"
        place.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place.path / "lock", os.O_WRONLY | os.O_CREAT)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        claimed(place, name, self.wall, pid=pid, start_ticks=pid, boot=self.boot_name, host="here")
        self.drivers[launch.run] = Driver(launch.run, name, pid, descriptor)
        self.beat(launch.run)

    def by_hand(self, run: str) -> None:
        """A person starts a run on the command line."""
        self.pids += 1
        launch = Launch(run, ("seatunnel", "run"), self.path, {}, self.path / "out")
        self._begin(self.pids, launch, Launcher(self))

    def beat(self, run: str) -> None:
        """A driver writes its counters."""
        driver = self.drivers[run]
        self.pids += 1  # each write differs
        counted(self.home.place(run), driver.name, self.checkpoints.get(run, 0), self.pids)

    def end(self, run: str, state: str, **more: object) -> None:
        """A driver ends with a receipt."""
        driver = self.drivers[run]
        receipt(self.home.place(run), driver.name, state, **more)
        self._gone(driver, {"SUCCESS": 0, "FAILED": 1, "SOME_TABLES_FAILED": 3, "STOPPED": 143}[state], None)

    def kill(self, run: str) -> None:
        """A driver is killed: no receipt, and the kernel gives its lock back."""
        self._gone(self.drivers[run], None, 9)

    def lose_sight(self, run: str) -> None:
        """A driver is at work on another machine, whose lock is not seen here."""
        os.close(self.drivers.pop(run).descriptor)

    def _gone(self, driver: Driver, code: int | None, number: int | None) -> None:
        os.close(driver.descriptor)
        del self.drivers[driver.run]
        self.parents.get(driver.pid, Launcher(self)).over.append(ProcessEnd(driver.run, driver.pid, code, number))

    parents: dict[int, Launcher] = field(default_factory=dict)

    def restart_machine(self) -> None:
        """All processes end, and the machine starts again."""
        for driver in list(self.drivers.values()):
            os.close(driver.descriptor)
        self.drivers.clear()
        self.coming.clear()
        self.boot_name += "+"

    def remove(self, run: str) -> None:
        """A person deletes the directory of a run."""
        shutil.rmtree(self.home.place(run).path)


@dataclass
class Launcher:
    """The children of one server. A server that dies is no parent any more; its children live on."""

    world: World
    over: list[ProcessEnd] = field(default_factory=list)
    children: dict[str, int] = field(default_factory=dict)

    def spawn(self, launch: Launch) -> int:
        self.world.step()
        self.world.pids += 1
        pid = self.world.pids
        self.world.spawned.append((self.world.seconds, launch.run))
        self.world.parents[pid] = self
        self.children[launch.run] = pid
        self.world.coming.append((self.world.seconds + self.world.slow, pid, launch, self))
        self.world.step()
        return pid

    def ends(self) -> Sequence[ProcessEnd]:
        found, self.over = self.over, []
        for end in found:
            self.children.pop(end.run, None)
        return found

    def child_of(self, run: str) -> int | None:
        return self.children.get(run)

    def signal(self, process: DriverProcess, number: int) -> bool:
        """Only kill -9, and only of a driver that is there."""
        assert number == signal.SIGKILL
        run = next((one.run for one in self.world.drivers.values() if one.pid == process.pid), "")
        if run:
            self.world.step()
            self.world.signalled.append(run)
            self.world.kill(run)
            self.world.step()
        return bool(run)


class CrashingDatabase(Database):
    """Its server may die before a transaction, and after it."""

    world: World

    def writing(self):  # type: ignore[no-untyped-def]
        self.world.step()
        return _Crashing(super().writing(), self.world)


class LedDatabase(FencedDatabase):
    """Its server may be overtaken before a write: ``overtake`` is called then."""

    overtake: Callable[[], None] = staticmethod(lambda: None)

    def writing(self):  # type: ignore[no-untyped-def]
        self.overtake()
        return super().writing()


class _Crashing:
    def __init__(self, inner, world: World) -> None:  # type: ignore[no-untyped-def]
        self.inner, self.world = inner, world

    def __enter__(self):  # type: ignore[no-untyped-def]
        return self.inner.__enter__()

    def __exit__(self, *error):  # type: ignore[no-untyped-def]
        found = self.inner.__exit__(*error)
        self.world.step()
        return found


class Server:
    """A server on a world. One that is dropped without ``close`` has been killed. ``settings``: of notifications;
    ``leadership``: of one among several, which decides only while that leads."""

    def __init__(
        self,
        world: World,
        limits: StartLimits | None = None,
        settings: NotifySettings | None = None,
        leadership: Leadership | None = None,
    ) -> None:
        self.world, self.leadership = world, leadership
        world.servers.append(self)
        place = world.store or world.home.path / "server" / "server.db"
        self.database = CrashingDatabase.open(place, world.now)
        self.database.world = world
        self.led = self.database if leadership is None else LedDatabase(self.database, leadership)
        self.index = RunIndex(world.home, world.clock, world.shared, lambda: world.present, world.now)
        self.launcher = Launcher(world)
        files = DriverFiles(self.database, world.home.path, {"PATH": "/bin"}, None, ("seatunnel",))
        chosen = limits or StartLimits()
        writer = NoticeWriter(lambda: settings or NotifySettings(), world.now, "https://etl.example.com")
        self.observer = NoticeObserver(self.led, self.index, writer, world.clock)
        notes = RunNotes(writer, self.index)
        self.supervisor = Supervisor(self.led, self.index, self.launcher, world, files.launch_of, lambda: chosen, notes)
        self.commands = RunCommands(self.database, self.index, world.now, LocalLauncher())
        self.performer = SchedulePerformer(self.led, self.commands, world.now)
        self.schedules = ScheduleCommands(self.database, self.commands, world.now)
        if self.leads:
            self.supervisor.adopt()
        else:
            self.supervisor.follow()

    @property
    def leads(self) -> bool:
        return self.leadership is None or self.leadership.leads

    def define(self, name: str = "shop", policy: RestartPolicy = RestartPolicy.ON_FAILURE) -> None:
        text = DefinitionText.of(JOB, name)
        with self.database.acting(Act("tester", "definition.create", name)) as write:
            definitions.create(write.connection, name, text, "tester", "", self.world.wall)
        self.commands.set_policy(name, policy, Act("tester", "definition.policy"))

    def start(self, name: str = "shop", key: str = "", priority: int = 0) -> str:
        return self.commands.start(name, StartOptions(), ACT, key=key, body_digest=name, priority=priority).run

    def go(self, seconds: float, *, beats: bool = True, turn: float = 0.5) -> None:
        """Let time pass, in turns of so many seconds. Quiet minutes need fewer of them."""
        for _ in range(round(seconds / turn)):
            beaten = self.world.seconds // BEAT
            self.world.seconds += turn
            self.world.wall += turn
            self.world.arrive()
            if beats and self.world.seconds // BEAT > beaten:
                for run, driver in self.world.drivers.items():
                    if not driver.hangs and self.world.home.place(run).path.exists():
                        self.world.beat(run)
            self.turn()

    def turn(self) -> None:
        """One turn of each part, as in ``ServerProcess``."""
        with self.led.term():
            if self.leads:
                self.performer.turn()
                self.supervisor.turn()
                self.observer.turn()
            else:
                self.supervisor.follow()
                self.observer.rest()

    def schedule(self, name: str = "shop", **terms: object) -> None:
        """Give a definition a schedule of its name."""
        act = Act("tester", "schedule.create", name)
        self.schedules.create(name, name, terms_of(**terms), {}, "tester", act)  # type: ignore[arg-type]

    def fires(self, name: str = "shop") -> list[StoredFire]:
        with self.database.reading() as connection:
            return list(reversed(stored_schedules.fires(connection, name, limit=1_000)))

    def outcomes(self, name: str = "shop") -> list[str]:
        return [one.fire.outcome.value for one in self.fires(name)]

    def state(self, run: str) -> str:
        row = self.index.row(run)
        return "" if row is None else row.state

    def wish(self, name: str = "shop") -> Wish:
        with self.database.reading() as connection:
            return wishes.of_definition(connection, name)

    def intents(self, run: str) -> list[Intent]:
        with self.database.reading() as connection:
            return list(reversed(intents.of_run(connection, run)))

    def reported(self, target: str = "all") -> list[OutboxEvent]:
        """The events in the outbox for a target, in order."""
        with self.database.reading() as connection:
            found = deliveries.listing(connection, target=target, limit=10_000)
        return [event_of(row._mapping) for _, row in reversed(found)]

    def acts(self, act: str) -> list[Act]:
        with self.database.reading() as connection:
            return [row.act for row in reversed(audit.rows(connection, act=act))]
