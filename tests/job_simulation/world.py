"""A seeded world round the shipping job: pipelines of random shapes, drivers that die and follow one another, and what
every sink must show in the end."""

from __future__ import annotations

import heapq
import random
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from seatunnel_py.errors import RetriableError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.driver import admission
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget
from tests.job_simulation.faults import Faults
from tests.job_simulation.logged import Logged
from tests.job_simulation.ports import MemoryStorage, store_fault
from tests.job_simulation.process import Process
from tests.job_simulation.sources import opened, pipeline_of
from tests.job_simulation.violation import expect
from tests.job_simulation.wishes import Wishes, stop
from tests.kit.toy_jobs import Row, ledgers, rows_of, sources

CALM_AFTER_SECONDS = 20.0
SECONDS_MAX = 400.0
DRIVERS_MAX = 30


class WorldClock:
    """The time of a world, as drivers see it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> float:
        return self._world.now


class World:
    """One run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._chance = random.Random(seed)
        self.now = 0.0
        self.clock = WorldClock(self)
        self.crc = 0
        self.effects = 0
        self.counters: Counter[str] = Counter()
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self.settings = self._settings()
        self.pipelines = self._pipelines()
        self.faults = Faults(self._chance)
        self.storage = MemoryStorage()
        self.storage.fault = store_fault(self.faults.strikes)
        for line in self.pipelines:
            for target in (*ledgers(line).values(), *sources(line)):
                target.act = self._at_target
        self.exchange: dict[str, list[Row]] = {}
        self.removed: set[str] = set()
        self.logged = Logged()
        self.calm_at = float("inf")
        self._wishes = Wishes(self, self._chance)
        self._open_max = self._chance.choice([1, 2, admission.OPEN_MAX])
        self.processes: list[Process] = []
        self.finished = False

    def _pipelines(self) -> list[Pipeline]:
        chance, per_split = self._chance, self.settings.per_split
        names = "xyz"[: chance.choice([1, 1, 2, 3])]
        return [pipeline_of(name, chance, self.clock.now, per_split=per_split) for name in names]

    def _settings(self) -> Settings:
        chance = self._chance
        checkpoint = CheckpointSettings(
            interval=chance.choice([None, 0.2, 0.5]),
            max_uncommitted=chance.choice([1, 2, 4]),
            alignment_timeout=chance.choice([None, 0.0, 0.1]),
            max_retained=chance.choice([1, 3]),
        )
        return Settings(
            RetryPolicy(3, 0.2),
            Budget(7, 1.0),
            chance.choice([1, 2, 16]),
            chance.random() < 0.2,
            exchange="mem:",
            checkpoint=checkpoint,
            restarts=Backoff(chance.choice([2, 20]), 0.05, longest=0.5),
            read_rows=chance.choice([None, None, None, 60]),
            per_split=chance.random() < 0.3,
            exchange_max_bytes=chance.choice([10 * 2**30, 10 * 2**30, 600]),
        )

    def _at_target(self, what: str) -> None:
        if what != "close":
            self.faults.at_target()

    # ---------------------------------------------------------------- time and chance

    def later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        self._order += 1
        heapq.heappush(self._heap, (self.now + seconds, self._order, call, arguments))

    def delay(self, longest: float) -> float:
        return 0.001 + longest * self._chance.random()

    # ---------------------------------------------------------------- drivers

    def run(self) -> World:
        """To the end: every row is in every sink once."""
        with patch.object(admission, "OPEN_MAX", self._open_max):
            self._run()
        return self

    def _run(self) -> None:
        self.start()
        self._wishes.begin()
        while not self.finished:
            assert self._heap, f"nothing is left to happen; {self.where()}"
            assert self.now < SECONDS_MAX, f"no end; {self.where()}"
            if self.now > CALM_AFTER_SECONDS or len(self.processes) > DRIVERS_MAX // 2:
                self.calm()
            self.now, _, call, arguments = heapq.heappop(self._heap)
            call(*arguments)
        self._outlive()
        self._check()

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self.calm_at = min(self.calm_at, self.now)
        self.faults.calm()

    def newest(self, process: Process) -> bool:
        """Whether no other driver was started behind this one."""
        return process not in self.processes[:-1]

    def _outlive(self) -> None:
        """What overtaken drivers still do changes nothing that has arrived."""
        self.calm()
        until = self.now + 60.0
        while self._heap and any(process.alive for process in self.processes):
            self.now, _, call, arguments = heapq.heappop(self._heap)
            call(*arguments)
            assert self.now < until, f"an overtaken driver does not end; {self.where()}"

    def start(self) -> None:
        """A driver, beside others or behind them."""
        assert len(self.processes) < DRIVERS_MAX, f"{DRIVERS_MAX} drivers did not bring it to an end; {self.where()}"
        try:
            self.processes.append(Process(self))
        except RetriableError:
            self.counters["a driver could not start"] += 1
            self.later(self.delay(0.5), self.start)
            return
        self.later(1.0, self._look_at_streams, self.processes[-1])

    def died(self, process: Process) -> None:
        """Another one follows."""
        self.counters["a driver died"] += 1
        if process is self.processes[-1]:
            self.later(self.delay(0.5), self._follow, process)

    def _follow(self, process: Process) -> None:
        if process is self.processes[-1]:
            self.start()

    def ended(self, process: Process) -> None:
        """By itself: a person starts it again where something is missing, once it is calm."""
        for line in self.pipelines:
            ends = list(dict.fromkeys(state for state in process.states.get(line.id, ()) if state.ended))
            assert len(ends) == 1, f"{line.name} ended as {ends} in driver {process.incarnation}"
            self.counters[f"ended: {ends[0].value}"] += 1
        if process is not self.processes[-1]:
            self.counters["an overtaken driver ended"] += 1
            return
        if all(self._whole(line) for line in self.pipelines) and self._all_done(process):
            self.finished = True
        else:
            self.later(self.delay(0.5), self._follow, process)

    def _all_done(self, process: Process) -> bool:
        states = [receipt.state for receipt in process.receipts]
        streams = not all(one.context.bounded for one in process.job.pipelines.values())
        right = (TableState.DONE, TableState.STOPPED) if streams else (TableState.DONE,)
        return all(state in right for state in states)

    def _look_at_streams(self, process: Process) -> None:
        """A stream never ends: it is stopped once everything has arrived, and it is calm."""
        if not process.alive or process is not self.processes[-1]:
            return
        streams = any(not one.context.bounded for one in process.job.pipelines.values())
        at_work = [one for one in process.job.pipelines.values() if one.key not in process.job.closed]
        settled = all(not one.context.bounded and self._whole(one.pipeline) for one in at_work)
        if streams and not self.faults.on and settled:
            stop(process)
        else:
            if self.now > CALM_AFTER_SECONDS:
                self.calm()
            self.later(0.5, self._look_at_streams, process)

    # ---------------------------------------------------------------- what is checked

    def saw(self, process: Process, machine: Any, effect: Any) -> None:
        """An effect is about to be performed."""
        self.effects += 1
        self._wishes.saw(process, effect)
        self.counters[type(effect).__name__] += 1
        self.crc = zlib.crc32(f"{self.now:.7f} {machine.key} {type(effect).__name__}".encode(), self.crc)

    def _whole(self, line: Pipeline) -> bool:
        wanted = rows_of(line)
        return all(sorted(ledger.rows) == wanted for ledger in ledgers(line).values())

    def _check(self) -> None:
        for line in self.pipelines:
            wanted = rows_of(line)
            for node, ledger in ledgers(line).items():
                held = sorted(ledger.rows)
                expect(held == wanted, "EveryRowOnce", f"{node} holds {len(held)} rows, not {len(wanted)}")
                expect(ledger.keeps_what_counts, "NamedRowsStay", f"{node}: committed rows were dropped")
            if not self.counters["a driver died"] and not self.counters["a driver could not start"]:
                expect(not opened(line), "SourcesAreClosed", f"{opened(line)} of {line.name} are open at the end")

    def where(self) -> str:
        """For people: where everything stands."""
        process = self.processes[-1]
        lines = [
            f"{one.key}: {one.state.phase.name} {one.shown_state.value}, calls "
            f"{[call.name for call in one.state.calls]}, units {len(one.units)}, failure {one.failure}"
            for one in process.job.pipelines.values()
        ]
        shapes = [f"{line.name} {len(line.vertices)} vertices {len(rows_of(line))} rows" for line in self.pipelines]
        return f"seed {self.seed}, at {self.now:.1f} s, driver {process.incarnation}; {'; '.join(lines)}; {shapes}"
