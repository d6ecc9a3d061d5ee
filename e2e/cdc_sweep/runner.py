"""Runs one case: copies, follows, kills, goes on, and compares in the end."""

from __future__ import annotations

import contextlib
import shutil
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from e2e.cdc_sweep.cases import Case, Kill, Victim
from e2e.cdc_sweep.jobs import FollowingJob, job_of
from e2e.crash_sweep.place import Lane
from e2e.crash_sweep.report import Outcome
from e2e.support import (
    IN_PROCESS,
    Process,
    failing,
    finish,
    kill_driver,
    seatunnel,
    start,
    still_below,
    wait_for,
)

POINT_SECONDS = 12.0
"""How long a failpoint is waited for; a driver that has not passed it then is killed all the same."""
EQUAL_SECONDS = 240.0
SETTLED_SECONDS = 20.0
_numbers = count(1)


class Run:
    """One job of one case."""

    def __init__(self, case: Case, job: FollowingJob, lane: Lane) -> None:
        self.case, self.job, self.lane = case, job, lane
        self.killed: list[str] = []
        self.violations: list[str] = []
        self.process: Process | None = None
        self._seeds = count(case.seed * 100)

    def through(self) -> None:
        """All kills, then the rest."""
        for number, kill in enumerate(self.case.kills):
            if kill.change:
                self.job.source.run(kill.change.format(number, number))
            if kill.victim in (Victim.DRIVER, Victim.MOMENT):
                self._kill_driver(kill, number)
            else:
                self._kill_other(kill)
        self._alive()
        self.ended()

    def ended(self) -> None:
        """Wait until the tables are equal, and stop the job."""
        for table in self.job.tables:
            try:
                wait_for(f"{table} to be equal", lambda table=table: self._is_equal(table), EQUAL_SECONDS)
            except AssertionError:
                self.violations.append(f"{table} differs: {self._differs(table)}")
        self._stop()

    # ---------------------------------------------------------------- kills

    def started(self, number: int = 0, kill: Kill | None = None) -> Process:
        """Start the driver, which dies at the point of the kill."""
        env = {}
        if kill is not None and kill.point:
            env = failing(f"{kill.point}:kill@{kill.hit}", self.job.home / f"points{number}")
        words = ("run", "job.conf", "--job-id", "job", "--restore", "latest")
        errors, output = self.job.home / "errors", self.job.home / "out"
        return start(self.job.home, *words, env=env, program=IN_PROCESS, errors=errors, output=output)

    def _alive(self) -> Process:
        """The driver, started if none runs. One that has ended by itself is a violation, unless it could not begin: a
        server was away."""
        if self.process is None:
            self.process = self.started()
        elif self.process.poll() is not None:
            self._ended_by_itself(self.process)
            self.process = self.started()
        return self.process

    def _ended_by_itself(self, process: Process) -> None:
        said = (self.job.home / "errors").read_text()[-600:]
        if "nothing was started" not in said:
            self.violations.append(f"the driver has ended by itself with {process.poll()}: {said}")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Rows change meanwhile."""
        with self.job.source.workload(next(self._seeds)):
            yield

    def _kill_driver(self, kill: Kill, number: int) -> None:
        if self.process is not None:
            running = self._alive()
            try:
                kill_driver(running)
                self.killed.append(f"{Victim.MOMENT} at the end of a kill")
            except AssertionError:  # between the look and the kill
                self._ended_by_itself(running)
        process = self.process = self.started(number, kill)
        with self._changing():
            if kill.point:
                until = time.monotonic() + POINT_SECONDS
                while process.poll() is None and time.monotonic() < until:
                    time.sleep(0.05)
            else:
                time.sleep(kill.seconds)
        if process.poll() is None:
            kill_driver(process)
            self.killed.append(str(kill if not kill.point else Kill(Victim.MOMENT, seconds=POINT_SECONDS)))
        elif process.poll() == -9:
            self.killed.append(str(kill))
        else:
            self.violations.append(f"{kill}: {process.poll()}: {(self.job.home / 'errors').read_text()[-600:]}")
        finish(process)
        self.process = None

    def _kill_other(self, kill: Kill) -> None:
        self._alive()
        with self._changing():
            time.sleep(kill.seconds)
            if kill.victim is Victim.SENDER:
                self.job.source.end_sender()
                time.sleep(0.5)
        if kill.victim is not Victim.SENDER:
            name = (self.job.source if kill.victim is Victim.SOURCE else self.job.target).server
            self.lane.kill(name)
            time.sleep(0.3)
            self.lane.server(name)
        self.killed.append(str(kill))
        with self._changing():
            time.sleep(0.5)

    # ---------------------------------------------------------------- the end

    def _is_equal(self, table: str) -> bool:
        """Whether source and target are equal; a driver runs meanwhile: the last one may have met a server that was
        away."""
        self._alive()
        return not self._differs(table)

    def _differs(self, table: str) -> str:
        try:
            return self.job.difference(table)
        except Exception as error:  # noqa: BLE001 - the target may be restarting
            return f"{type(error).__name__}: {error}"

    def _stop(self) -> None:
        assert self.process is not None
        words = ("jobs", "savepoint", "job", "--stop")
        said = seatunnel(self.job.home, *words)
        if "send the request again" in said.err:
            # The request was for the predecessor of a driver that has begun just now.
            said = seatunnel(self.job.home, *words)
        if said.code != 0:
            self.violations.append(f"it cannot be stopped: {said.err[-300:]}")
            if self.process.poll() is None:
                kill_driver(self.process)
        finish(self.process)
        self._balance()
        try:
            wait_for("nothing to be left", lambda: not self.job.left_behind(), SETTLED_SECONDS)
        except AssertionError:
            self.violations += [f"left behind: {one}" for one in self.job.left_behind()]
        home = str(self.job.home / ".seatunnel")
        if left := still_below(home, SETTLED_SECONDS):
            self.violations.append(f"left behind: processes {left}")

    def _balance(self) -> None:
        """Every row that was read is accounted for."""
        shown = seatunnel(self.job.home, "jobs", "show", "job", "--json").receipt["receipt"]
        if shown is None:
            self.violations.append("the last driver has left no receipt")
            return
        for table in shown["tables"]:
            read, *others = (table[f"rows_{name}"] for name in ("read", "written", "filtered", "rejected"))
            there = self.job.target.rows_written(table["table"].rpartition(".")[2])
            if read != sum(others) or there not in (None, others[0]):
                found = "" if there is None else f", {there} arrived"
                self.violations.append(
                    f"{table['table']}: {read} rows were read; written, filtered, rejected: {others}{found}"
                )


def run(
    case: Case,
    number: int,
    lane: Lane,
    root: Path,
    make: Callable[[Case, FollowingJob, Lane], Run] = Run,
    *,
    wide: bool = False,
) -> Outcome:
    """Run a case in a place of its own, which stays if anything is violated. ``wide``: its job has the wide
    table as well."""
    began, home = time.monotonic(), root / f"case{number}"
    home.mkdir(parents=True)
    outcome: Run | None = None
    try:
        outcome = make(case, job_of(case.recipe, home, next(_numbers), lane.server, wide=wide), lane)
        outcome.through()
        violations = outcome.violations
    except Exception:  # noqa: BLE001 - one broken case does not end the sweep
        violations = [*(outcome.violations if outcome else []), traceback.format_exc()[-1500:]]
    if outcome is not None and outcome.process is not None and outcome.process.poll() is None:
        kill_driver(outcome.process)
    if violations:
        (home / "case.txt").write_text(f"{case.name}\n" + "\n".join(violations))
    else:
        shutil.rmtree(home, ignore_errors=True)
    killed = tuple(outcome.killed) if outcome else ()
    return Outcome(case.name, case.recipe, killed, tuple(violations), time.monotonic() - began)
