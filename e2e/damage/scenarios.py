"""What is killed, kept, and put back for each case: a recipe, a checkpoint store, and the moments of some kills."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from psycopg import sql

from e2e.crash_sweep.files import FilesOut, FilesSource
from e2e.crash_sweep.place import Lane, Place
from e2e.crash_sweep.recipes import Recipe
from e2e.crash_sweep.tables import PostgresTable, SqliteTable
from e2e.damage.stores import JOB, STORES, Held, InDatabase, InDirectory, InObjects, held_in
from e2e.support import failing, write_job
from seatunnel_py import app
from seatunnel_py.api.resources import close_all
from seatunnel_py.runtime.home import Home

ROWS = 20  # of each split
KILLING = "read_limit.rows_per_second = 2500, unit.rows = 8"
GOING_ON = "unit.rows = 5, job.retry.times = 0"
"""Units are cut in another way than before, as time would cut them: nothing may rest on the same cuts."""
CHAINS = (
    ("driver.zero.durable",),
    ("worker.stage.after@4",),
    ("driver.record.durable@2",),
    ("driver.commit.after", "worker.stage.after"),
    ("driver.record.durable", "driver.commit.before"),
    ("driver.takeover.claimed",),
)


def _recipe(name: str, *targets: FilesOut | PostgresTable | SqliteTable, width: int = 2) -> Recipe:
    return Recipe(name, FilesSource(), targets, ROWS, f"parallelism = {width}")


RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _recipe("files", FilesOut("json")),
        _recipe("sqlite", SqliteTable(), width=1),
        _recipe("sqlite staged", SqliteTable(once=True), width=1),
        _recipe("fan-out", FilesOut("csv"), SqliteTable(once=True), width=1),
        _recipe("postgres direct", PostgresTable("direct")),
        _recipe("postgres staged", PostgresTable("staged")),
        _recipe("postgres prepared", PostgresTable("prepared"), width=1),
        _recipe("postgres fresh", PostgresTable("fresh")),
    )
}
LOCAL = "local files"
SCENARIOS = tuple((recipe, store) for store in (LOCAL, *STORES) for recipe in RECIPES)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one chain of kills has left: the home, the store where it is elsewhere, a copy of the target's database."""

    chain: tuple[str, ...]
    home: Path
    held: Held
    database: str = ""


@dataclass(slots=True)
class Scenario:
    """``place`` is where its jobs run, always the same: paths and names of databases stand in what is stored."""

    recipe: Recipe
    store: str
    place: Place
    kept: list[Kept] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.recipe.name}, {self.store}"

    @property
    def at(self) -> InDirectory | InDatabase | InObjects | None:
        return None if self.store == LOCAL else STORES[self.store](self.place.home)

    @property
    def job(self) -> Path:
        """The directory of the job in its home."""
        return self.place.home / ".seatunnel" / "jobs" / JOB

    def begin(self, chains: tuple[tuple[str, ...], ...]) -> None:
        """Kill its drivers, and keep what they leave."""
        for number, chain in enumerate(chains):
            home = self.place.home
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            place = replace(self.place, name=f"{self.place.name}{number}") if self._databases else self.place
            self.recipe.source.prepare(place, list(self.recipe.wanted()))
            for target in self.recipe.targets:
                target.prepare(place)
            armed = (f"{point.partition('@')[0]}:kill@{point.partition('@')[2] or 1}" for point in chain)
            if all(self._killed(place, point, turn) for turn, point in enumerate(armed)):
                self._keep(place, chain, number)
        assert len(self.kept) >= min(2, len(chains)), f"{self.name}: nothing to damage"

    def _killed(self, place: Place, armed: str, turn: int) -> bool:
        """A driver in a process of its own: a copy of this one, which has imported all there is to import. False: it
        came to its end before that moment, on a machine that was slow."""
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
        text = self.recipe.job(place, paced=False, tries=f"{env}, log.level = ERROR")
        return text.replace("env {", f"env {{ {where}", 1)

    def _keep(self, place: Place, chain: tuple[str, ...], number: int) -> None:
        home = self.place.home.with_name(f"{self.place.home.name}-{number}")
        write_job(self.place.home, self._text(place, GOING_ON, None if self.at is None else self.at.location))
        held = held_in(self.place.home / "store" / JOB)
        shutil.rmtree(self.place.home / "store", ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self.place.home, home)
        if self._databases:
            with place.on_postgres() as connection:
                waiting = connection.execute(
                    "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"
                ).fetchone()
            if waiting and waiting[0]:  # a copy of the database would be without them
                return
            self._copy(place.name, f"{place.name}_kept")
        self.kept.append(Kept(chain, home, held, place.name if self._databases else ""))

    def put_back(self, kept: Kept) -> None:
        """Home and target are as the killed driver left them; the store is put by the case."""
        close_all()  # a connection that is kept warm still sees the file of the case before
        shutil.rmtree(self.place.home, ignore_errors=True)
        shutil.copytree(kept.home, self.place.home)
        if kept.database:
            self._copy(f"{kept.database}_kept", kept.database)

    def target(self, kept: Kept) -> Place:
        return replace(self.place, name=kept.database) if kept.database else self.place

    def _copy(self, source: str, into: str) -> None:
        names = {"source": sql.Identifier(source), "into": sql.Identifier(into)}
        with self.place.on_postgres("postgres") as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {into} WITH (FORCE)").format(**names))
            ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            connection.execute(ends, [source])
            copy = "CREATE DATABASE {into} TEMPLATE {source} STRATEGY file_copy"
            connection.execute(sql.SQL(copy).format(**names))

    @property
    def _databases(self) -> bool:
        return "postgres" in self.recipe.servers


def scenario(recipe: str, store: str, root: Path, lane: Lane) -> Scenario:
    name = f"{recipe}_{store}".replace(" ", "_").replace("-", "_")
    return Scenario(RECIPES[recipe], store, Place(name, root / name, lane))
