"""Kills the server at random moments, also during its start, while clients work with it, and judges what is left."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from e2e.server.driver_processes import kill_drivers
from e2e.server_kills.batch_operator import BatchOperator
from e2e.server_kills.judge import Judge, states_of_runs, told_of
from e2e.server_kills.killed_server import KilledServer
from e2e.server_kills.operator_base import JobOperator
from e2e.server_kills.retrying_client import AnswerLog, RetryingClient
from e2e.server_kills.stream_operator import StreamOperator
from e2e.server_kills.twenty_jobs import KilledJob, twenty_jobs
from e2e.server_kills.watch import DriverWatch
from seatunnel_py.control.store import settings
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.places.sqlite_file import database_file

EARLY = 0.3
"""The share of kills that do not wait until the server answers."""
SETTLE_SECONDS = 600.0
LONG = 0.04
"""The share of servers that live for a while."""


@dataclass
class Campaign:
    """``faults``: what the judge has found, once it has ended; ``told``: what the campaign has done."""

    folder: Path
    luck: random.Random
    jobs: list[KilledJob] = field(default_factory=list)
    max_running: int = 12
    spawn_seconds: float = 0.2
    kills: int = 0
    early_kills: int = 0
    faults: list[str] = field(default_factory=list)
    told: str = ""

    def __post_init__(self) -> None:
        self.jobs = self.jobs or twenty_jobs(self.folder)
        self.server = KilledServer(self.folder)
        self.answer_log = AnswerLog()
        self.watch = DriverWatch(self.server.home)
        self.over = threading.Event()
        self.operators: list[JobOperator] = [self._operator(job) for job in self.jobs]
        self._limit()

    def _operator(self, job: KilledJob) -> JobOperator:
        luck = random.Random(self.luck.random())
        client = RetryingClient(self.server, self.answer_log)
        if job.is_stream:
            return StreamOperator(job, client, luck, self.over, other=RetryingClient(self.server, self.answer_log))
        return BatchOperator(job, client, luck, self.over)

    def _limit(self) -> None:
        database = Database.open(database_file(self.server.home), time.time)
        with database.writing() as connection:
            settings.keep(connection, "max-running", self.max_running)
            settings.keep(connection, "spawn-seconds", self.spawn_seconds)
        database.close()

    def run(self, seconds: float) -> None:
        """Kill for so long; let everything end; judge."""
        self.watch.begin()
        threads = [threading.Thread(target=one.run, daemon=True) for one in self.operators]
        for thread in threads:
            thread.start()
        self._kill_for(seconds)
        self.over.set()
        until = time.monotonic() + SETTLE_SECONDS
        while any(thread.is_alive() for thread in threads) or not (self._is_idle() or self._is_in_trouble()):
            if not self.server.is_ready():
                self.server.begin()
                self.server.refused.append(self.server.tail())
            if time.monotonic() > until:
                break  # the judge names what is open
            time.sleep(1)
        self.watch.end()
        self.told = told_of(self)
        self.faults = [*Judge(self).faults(), *self._faults_without_database()]

    def _kill_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self.server.begin()
        while time.monotonic() < until:
            if self.luck.random() < EARLY:
                self.early_kills += 1
                time.sleep(self.luck.uniform(0.0, 1.0))
            elif self.server.is_ready():
                time.sleep(20.0 if self.luck.random() < LONG else self.luck.expovariate(1 / 1.5))
            self.server.kill()
            self.kills += 1
            if self.luck.random() < 0.2:
                time.sleep(self.luck.uniform(0.0, 1.0))
            self.server.begin()

    def _is_in_trouble(self) -> bool:
        return any(one.troubles for one in self.operators)

    def _is_idle(self) -> bool:
        """Whether the runs that schedules have started have ended."""
        return not Judge(self).open_starts()

    def _faults_without_database(self) -> list[str]:
        """Delete the database: the next server finds every run as it was."""
        client = self.operators[0].client
        before = states_of_runs(client)
        places = {one.name for one in (self.server.home / "jobs").iterdir()}
        self.server.kill()
        for file in database_file(self.server.home).parent.glob("server.db*"):
            file.unlink()
        self.server.begin()
        if not self.server.is_ready():
            return [f"no start without the database: {self.server.tail()}"]
        after = states_of_runs(client)
        found = [f"{run} is missing without the database" for run in sorted((before.keys() | places) - after.keys())]
        return found + [
            f"{run} was {before[run]}, and is {after[run]} without the database"
            for run in before.keys() & after.keys()
            if before[run] != after[run]
        ]

    def end(self) -> None:
        """Leave nothing."""
        self.over.set()
        self.watch.end()
        self.server.end()
        kill_drivers(self.server.home)
        for one in self.operators:
            one.client.close()
