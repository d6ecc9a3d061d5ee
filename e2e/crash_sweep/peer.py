"""The same on SeaTunnel: ``python -m e2e.crash_sweep.peer [--journal FILE] [--ours FILE] [--page FILE]``

SeaTunnel has no failpoints: its engine is killed when its log says that it is in some phase, and at seeded random
moments; the server under it too. It goes on by its own means: the job is restored by its id, in a new engine with the
same place for checkpoints. Its rows are judged like ours. A job without any kill shows what it does undisturbed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from bench.peer.home import prepare
from e2e.crash_sweep import judge, page, report
from e2e.crash_sweep.lanes import Sweep
from e2e.crash_sweep.peer_engine import DidNotAnswer, Engine
from e2e.crash_sweep.peer_jobs import RECIPES, SOURCE, PeerRecipe
from e2e.crash_sweep.place import Lane, Place
from e2e.crash_sweep.report import Outcome

TRIGGERED, STORED = "wait checkpoint completed", "notify finished!"
COMMITTING, LAST = "start notify checkpoint completed", "checkpoint id:9223372036854775807"
PHASES = {"a barrier is sent": TRIGGERED, "a checkpoint is stored": STORED, "a commit begins": COMMITTING}
SEED, RANDOM_KILLS, RANDOM_SECONDS_MAX = 13, 3, 8.0
FIRST_JOB_ID = 771_000
JOB_SECONDS_MAX = 180.0
RESTORES_MAX = 4
ENGINE, SERVER = "engine", "server"


@dataclass(frozen=True, slots=True)
class PeerKill:
    """``victim`` dies when the log has said ``phase`` for the ``hit``-th time, then ``seconds`` later."""

    victim: str
    when: str
    phase: str
    hit: int = 1
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.victim} at {self.when}"


@dataclass(frozen=True, slots=True)
class PeerCase:
    """One job; without a kill it shows what happens undisturbed."""

    recipe: PeerRecipe
    kill: PeerKill | None

    @property
    def name(self) -> str:
        return f"{self.recipe.name}: {self.kill or 'undisturbed'}"


def cases() -> Iterator[PeerCase]:
    """Recipe by recipe in turns."""
    yield from filter(None, chain.from_iterable(zip_longest(*map(_of_recipe, RECIPES))))


def _of_recipe(recipe: PeerRecipe) -> Iterator[PeerCase]:
    # A job's first sign of life is its first checkpoint's barrier; random moments count from there.
    chance = random.Random(f"{SEED} {recipe.name}")
    yield PeerCase(recipe, None)
    yield PeerCase(recipe, PeerKill(ENGINE, "its last commit begins", LAST))
    for hit in (2, 4):
        for when, phase in PHASES.items():
            yield PeerCase(recipe, PeerKill(ENGINE, f"{when}@{hit}", phase, hit))
    for victim in (SERVER, ENGINE):
        for _ in range(RANDOM_KILLS):
            seconds = round(chance.uniform(0, RANDOM_SECONDS_MAX), 2)
            yield PeerCase(recipe, PeerKill(victim, f"{seconds} s", TRIGGERED, 1, seconds))
    for when, phase in (("a commit begins", COMMITTING), ("its last commit begins", LAST)):
        yield PeerCase(recipe, PeerKill(SERVER, when, phase))


class PeerRun:
    """One job of one case."""

    def __init__(self, case: PeerCase, number: int, place: Place) -> None:
        self.case, self.place = case, place
        self.job_id = FIRST_JOB_ID + number  # transactions of all databases of a server are named after it
        self.answered = ""
        self.killed: list[str] = []
        self.violations: list[str] = []
        self._home = prepare().beside(place.home / "peer")
        self._job = place.home / "job.conf"
        self._begun = False

    def prepare(self) -> None:
        SOURCE.prepare(self.place, list(self.case.recipe.wanted()))
        self.case.recipe.target.prepare(self.place)
        self._job.write_text(self.case.recipe.job(self.place))

    def to_the_end(self) -> None:
        for kill in (self.case.kill, *[None] * RESTORES_MAX):
            try:
                if self._life(kill):
                    return
            except DidNotAnswer as silent:
                self.answered = str(silent)
        self.violations.append(f"the job does not end: {self.answered}")

    def _life(self, kill: PeerKill | None) -> bool:
        """Whether the job has ended well in this life of the engine."""
        engine = Engine(self._home)
        try:
            engine.submit(self._job, self.job_id, restore=self._begun)
            self._begun = True
            if kill is not None and self._is_time(engine, kill):
                self.killed.append(str(kill))
                if kill.victim == ENGINE:
                    return False
                self.place.lane.kill("postgres")
                self.place.lane.server("postgres")
            answer = engine.answer(JOB_SECONDS_MAX)
            self.answered = f"{answer['status']}: {' '.join(answer['error'].split())[:200]}"
            return bool(answer["status"] == "FINISHED")
        finally:
            engine.kill9()  # nothing of a job that has ended needs an orderly end

    def _is_time(self, engine: Engine, kill: PeerKill) -> bool:
        if not engine.wait_for(lambda: engine.said(kill.phase) >= kill.hit, JOB_SECONDS_MAX):
            return False
        moment = time.monotonic() + kill.seconds
        return engine.wait_for(lambda: time.monotonic() >= moment, JOB_SECONDS_MAX)

    def look(self) -> None:
        target = self.case.recipe.target
        self.violations += judge.content(list(self.case.recipe.wanted()), target.rows(self.place))
        self.violations += [f"left behind: {one}" for one in self.case.recipe.left_behind(self.place)]


def run(case: PeerCase, number: int, lane: Lane, root: Path) -> Outcome:
    """Run a case in a place of its own; what is violated stays there to be looked at."""
    began = time.monotonic()
    place = Place(f"peer{number}", root / f"peer{number}", lane)
    place.home.mkdir(parents=True)
    job = PeerRun(case, number, place)
    try:
        job.prepare()
        job.to_the_end()
        job.look()
    except Exception:  # noqa: BLE001 - one broken case does not end the sweep
        job.violations.append(traceback.format_exc()[-1500:])
    if not job.violations:
        shutil.rmtree(place.home, ignore_errors=True)
    seconds = time.monotonic() - began
    return Outcome(case.name, case.recipe.name, tuple(job.killed), tuple(job.violations), seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.crash_sweep.peer", description=__doc__)
    parser.add_argument(
        "--journal", type=Path, default=Path(".cache/crash-sweep/peer.jsonl"), help="goes on from there"
    )
    parser.add_argument("--ours", type=Path, help="the journal of our sweep, to be printed beside it")
    parser.add_argument("--page", type=Path, default=Path("docs/crash-sweep.md"), help="where the tables are written")
    parser.add_argument("--only", default="", help="only cases whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no case after so long: a chunk")
    given = parser.parse_args()
    prepare()
    sweep = Sweep([case for case in cases() if given.only in case.name], run, given.journal, given.minutes)
    sweep.run(given.jobs)
    ours = report.load(given.ours) if given.ours else []
    print(page.compared(ours, sweep.outcomes))
    given.page.write_text(page.text(ours, sweep.outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
