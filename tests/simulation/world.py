"""A world round the shipping job: pipelines of random shapes, drivers that die and follow one another, and what every
sink must show in the end."""

from __future__ import annotations

import heapq
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from seatunnel_py.api.process.failpoints import Failpoint
from seatunnel_py.config.env import Retain
from seatunnel_py.errors import FatalError, RetriableError
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.driver import admission
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.storage.journal import Journal
from seatunnel_py.runtime.targets import target_alteration
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget
from tests.simulation import starts
from tests.simulation.checks.line import Line
from tests.simulation.choices import Choices
from tests.simulation.faults import Faults
from tests.simulation.followed.job import FollowedJob
from tests.simulation.jobs.rows import Row
from tests.simulation.jobs.shapes import Job, Terms, pipeline_of, resized, sized_as, sources_of
from tests.simulation.jobs.sources import opened
from tests.simulation.jobs.targets import ledgers
from tests.simulation.limits import Limits
from tests.simulation.machine.logged import Logged
from tests.simulation.machine.positions import read_more
from tests.simulation.ports.storage import MemoryStorage, store_fault
from tests.simulation.process import Died, Process
from tests.simulation.trace import Trace
from tests.simulation.violation import expect, raised
from tests.simulation.wishes import Wishes, stop

MODES = ("aligned", "unaligned")
PATIENT_AFTER_DRIVERS = 3
"""A pipeline that is started again and again is given more time at last."""
CLOCK_JUMP_SECONDS = 3600.0
OUTLIVE_SECONDS = 60.0
FOLLOWED_SHARE = 0.15
"""Of the runs in which a job copies tables and follows their log."""
UNRECOVERABLE = re.compile(r"this run does not deliver them: .* batches were received of ")
REFUSED_SIZE = "cannot resume with another parallelism"
SIZES = re.compile(r"([\w-]+): (\d+)")


class WorldClock:
    """The time of a world, as drivers see it: it never goes back, and may jump ahead (F27)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.jumped = 0.0

    def now(self) -> float:
        return self._world.now + self.jumped


class World:
    """One run. ``mode``: whether barriers are aligned. ``crc``: of all that machines asked for; ``effects``: their
    number; ``events``: letters that coordinators and participants have handled; ``gone``: up to where a split that can
    be read only once was taken from its source; ``lost``: rows of it that no journal holds."""

    def __init__(self, choices: Choices, mode: str = "aligned", *, trace: bool = False) -> None:
        self.choices, self.mode = choices, mode
        self.now = self.calm_at = 0.0
        self.clock = WorldClock(self)
        self.crc = self.effects = self.events = 0
        self.limit = 0
        """So many events at most; 0: as many as it takes. Only the shrinker gives up a run."""
        self.counters: Counter[str] = Counter()
        self.trace = Trace() if trace else None
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self.settings = self._settings()
        self.followed: FollowedJob | None = None
        self.jobs = self._jobs()
        self.faults = Faults(choices)
        self.storage = MemoryStorage()
        self.storage.fault = store_fault(self.faults.strikes)
        self.files: dict[str, list[tuple[Line, int]]] = {}
        self.exchange: dict[str, list[Row]] = {}
        self.removed: set[str] = set()
        self.gone: dict[tuple[str, str], int] = {}
        self.lost: dict[tuple[str, str], set[int]] = {}
        self.lied = False
        """A vertex that is declared determinate has made other rows of the same batch (F57)."""
        self.logged = Logged()
        self.lines: dict[str, Line] = {}
        self.calm_at = float("inf")
        self.limits = Limits(self)
        if choices.followed.chance(FOLLOWED_SHARE):
            self._follows()
        self._wishes = Wishes(self, choices.wishes)
        self._open_max = choices.settings.pick((admission.OPEN_MAX, 1, 2))
        self.processes: list[Process] = []
        self.current: Process | None = None
        self.looked_after = False
        """A person has put the store in order."""
        self.finished = False
        raised.clear()
        for job in self.jobs if self.followed is None else ():
            self._watch_targets(job)

    def _jobs(self) -> list[Job]:
        terms = Terms(self.settings.per_split, not self.settings.fail_fast, lambda: self.now)
        names = "xyz"[: self.choices.settings.pick((1, 1, 1, 1, 1, 2, 3))]
        return [pipeline_of(name, self.choices, terms) for name in names]

    def _settings(self) -> Settings:
        plan = self.choices.settings
        timed = plan.pick((None, None, 0.03, 0.1, 0.4))
        checkpoint = CheckpointSettings(
            interval=plan.pick((None, 0.2, 0.2, 0.5)),
            timeout=plan.pick((60.0, 60.0, 1.03, 0.53)),
            min_pause=plan.pick((0.0, 0.0, 0.05)),
            max_concurrent=plan.pick((1, 1, 2, 3)),
            tolerable_failures=plan.pick((100, 3, 1)),
            max_retained=plan.pick((1, 2, 3)),
            max_uncommitted=plan.pick((2, 1, 4)),
            alignment_timeout=0.0 if self.mode == "unaligned" else timed,
            initial_delay=plan.pick((0.0, 0.5)),
        )
        return Settings(
            RetryPolicy(plan.pick((3, 1, 1)), 0.2),
            Budget(plan.pick((7, 3)), 1.0),
            plan.pick((1, 2, 16)),  # capacity of channels: barriers meet full ones (F20)
            plan.chance(0.25),
            exchange="mem:",
            retain=plan.pick((Retain.AUTO, Retain.AUTO, Retain.ALWAYS, Retain.NEVER)),
            checkpoint=checkpoint,
            restarts=Backoff(plan.pick((20, 2)), 0.05, longest=0.5),
            read_rows=plan.pick((None, None, None, 60)),
            per_split=plan.chance(0.3),
            exchange_max_bytes=plan.pick((10 * 2**30, 10 * 2**30, 600)),
        )

    def _watch_targets(self, job: Job) -> None:
        for target in (*ledgers(job.pipeline).values(), *(source.state for source in sources_of(job.pipeline))):
            target.act = self.at_target

    def _follows(self) -> None:
        """Instead of the jobs: one that copies tables and follows their log. A table that stops must not end the others."""
        self.settings = replace(self.settings, fail_fast=False)
        self.followed = FollowedJob(self)
        self.jobs = self.followed.jobs

    def at_target(self, what: str) -> None:
        if what == "committed":
            if self.faults.strikes("answer of a commit is lost"):
                raise RetriableError("the connection is gone", "wait")
        elif what != "close":
            self.faults.at_target()

    # ---------------------------------------------------------------- time and chance

    def later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        self._order += 1
        heapq.heappush(self._heap, (self.now + seconds, self._order, call, arguments))

    def delay(self, longest: float) -> float:
        return 0.001 + longest * self.choices.delay.draw()

    def salt(self) -> int:
        """Other rows each time."""
        return self.choices.rows.below(1 << 20)

    # ---------------------------------------------------------------- the run

    def run(self) -> World:
        """To the end: every row is in every sink once."""
        with (
            patch.object(admission, "OPEN_MAX", self._open_max),
            patch.object(Failpoint, "hit", self._hit()),
            patch.object(target_alteration, "PAUSE_SECONDS", 0.0),
        ):
            self._run()
        return self

    def _hit(self) -> Callable[[Failpoint], None]:
        def hit(point: Failpoint) -> None:
            assert self.current is not None, f"{point.name} without a driver"
            self.current.hits(point)

        return hit

    def _run(self) -> None:
        self.start()
        self._wishes.begin()
        if self.followed is not None:
            self.followed.begin_wishes()
        while not self.finished:
            self.limits.step(len(self._heap))
            self._step()
            if self.limit and self.events > self.limit:
                return
            if self.faults.on and self.limits.calm:
                self.calm()
        self._outlive()
        self._check()

    def _step(self) -> None:
        self.now, _, call, arguments = heapq.heappop(self._heap)
        self.limits.begin_step()
        if self.faults.strikes("clock jumps"):
            self.clock.jumped += CLOCK_JUMP_SECONDS
        call(*arguments)
        if raised:
            raise raised[0]

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self.calm_at = min(self.calm_at, self.now)
        self.faults.calm()

    def _outlive(self) -> None:
        """What overtaken drivers still do changes nothing that has arrived."""
        self.calm()
        until = self.now + OUTLIVE_SECONDS
        while self._heap and any(process.alive for process in self.processes):
            self._step()
            expect(self.now < until, "EveryRunEnds", f"an overtaken driver does not end; {self.where()}")

    # ---------------------------------------------------------------- drivers

    def newest(self, process: Process) -> bool:
        """Whether no other driver was started behind this one."""
        return process not in self.processes[:-1]

    def start(self) -> None:
        """A driver, beside others or behind them."""
        self.limits.driver_starts()
        if len(self.processes) > PATIENT_AFTER_DRIVERS:
            patient = replace(self.settings.checkpoint, timeout=60.0, tolerable_failures=1000)
            self.settings = replace(self.settings, checkpoint=patient)
        self._resize()
        if self.followed is not None:
            self.jobs = self.followed.jobs
            for job in self.jobs:
                self.line(job.pipeline.name)  # an older driver may come to it when the job has it no longer
        try:
            process = Process(self)
        except RetriableError:
            self.counters["a driver could not start"] += 1
            self._start_later()
        except starts.StartRefusedError as refused:
            starts.refused(self, str(refused))
            self._start_later()
        except Died:
            self.counters["a driver died"] += 1
            self._start_later()
        except FatalError:
            assert self.followed is not None, "a job without a log is refused"
            self.followed.start_refused()
            self._start_later()
        else:
            self.counters["two drivers at once"] += any(one.alive for one in self.processes)
            self.processes.append(process)
            self.later(1.0, self._look_at_streams, process)

    def _start_later(self) -> None:
        """Unless another one is started before."""
        self.later(self.delay(0.5), self._start_again, len(self.processes))

    def _start_again(self, drivers: int) -> None:
        if len(self.processes) == drivers and not self.finished:
            self.start()

    def _resize(self) -> None:
        """A later driver may run a pipeline with another parallelism."""
        if self.processes and self.faults.on:
            sizes = self.choices.sizes
            self.jobs = [resized(job, sizes) if job.elastic and sizes.chance(0.6) else job for job in self.jobs]

    def died(self, process: Process) -> None:
        """Another one follows."""
        self.counters["a driver died"] += 1
        if process is self.processes[-1]:
            self._start_later()

    def ended(self, process: Process) -> None:
        """By itself: a person starts it again where something is missing."""
        self.counters["a log was read to the end of a run"] += sum(map(read_more, process.job.pipelines.values()))
        for job in process.jobs:
            line = job.pipeline
            ends = list(dict.fromkeys(state for state in process.states.get(line.id, ()) if state.ended))
            assert len(ends) == 1, f"{line.name} ended as {ends} in driver {process.incarnation}"
            self.counters[f"ended: {ends[0].value}"] += 1
        if process is not self.processes[-1]:
            self.counters["an overtaken driver ended"] += 1
            return
        for job in process.jobs:
            self.line(job.pipeline.name).unrecoverable |= _unrecoverable(process.job.pipelines[job.pipeline.name])
        done = self._all_done(process) if self.followed is None else self.followed.ended(process)
        if done and all(self._whole(job) for job in self.jobs):
            self.finished = True
            return
        self.limits.driver_ended()
        self.jobs = [self._as_recorded(job, process) for job in process.jobs]
        self._start_later()

    def _as_recorded(self, job: Job, process: Process) -> Job:
        """Where the parallelism was refused, also for rows of a sink that is finished apart, the one that is advised."""
        failures = (machine.failure for machine in process.job.pipelines.values() if machine.failure is not None)
        remedies = (one.remedy for one in failures if REFUSED_SIZE in one.message)
        sizes = {name: int(size) for remedy in remedies for name, size in SIZES.findall(remedy)}
        if sizes.keys().isdisjoint(vertex.id for vertex in job.pipeline.vertices):
            return job
        self.counters["a restore into another parallelism was refused"] += 1
        return sized_as(job, sizes)

    def _all_done(self, process: Process) -> bool:
        states = [receipt.state for receipt in process.receipts]
        streams = not all(one.context.bounded for one in process.job.pipelines.values())
        right = [TableState.DONE, *([TableState.STOPPED] if streams else [])]
        if any(line.unrecoverable for line in self.lines.values()):
            right.append(TableState.ISOLATED)
        return all(state in right for state in states)

    def _look_at_streams(self, process: Process) -> None:
        """A stream never ends: it is stopped once everything has arrived, and it is calm."""
        if not process.alive or process is not self.processes[-1]:
            return
        if self.followed is not None:
            self._look_at_log(process, self.followed)
            return
        at_work = [one for one in process.job.pipelines.values() if one.key not in process.job.closed]
        streams = {one.pipeline.name for one in at_work if not one.context.bounded}
        settled = len(streams) == len(at_work) and all(
            self._whole(job) for job in self.jobs if job.pipeline.name in streams
        )
        if streams and settled and not self.faults.on:
            stop(process)
        else:
            if streams and settled:
                self.calm()
            self.later(0.5, self._look_at_streams, process)

    def _look_at_log(self, process: Process, followed: FollowedJob) -> None:
        """A log is stopped once it has brought all that it can bring; then persons decide, or all is well."""
        if not followed.looks_at(process):
            self.later(0.5, self._look_at_streams, process)
        elif self.faults.on and followed.whole:
            self.calm()
            self.later(0.5, self._look_at_streams, process)
        else:
            stop(process)

    # ---------------------------------------------------------------- what is checked

    def line(self, key: str) -> Line:
        """A pipeline over all its drivers."""
        found = self.lines.get(key)
        if found is None:
            job = next(job for job in self.jobs if key == job.pipeline.name or key.startswith(f"{job.pipeline.name} "))
            found = self.lines[key] = Line(self, key, job)
        return found

    def saw(self, process: Process, machine: Any, effect: Any) -> None:
        """An effect is about to be performed."""
        self.effects += 1
        self._wishes.saw(process, effect)
        name = type(effect).__name__
        self.counters[name] += 1
        self.crc = zlib.crc32(f"{self.now:.7f} {machine.key} {name}".encode(), self.crc)

    def read(self, journal: Journal) -> None:
        """A driver begins with this journal."""
        for line in journal.lines():
            if line["p"]:  # else it is of all pipelines
                self.line(line["p"])
        for line in self.lines.values():
            line.begins_with(journal)
        self.logged.add(journal.lines())

    def note(self, who: str, text: str) -> None:
        """For people who read a trace."""
        if self.trace is not None:
            self.trace.note(self.now, who, text)

    def _whole(self, job: Job) -> bool:
        line = self.lines.get(job.pipeline.name)
        return line is not None and not line.missing()

    def _check(self) -> None:
        for line in self.lines.values():
            line.ends()
        for job in self.jobs:
            line = job.pipeline
            for node, ledger in ledgers(line).items():
                expect(ledger.keeps_what_counts, "I33NamedStays", f"{node}: committed rows were dropped")
            if not self.counters["a driver died"] and not self.counters["a driver could not start"]:
                expect(not opened(line), "SourcesAreClosed", f"{opened(line)} of {line.name} are open at the end")

    def about(self) -> list[str]:
        """For people: the pipelines and the settings."""
        lines = [f"{self.settings}"]
        for job in self.jobs:
            lines.append(f"{job.pipeline.name} {job.shape}{'' if job.bounded else ', a stream'}")
            lines += [f"  {one.id} x{one.parallelism} {job.roles.get(one.id)}" for one in job.pipeline.vertices]
        return lines

    def where(self) -> str:
        """For people: where everything stands."""
        if not self.processes:
            return "no driver has started"
        process = self.processes[-1]
        lines = [
            f"{one.key}: {one.state.phase.name} {one.shown_state.value}, calls "
            f"{[call.name for call in one.state.calls]}, units {len(one.units)}, failure {one.failure}"
            for one in process.job.pipelines.values()
        ]
        shapes = [f"{job.pipeline.name} {job.shape}" for job in self.jobs]
        return f"at {self.now:.1f} s, driver {process.incarnation}; {'; '.join(lines)}; {shapes}"


def run(seed: int, mode: str, *, trace: bool = False) -> World:
    """The run of a seed."""
    return World(Choices(seed), mode, trace=trace).run()


def _unrecoverable(machine: PipelineMachine) -> set[str]:
    """Sinks that a person has to load again, as their receipt says: of some rows behind a loop neither the batches nor
    their inputs are kept."""
    isolated = machine.isolated
    return {
        node.id
        for vertex in machine.pipeline.vertices
        if vertex.id in isolated.vertices and UNRECOVERABLE.search(isolated.cause(vertex.id).message)
        for node in vertex.sinks
    }
