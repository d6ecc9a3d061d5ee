"""One soak, from the first row to the last look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from e2e.crash_sweep import judge
from e2e.crash_sweep.place import Lane, Place
from e2e.soak import leftovers, stream
from e2e.soak.memory import Meter
from e2e.soak.operator import Operator
from e2e.soak.report import Outcome
from e2e.soak.stream import Feeder, Table
from e2e.soak.victims import Kill, Killer, kills
from e2e.support import wait_for, write_job
from tests.servers.spark_cluster import spark_cluster

ARRIVED_SECONDS = 600.0  # the last kill may have been that of a server
END_SECONDS = 180.0
BEGIN_SECONDS = 600.0
# As little as Spark takes; it begins small, so that the JVM holds what lives in it and not what it was once given.
HEAP, HEAP_AT_FIRST = "512m", "64m"


class Soak:
    """In ``home``, with servers and a cluster of its own."""

    def __init__(self, home: Path, seed: int, seconds: float, every: float) -> None:
        self.home, self.seed, self.seconds, self.every = home, seed, seconds, every
        self.wrong: list[str] = []
        self.killed: list[Kill] = []

    def run(self) -> Outcome:
        began = time.monotonic()
        for name in ("tmp", "java", "spark"):
            (self.home / name).mkdir()
        java = f"-Djava.io.tmpdir={self.home / 'java'} -Xms{HEAP_AT_FIRST}"
        temporary = {"TMPDIR": str(self.home / "tmp"), "JAVA_TOOL_OPTIONS": java}
        lane = Lane()
        cluster = spark_cluster(
            self.home / "spark", environment={**temporary, "SPARK_LOCAL_DIRS": str(self.home / "spark/local")}
        )
        with closing(lane), cluster as running:
            tables = stream.tables(lane, Place("soak", self.home, lane))
            env = f'spark.master = "{running.url}", spark.driver.memory = {HEAP}, checkpoint.interval = 3000'
            write_job(self.home, stream.job_file(tables, env))
            operator = Operator(self.home, temporary)
            feeder, meter = Feeder(lane.server("kafka").dsn), Meter(lambda: operator.driver)
            killer = Killer(operator, running, lane)
            try:
                with _beside(meter.run, meter.stop), _beside(feeder.run, feeder.stop):
                    operator.start()
                    self._flows(tables)
                    flowing = time.monotonic()
                    self._kill(killer, tables, feeder)
                    memory = tuple(meter.since(flowing + self.seconds / 2))
                    self._flows(tables)
                    if self._stop(operator, "killed"):
                        operator.start()
                        self._flows(tables)  # the first checkpoint of a life sweeps what those before it staged
                self.wrong += feeder.refused
                self._await_rows(tables, feeder, operator)
                self._stop(operator, "last")
                self._look_at(tables, feeder)
                left = leftovers.left_behind(self.home, tables, killer)
            finally:
                operator.kill()
        return Outcome(
            tuple(self.killed), tuple(operator.exits), feeder.sent.total(), tuple(self.wrong), tuple(left),
            memory, time.monotonic() - began,
        )  # fmt: skip

    def _kill(self, killer: Killer, tables: Sequence[Table], feeder: Feeder) -> None:
        began = time.monotonic()
        for kill in kills(self.seed, self.seconds, self.every):
            time.sleep(max(0.0, began + kill.at - time.monotonic()))
            happened = killer.kill(kill)
            if happened:
                self.killed.append(kill)
            there = sum(min(stream.arrived(table)) for table in tables)
            words = kill.victim if happened else f"{kill.victim}: nobody there"
            print(f"{kill.at:7.0f} s  {words:<34} {there:>8} of {feeder.sent.total():>8} rows", flush=True)
        time.sleep(max(0.0, began + self.seconds - time.monotonic()))

    def _await_rows(self, tables: Sequence[Table], feeder: Feeder, operator: Operator) -> None:
        until = time.monotonic() + ARRIVED_SECONDS
        while any(min(stream.arrived(one)) < len(list(feeder.wanted(one.topic))) for one in tables):
            if time.monotonic() > until or operator.ended:
                self.wrong.append("the rows do not arrive" if not operator.ended else "the job has ended by itself")
                return
            time.sleep(1)

    def _flows(self, tables: Sequence[Table]) -> None:
        """Whatever was killed last is there again, or a new driver has begun."""
        before = [min(stream.arrived(one)) for one in tables]
        wait_for(
            "more rows in every target",
            lambda: all(min(stream.arrived(one)) > there for one, there in zip(tables, before, strict=True)),
            BEGIN_SECONDS,
        )

    def _stop(self, operator: Operator, savepoint: str) -> bool:
        asked = operator.stop(savepoint)
        stopped = not asked.code and operator.ends_within(END_SECONDS)
        if not stopped:
            self.wrong.append(f"it does not stop: {asked.code} {asked.out}{asked.err}")
        return stopped

    def _look_at(self, tables: Sequence[Table], feeder: Feeder) -> None:
        for table in tables:
            for target in table.targets:
                found = target.rows(table.place)
                problems = judge.content(feeder.wanted(table.topic), found)
                problems += judge.order(found) if target.ordered else []
                self.wrong += [f"{table.topic}, {type(target).__name__}: {problem}" for problem in problems]


@contextmanager
def _beside(run: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop()
        thread.join()
