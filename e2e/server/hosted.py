"""A home with a supervising process, which tests kill and start again; acts go into its database."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.server.driver_processes import drivers_of, kill_driver, kill_drivers
from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.local_launcher import LocalLauncher
from seatunnel_py.control.run_commands import RunCommands
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.schedule.schedule_commands import ScheduleCommands
from seatunnel_py.control.settings.store_settings import store_of
from seatunnel_py.control.store import audit, definitions, intents, wishes
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import Intent, StartOptions
from seatunnel_py.control.store.wishes import RestartPolicy, Wish
from seatunnel_py.runtime.storage.home import Home

WAIT_SECONDS = 150.0
STREAM = """
env { job.mode = STREAMING, checkpoint.interval = 500, parallelism = 1 }
source { FakeSource { row.num = 400000, split.num = 20000, split.read-interval = 50,
           schema { table = "shop.events", fields { id = bigint, name = string } },
           bigint.fake.mode = range, auto.increment.enabled = true } }
sink { LocalFile { path = "PLACE", file_format_type = csv } }
"""


@dataclass
class Hosted:
    """``in_process``: drivers run without Spark. ``address``: of the supervising process, which others may have beside
    them if ``server.conf`` in the home names a store."""

    path: Path
    in_process: bool = True
    host: subprocess.Popen[str] | None = None
    address: str = "http://127.0.0.1:5801"

    def __post_init__(self) -> None:
        self.home = Home(self.path / "home")
        self.database = Database.open(store_of(self.home.path, os.environ), time.time)
        self.index = RunIndex(self.home, time.monotonic)
        self.commands = RunCommands(self.database, self.index, time.time, LocalLauncher())
        self.schedules = ScheduleCommands(self.database, self.commands, time.time)

    def begin(self) -> float:
        """Start the supervising process; return the seconds until it was ready."""
        began = time.monotonic()
        more = ["--in-process"] if self.in_process else []
        with (self.path / "host.err").open("a") as errors:
            self.host = subprocess.Popen(
                [sys.executable, "-m", "e2e.server.host", str(self.home.path), self.address, *more],
                stdout=subprocess.PIPE, stderr=errors, text=True, cwd=Path(__file__).parents[2],
            )  # fmt: skip
        assert self.host.stdout is not None
        line = self.host.stdout.readline()
        assert line == "ready\n", f"{line}{(self.path / 'host.err').read_text()}"
        return time.monotonic() - began

    def kill(self) -> None:
        """Kill -9 the supervising process."""
        if self.host is not None:
            self.host.kill()
            self.host.wait()
            assert self.host.stdout is not None
            self.host.stdout.close()
            self.host = None

    def define(self, name: str, policy: RestartPolicy = RestartPolicy.ON_FAILURE, text: str = STREAM) -> None:
        checked = DefinitionText.of(text.replace("PLACE", f"{self.path}/out/{name}"), name)
        with self.database.acting(Act("tester", "definition.create", name)) as write:
            definitions.create(write.connection, name, checked, "tester", "", time.time())
        self.commands.set_policy(name, policy, Act("tester", "definition.policy"))

    def start(self, name: str, key: str = "") -> str:
        return self.commands.start(name, StartOptions(), Act("tester", "run.start"), key=key).run

    def row(self, run: str) -> RunRow | None:
        self.index.poll()
        return self.index.look(run)

    def state(self, run: str) -> str:
        row = self.row(run)
        return "" if row is None else row.state

    def driver(self, run: str) -> str:
        row = self.row(run)
        return "" if row is None else row.driver

    def pid(self, run: str) -> int:
        row = self.row(run)
        assert row is not None and row.process is not None, row
        return row.process.pid

    def kill_driver(self, run: str) -> None:
        """Kill -9 a driver with all that it has started."""
        kill_driver(self.pid(run))

    def read(self, run: str) -> int:
        row = self.row(run)
        return (row.rows_read or 0) if row is not None else 0

    def until(self, what: str, holds: Callable[[], object], seconds: float = WAIT_SECONDS) -> float:
        """Wait; return the seconds."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > seconds:
                outputs = [file.read_text()[-2_000:] for file in (self.home.path / "server" / "output").glob("*")]
                raise AssertionError(
                    f"{what}: not within {seconds} s; {outputs} {(self.path / 'host.err').read_text()}"
                )
            time.sleep(0.05)
        return time.monotonic() - began

    def until_moving(self, run: str) -> None:
        before = self.read(run)
        self.until(f"{run} reads rows", lambda: self.state(run) == "RUNNING" and self.read(run) > before)

    def intents(self, run: str) -> list[Intent]:
        with self.database.reading() as connection:
            return list(reversed(intents.of_run(connection, run)))

    def wish(self, name: str) -> Wish:
        with self.database.reading() as connection:
            return wishes.of_definition(connection, name)

    def acts(self, act: str) -> list[Act]:
        with self.database.reading() as connection:
            return [row.act for row in audit.rows(connection, act=act, limit=10_000)]

    def drivers(self) -> Mapping[str, list[int]]:
        """Processes on this machine that run drivers of this home, by run."""
        return drivers_of(self.home.path)

    def end(self) -> None:
        """A test that failed leaves nothing running."""
        self.kill()
        kill_drivers(self.home.path)
        self.database.close()
