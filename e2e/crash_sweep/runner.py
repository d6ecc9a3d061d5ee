"""Runs one case: start, kill at the named moment, go on with the same command, look at every row."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from e2e.crash_sweep import judge
from e2e.crash_sweep.cases import Case, Kill, Victim
from e2e.crash_sweep.judge import Glance
from e2e.crash_sweep.place import Lane, Place
from e2e.crash_sweep.recipes import RECIPES, Recipe, Target
from e2e.crash_sweep.report import Outcome
from e2e.support import IN_PROCESS, SEATUNNEL, Process, failing, finish, kill9, start, still_below, wait_for, write_job
from tests.servers.process_tree import jvms_below

FEW_TRIES = "job.retry.times = 1, job.retry.interval.seconds = 1"
RESTORES_MAX = 4  # a server that was killed may cost a run or two
LOOK_SECONDS = 0.1
GONE_SECONDS = 20.0
PATIENCE_SECONDS = 600.0  # for what ends by itself: a busy machine is no violation


@dataclass(slots=True)
class Watch:
    """A reader that looks at a target all the while (I4)."""

    target: Target
    place: Place
    looks: list[Glance] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.done.wait(LOOK_SECONDS):
            with suppress(Exception):  # the server is down, or the table is not there yet
                self.looks.append(self.target.glance(self.place))


class Run:
    """One job of one case. ``before``: the Python of an older commit, which runs the drivers that are killed."""

    def __init__(self, case: Case, recipe: Recipe, place: Place, before: str = "") -> None:
        self.case, self.recipe, self.place, self.before = case, recipe, place, before
        self.killed: list[str] = []
        self.violations: list[str] = []
        self.output: list[str] = []
        self._runs = 0

    def prepare(self) -> None:
        self.place.home.mkdir(parents=True)
        self.recipe.source.prepare(self.place, list(self.recipe.wanted()))
        for target in self.recipe.targets:
            target.prepare(self.place)
        tries = () if self.case.tried_long else (FEW_TRIES,)
        write_job(self.place.home, self.recipe.job(self.place, self.case.paced, *tries))

    def to_the_end(self) -> None:
        for kills in self.case.runs:
            self._killed(kills)
        for _ in range(RESTORES_MAX):
            if self._ended(self._start()) == 0:
                break
        else:
            self.violations.append(f"the job does not end: {self.output[-1][-400:]}")
        again = finish(self._start(), PATIENCE_SECONDS)
        if again.code != 0 or "nothing to do" not in again.out:
            self.violations.append(
                f"a finished job was started again: {again.code} {again.out[-200:]}{again.err[-200:]}"
            )

    # ---------------------------------------------------------------- one run

    def _start(self, kills: tuple[Kill, ...] = ()) -> Process:
        env: Mapping[str, str] = {}
        if kills:
            self._runs += 1
            env = failing(",".join(kill.spec for kill in kills), self._points)
        program = IN_PROCESS if self.case.local else SEATUNNEL
        if kills and self.before:
            program = [self.before, *program[1:]]
        arguments = ("run", "job.conf", "--job-id", "job", "--restore", "latest", "--json")
        return start(self.place.home, *arguments, env=env, program=program)

    @property
    def _points(self) -> Path:
        return self.place.home / f"points{self._runs}"

    def _ended(self, process: Process) -> int:
        ended = finish(process, PATIENCE_SECONDS)
        self.output.append(f"--- exit {ended.code}\n{ended.out}\n{ended.err}")
        return ended.code

    def _killed(self, kills: tuple[Kill, ...]) -> None:
        process = self._start(kills)
        for kill in kills:
            match kill.victim:
                case Victim.JVM:
                    self._while_paused(process, kill, lambda: kill9(jvms_below(process.pid)[0]))
                case Victim.SERVER:
                    self._while_paused(process, kill, self._kill_server)
                case Victim.OLDER:
                    self._while_paused(process, kill, lambda: self._overtake(process))
        code = self._ended(process)
        for kill in kills:
            if (self._points / f"{kill.point}.acted").exists():
                self.killed.append(str(kill))
            elif not self.before:  # an older commit lacks the moments that are new
                self.violations.append(f"never passed: {kill}")
        if kills[-1].victim in (Victim.OLDER, Victim.NOBODY) and code == 0:
            self.violations.append(f"a driver says that it has succeeded: {kills[-1]}")

    def _while_paused(self, process: Process, kill: Kill, act: object) -> None:
        acted = self._points / f"{kill.point}.acted"
        wait_for(str(kill), lambda: acted.exists() or process.poll() is not None, PATIENCE_SECONDS)
        if acted.exists():
            act()  # type: ignore[operator]
        (self._points / f"{kill.point}.go").touch()

    def _kill_server(self) -> None:
        for name in self.recipe.servers:
            self.place.lane.kill(name)
        for name in self.recipe.servers:
            self.place.lane.server(name)

    def _overtake(self, older: Process) -> None:
        os.kill(older.pid, signal.SIGSTOP)
        try:
            code = self._ended(self._start())
            if code:
                self.violations.append(f"the second driver ended with {code}: {self.output[-1][-400:]}")
        finally:
            os.kill(older.pid, signal.SIGCONT)

    # ---------------------------------------------------------------- afterwards

    def look_at(self, target: Target, looks: list[Glance]) -> None:
        name, wanted, found = type(target).__name__, list(self.recipe.wanted()), target.rows(self.place)
        problems = judge.rows(wanted, found, ordered=target.ordered)
        problems += judge.glances(wanted, target.seen, looks)
        left = list(target.left_behind(self.place))
        if left:
            wait_until_empty = time.monotonic() + GONE_SECONDS
            while left and time.monotonic() < wait_until_empty:
                time.sleep(LOOK_SECONDS)
                left = list(target.left_behind(self.place))
        problems += [f"left behind: {one}" for one in left]
        self.violations += [f"{name}: {problem}" for problem in problems]

    def look_at_home(self) -> None:
        """Nothing of the job is at work any more, and its rows in transit are gone."""
        home = str(self.place.home / ".seatunnel")
        if left := still_below(home, GONE_SECONDS):
            self.violations.append(f"processes are left behind: {left}")
        exchange = self.place.home / ".seatunnel/jobs/job/exchange"
        rows = [path for path in exchange.rglob("*") if path.is_file()]
        self.violations += [f"left behind: {path.relative_to(self.place.home)}" for path in rows]


def run(case: Case, number: int, lane: Lane, root: Path, before: str = "") -> Outcome:
    """Run a case in a place of its own; what is violated stays there to be looked at."""
    began = time.monotonic()
    recipe = RECIPES[case.recipe]
    place = Place(f"case{number}", root / f"case{number}", lane)
    job = Run(case, recipe, place, before)
    watches = [Watch(target, place) for target in recipe.targets]
    try:
        job.prepare()
        threads = [threading.Thread(target=watch.look, daemon=True) for watch in watches]
        for thread in threads:
            thread.start()
        try:
            job.to_the_end()
        finally:
            for watch, thread in zip(watches, threads, strict=True):
                watch.done.set()
                thread.join()
        for watch in watches:
            job.look_at(watch.target, watch.looks)
        job.look_at_home()
    except Exception:  # noqa: BLE001 - one broken case does not end the sweep
        job.violations.append(traceback.format_exc()[-1500:])
    if job.violations:
        (place.home / "output.txt").write_text("\n".join(job.output))
        (place.home / "case.txt").write_text(f"{case.name}\n" + "\n".join(job.violations))
    else:
        shutil.rmtree(place.home, ignore_errors=True)
    looks = sum(len(watch.looks) for watch in watches)
    return Outcome(case.name, case.recipe, tuple(job.killed), tuple(job.violations), time.monotonic() - began, looks)
