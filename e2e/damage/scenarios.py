"""What is killed, kept, and put back for each case: a recipe, a checkpoint store, and the moments of some kills."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from e2e.crash_sweep.judge import Row
from e2e.crash_sweep.place import Lane, Place
from e2e.damage import targets
from e2e.damage.recipes import LOCAL, RECIPES, Chain, Damaged
from e2e.damage.stores import JOB, STORES, Held, Store, held_in
from e2e.damage.things import STORE, Others, Things
from e2e.support import failing, write_job
from seatunnel_py import app
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.runtime.storage.home import Home

KILLING = "read_limit.rows_per_second = 2500, unit.rows = 8"
GOING_ON = "unit.rows = 5, job.retry.times = 0"
"""Units are cut in another way than before, as time would cut them: nothing may rest on the same cuts."""
NOT_STORED = {"lock", "job.log"}
"""What a driver holds, and what Spark says: nothing is read from them."""
TRIES_MAX = 5
WRITTEN_AT = 1_700_000_000
"""Of all input files: a record of another job is not refused because its source has changed."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one chain of kills has left: the home, everything that the job has stored, the same after each earlier kill,
    the place of its targets, and the rows that were visible there."""

    chain: Chain
    home: Path
    things: Things
    older: tuple[Things, ...]
    place: Place
    number: int
    rows: Sequence[Sequence[Row]]


@dataclass(slots=True)
class Scenario:
    """``place`` is where its jobs run, always the same: paths and names of databases stand in what is stored."""

    damaged: Damaged
    store: str
    place: Place
    kept: list[Kept] = field(default_factory=list)
    at: Store | None = None
    number: int = 0

    @property
    def name(self) -> str:
        return f"{self.damaged.recipe.name}, {self.store}"

    @property
    def job(self) -> Path:
        """The directory of the job in its home."""
        return self.place.home / ".seatunnel" / "jobs" / JOB

    def begin(self, chains: Sequence[Chain]) -> None:
        """Kill its drivers, and keep what they leave."""
        self.at = None if self.store == LOCAL else STORES[self.store](self.place)
        self.kept += [kept for chain in chains if (kept := self._kill(chain)) is not None]
        assert len(self.kept) >= min(2, len(chains)), f"{self.name}: nothing to damage"

    def chosen(self, chance: random.Random) -> Kept:
        """What a case begins with; all is as the killed driver left it."""
        kept = chance.choice(self.kept)
        if not self.damaged.anew:
            self.put_back(kept)
            return kept
        for _ in range(TRIES_MAX):
            anew = self._kill(kept.chain)
            if anew is not None:
                return anew
        raise AssertionError(f"{self.name}: {kept.chain} ended {TRIES_MAX} times before that moment")

    def others(self, kept: Kept) -> Others:
        """What may lie in the wrong place."""
        return Others(kept.older, [other.things for other in self.kept if other.chain != kept.chain])

    # ---------------------------------------------------------------- killing

    def _kill(self, chain: Chain) -> Kept | None:
        """A job of its own, and all its drivers. None: one came to its end before that moment, on a slow machine."""
        self.number += 1
        home, recipe = self.place.home, self.damaged.recipe
        topic = "kafka" in recipe.servers  # its records stay: the next has another name
        place = replace(self.place, name=f"{self.place.name}{self.number}") if topic else self.place
        close_all()
        targets.drop(place, recipe.servers)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        recipe.source.prepare(place, list(recipe.wanted()))
        for path in place.inputs.glob("*"):
            os.utime(path, (WRITTEN_AT, WRITTEN_AT))
        for target in recipe.targets:
            target.prepare(place)
        stages: list[Things] = []
        for turn, point in enumerate(chain):
            name, _, hit = point.partition("@")
            if not self._killed(place, f"{name}:kill@{hit or 1}", turn):
                return None
            stages.append(self._things())
        return self._keep(place, chain, stages)

    def _killed(self, place: Place, armed: str, turn: int) -> bool:
        """A driver in a process of its own: a copy of this one, which has imported all there is to import. False: it
        came to its end before that moment."""
        location = None if self.store == LOCAL else str(self.place.home / "store")
        write_job(self.place.home, self._text(place, KILLING, location))
        close_all()
        driver = os.fork()
        if driver == 0:
            self._die(failing(armed, self.place.home / f"points{turn}"), restore=bool(turn))
        _, status = os.waitpid(driver, 0)
        said = "" if os.WIFSIGNALED(status) else (self.place.home / "said").read_text()
        assert not said or "DONE" in said, f"{self.name}, {armed}: {said}"
        return not said

    def _die(self, points: Mapping[str, str], *, restore: bool) -> NoReturn:
        try:
            os.environ.update(points)
            options = app.RunOptions({}, JOB, restore=app.LATEST if restore else None, local=True)
            home = Home(self.place.home / ".seatunnel")
            said = str(app.run(self.place.home / "job.conf", options, home, lambda _: None, lambda _: None))
        except BaseException as error:  # noqa: BLE001 - whatever it is, this copy goes no further
            said = repr(error)
        (self.place.home / "said").write_text(said)
        os._exit(1)

    def _text(self, place: Place, env: str, location: str | None) -> str:
        where = "" if location is None else f'checkpoint.location = "{location}",'
        text = self.damaged.recipe.job(place, paced=False, tries=f"{env}, log.level = ERROR")
        return text.replace("env {", f"env {{ {where}", 1)

    def _keep(self, place: Place, chain: Chain, stages: Sequence[Things]) -> Kept:
        write_job(self.place.home, self._text(place, GOING_ON, None if self.at is None else self.at.location))
        shutil.rmtree(self.place.home / "store", ignore_errors=True)
        rows = [list(target.rows(place)) for target in self.damaged.recipe.targets]
        home = self.place.home.with_name(f"{self.place.home.name}-{self.number}")
        if not self.damaged.anew:
            shutil.copytree(self.place.home, home)
            if self._in_postgres:
                targets.keep(place, self.number)
        if self.at is not None:
            self.at.put(_held(stages[-1]))
        return Kept(chain, home, stages[-1], tuple(stages[:-1]), place, self.number, rows)

    # ---------------------------------------------------------------- what is stored

    def _things(self) -> Things:
        paths = sorted(path for path in self.job.rglob("*") if path.is_file() and path.name not in NOT_STORED)
        held = held_in(self.place.home / "store" / JOB)
        files = {str(path.relative_to(self.job)): path.read_bytes() for path in paths}
        return files | {f"{STORE}{name}+{part}": data for (name, part), data in held.items()}

    def write(self, before: Things, things: Things) -> None:
        """These things are there, instead of those before."""
        files = {name for name in {*before, *things} if not name.startswith(STORE)}
        for name in files:
            path, data = self.job / name, things.get(name)
            if data is None:
                path.unlink(missing_ok=True)
            elif data != before.get(name):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        for folder in sorted(
            {path for name in files for path in (self.job / name).parents if self.job in path.parents}
        ):
            if folder.is_dir() and not any(path.is_file() for path in folder.rglob("*")):
                shutil.rmtree(folder)
        if self.at is not None:
            self.at.put(_held(things))

    # ---------------------------------------------------------------- putting back

    def put_back(self, kept: Kept) -> None:
        """Home, store and targets are as the killed driver left them."""
        close_all()  # a connection that is kept warm still sees the file of the case before
        shutil.rmtree(self.place.home, ignore_errors=True)
        shutil.copytree(kept.home, self.place.home)
        if self._in_postgres:
            targets.put_back(kept.place, kept.number)
        if self.at is not None:
            self.at.put(_held(kept.things))

    @property
    def _in_postgres(self) -> bool:
        return any(target.server == "postgres" for target in self.damaged.recipe.targets)


def _held(things: Things) -> Held:
    held: Held = {}
    for name, data in things.items():
        if name.startswith(STORE):
            key, _, part = name.removeprefix(STORE).rpartition("+")
            held[key, int(part)] = data
    return held


def scenario(recipe: str, store: str, root: Path, lane: Lane) -> Scenario:
    name = f"{recipe}_{store}".replace(" ", "_").replace("-", "_").lower()
    return Scenario(RECIPES[recipe], store, Place(name, root / name, lane))
