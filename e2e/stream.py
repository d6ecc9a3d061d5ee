"""A stream for tests of what is done to a job from outside: killed, rescaled, taken over, led."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from e2e.support import SEATUNNEL, Finished, Process, kill_driver, seatunnel, start, wait_alive, write_job

if TYPE_CHECKING:
    from e2e.conftest import Databases

ROWS = 20_000


class Stream:
    """Rows that are made slowly, into a table that has no key: a row that came twice would be there twice."""

    def __init__(self, home: Path, databases: Databases) -> None:
        self.home, self.databases = home, databases
        self.program = SEATUNNEL
        self.processes: list[Process] = []

    def write(self, parallelism: int, more: str = "", splits: int = 60, pause: int = 150) -> None:
        """``pause``: milliseconds from split to split. On a busy machine nine seconds are just enough for a command that
        stops it in the middle."""
        write_job(
            self.home,
            f"""
            env {{ job.mode = STREAMING, checkpoint.interval = 200, parallelism = {parallelism} }}
            source {{ FakeSource {{ plugin_output = made, row.num = {ROWS}, split.num = {splits}, split.read-interval = {pause},
                        schema {{ table = "shop.events", fields {{ id = bigint, name = string }} }},
                        bigint.fake.mode = range, auto.increment.enabled = true }} }}
            {more}
            sink {{ Jdbc {{ {self.databases.jdbc(self.databases.target)}, generate_sink_sql = true,
                            plugin_input = {"kept" if more else "made"},
                            database = {self.databases.target}, table = "public.events" }} }}
            """,
        )

    def count(self) -> int:
        return self.databases.count("events")

    def run(self, *more: str) -> Process:
        self.processes.append(start(self.home, "run", "job.conf", *more, program=self.program))
        return self.processes[-1]

    def end(self) -> None:
        """A test that failed leaves nothing behind."""
        for process in self.processes:
            if process.poll() is None:
                kill_driver(process)

    def until_more(self, process: Process, least: int = 1) -> None:
        before = self.count()
        wait_alive(process, "more rows", lambda: self.count() >= before + least, seconds=120)

    def until_all(self, process: Process) -> None:
        wait_alive(process, "all rows", lambda: self.count() >= ROWS, seconds=120)

    def ask(self, *words: str) -> Finished:
        return seatunnel(self.home, "jobs", *words)
