"""What is killed, and where; pure. A case is one job: runs one after the other, kills in each, and a last run to the end.

Rules. (1) Workers may be killed several times in one run: the driver goes on. (2) Whatever ends the driver is the last
thing in its run. (3) The short form passes every failpoint of the driver, of units and of each recipe at least once; the
long form every one for every recipe it applies to, and the other victims on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from e2e.crash_sweep.recipes import RECIPES, Recipe


class Victim(StrEnum):
    """``JVM`` is that of an executor (F9); ``OLDER`` a driver that is stopped, overtaken by another one, and woken up
    again. Where ``NOBODY`` dies the moment raises an error, each time from then on: attempts and lives are used up."""

    DRIVER = "driver"
    WORKER = "Python worker"
    JVM = "executor JVM"
    SERVER = "server"
    OLDER = "older driver"
    NOBODY = "an error"


@dataclass(frozen=True, slots=True)
class Kill:
    """``victim`` dies when the failpoint is passed for the ``hit``-th time in its run."""

    point: str
    victim: Victim = Victim.DRIVER
    hit: int = 1

    @property
    def spec(self) -> str:
        if self.victim is Victim.NOBODY:
            return f"{self.point}:error@{self.hit}-"
        own = self.victim in (Victim.DRIVER, Victim.WORKER)
        return f"{self.point}:{'kill' if own else 'pause'}@{self.hit}"

    def __str__(self) -> str:
        return f"{self.victim} at {self.point}@{self.hit}"


@dataclass(frozen=True, slots=True)
class Case:
    """``local`` runs units in the driver's own process: cheap, where the moment is the driver's."""

    recipe: str
    runs: tuple[tuple[Kill, ...], ...]
    local: bool = False

    @property
    def name(self) -> str:
        kills = "; ".join(" + ".join(map(str, run)) for run in self.runs)
        return f"{self.recipe}{' (in process)' if self.local else ''}: {kills}"

    @property
    def kills(self) -> tuple[Kill, ...]:
        return tuple(kill for run in self.runs for kill in run)

    @property
    def size(self) -> int:
        """About how long it takes: its drivers, and Spark for each."""
        return (len(self.runs) + 1) * (1 if self.local else 4)

    @property
    def paced(self) -> bool:
        """Whether a driver dies, so that later ones must find something to do."""
        return any(kill.victim in (Victim.DRIVER, Victim.OLDER) for kill in self.kills)

    @property
    def tried_long(self) -> bool:
        """Whether what fails is to be tried until it passes."""
        return all(kill.victim is not Victim.NOBODY for kill in self.kills)


# In the order in which a job passes them, so that several can be killed at one after the other.
BEGINNING = (
    "driver.takeover.taken", "driver.takeover.claimed", "driver.store.drafted", "driver.zero.durable",
    "driver.setup.before", "driver.setup.after",
)  # fmt: skip
RUNNING = (
    "driver.takeover.fenced", "driver.checkpoint.acknowledged", "driver.record.before", "driver.record.durable",
    "driver.commit.before", "driver.commit.after", "driver.commit.confirmed", "driver.record.deleted",
)  # fmt: skip
ENDING = ("driver.final.durable", "driver.end.before")
CHANNELS = ("driver.journal.before", "driver.journal.written")
WORKERS = ("worker.unit.began", "worker.unit.half", "worker.stage.before", "worker.stage.after")
STAGING = ("worker.unit.half", "worker.stage.before", "worker.stage.after")
"""Moments of a unit at which the driver dies: in process it is the worker too."""
HALF_WRITTEN = Kill("driver.store.drafted", hit=3)  # behind the incarnation and the claim: a record
OVERTAKEN = ("driver.commit.before", "driver.record.before", "driver.checkpoint.acknowledged")
OF_RECIPE = {
    "postgres": ("postgres.commit.before", "postgres.commit.inside", "postgres.commit.after", "postgres.recover.fenced"),
    "statements": (
        "statements.commit.before", "statements.commit.inside", "statements.commit.after", "statements.recover.fenced",
    ),
    "mysql": (
        "mysql.commit.before", "mysql.commit.commented", "mysql.commit.renamed", "mysql.commit.inside",
        "mysql.commit.after", "mysql.commit.dropped", "statements.recover.fenced",
    ),
    "files": ("files.commit.before", "files.commit.inside", "files.commit.published", "files.commit.after"),
    "kafka": (
        "kafka.commit.before", "kafka.commit.inside", "kafka.commit.committed", "kafka.commit.after",
        "kafka.commit.written", "kafka.commit.fenced",
    ),
}  # fmt: skip
OF_UNITS = {
    "postgres": ("postgres.unit.written", "postgres.unit.committed"),
    "statements": ("statements.unit.written", "statements.unit.committed"),
    "mysql": ("statements.unit.written", "statements.unit.committed"),
    "files": ("files.unit.written",),
    "kafka": ("kafka.unit.staged",),
}
COMPOSED = "files.commit.composed"
EARLY, LATE = ("driver.record.durable", "driver.final.durable"), (".fenced", ".commit.confirmed", ".record.deleted")
IN_THE_LAST_COMMIT = "mysql.commit."
MOMENTS: Mapping[str, tuple[str, ...]] = {
    "p1 staging has begun": ("worker.unit.half",),
    "p2 everything staged, nothing confirmed": ("worker.stage.before",),
    "p3 confirmed, not acknowledged": ("worker.stage.after",),
    "p4 some have acknowledged": ("driver.checkpoint.acknowledged",),
    "p5 all have acknowledged, nothing is stored": ("driver.record.before",),
    "p6 the record is in the store, but not under its name": ("driver.store.drafted@3",),
    "p7 the record is durable": ("driver.record.durable", "driver.final.durable"),
    "p8 before the target's commit": (".commit.before",),
    "p9 inside the target's commit": (".commit.inside",),
    "p10 the target has committed, the driver does not know": (
        ".commit.after",
        ".commit.published",
        ".commit.committed",
    ),
    "p11 the driver knows": ("driver.commit.confirmed",),
    "p12 cleaning up": ("driver.record.deleted",),
}
"""The twelve crash points of a commit; each is reached at failpoints of these names, or with these ends."""


def is_moment(name: str, point: str) -> bool:
    """Whether a driver that dies at ``point``, a failpoint with the number of its hit, dies at that moment."""
    return point in MOMENTS[name] or point.partition("@")[0].endswith(MOMENTS[name])


BY_OTHERS = {
    "kafka.unit.confirmed": "only an at-least-once sink has confirmed records before their commit",
    "driver.abort.before": "only a job that fails takes back what it staged",
    "driver.abort.after": "only a job that fails takes back what it staged",
    "assert.commit.before": "Assert holds no rows (e2e/test_sinks_without_rows.py)",
    "assert.commit.after": "Assert holds no rows (e2e/test_sinks_without_rows.py)",
    "console.commit.before": "what is printed cannot be asked for (e2e/test_sinks_without_rows.py)",
    "console.commit.after": "what is printed cannot be asked for (e2e/test_sinks_without_rows.py)",
    "store.copy.table": "no job passes it (tests/control/several/test_moved_store.py)",
    "store.restore.copied": "no job passes it (tests/control/several/test_moved_store.py)",
}
"""Failpoints that no case here and none of `e2e.cdc_sweep` can pass, and why."""


def driver_points(recipe: Recipe) -> tuple[str, ...]:
    """Every moment of the driver that a job of this recipe passes."""
    channels = CHANNELS if len(recipe.targets) > 1 else ()
    committers = [point for target in recipe.targets for point in OF_RECIPE[target.recipe]]
    single = (COMPOSED,) if recipe.name == "files single" else ()
    return (*BEGINNING, *channels, *RUNNING, *committers[:2], *single, *committers[2:], *ENDING)


def worker_points(recipe: Recipe) -> tuple[str, ...]:
    """Every moment of a unit of this recipe."""
    return (*WORKERS, *(point for target in recipe.targets for point in OF_UNITS[target.recipe]))


def errors(recipe: Recipe) -> Case:
    """A job that fails in each of its units' moments, behind some units, and before its commit; it goes on each time.
    A unit whose transaction is committed does not fail again: the next attempt finds it."""
    behind = 1 if recipe.name == "files single" else 2
    points = [point for point in worker_points(recipe) if not point.endswith(".unit.committed")]
    units = [Kill(point, Victim.NOBODY, behind) for point in points]
    commits = [Kill(OF_RECIPE[target.recipe][0], Victim.NOBODY) for target in recipe.targets]
    return Case(recipe.name, tuple((kill,) for kill in (*units, *commits)), local=True)


def long_form() -> Iterator[Case]:
    """All of it, recipe by recipe in turns: wherever a chunk ends, every recipe has had its part."""
    for turn in zip_longest(*map(_of_recipe, RECIPES.values())):
        yield from filter(None, turn)


def _of_recipe(recipe: Recipe) -> Iterator[Case]:
    """First what is quick, and each kind of victim; then everything else, and the driver's moments on Spark too."""
    chains = [tuple((Kill(point),) for point in chain) for chain in _chains(driver_points(recipe))]
    few = recipe.name == "files single"  # has one file for each of its two splits, and passes nothing more often
    hits = (1,) if few else (1, 3)
    workers = [(tuple(Kill(point, Victim.WORKER, hit) for point in worker_points(recipe)),) for hit in hits]
    jvms = tuple((Kill(point, Victim.JVM, 1 if few else 2),) for point in worker_points(recipe))
    older = [((Kill(point, Victim.OLDER, 2),),) for point in OVERTAKEN]
    inside = [point for target in recipe.targets for point in OF_RECIPE[target.recipe][1:3]]
    units = [point for target in recipe.targets for point in OF_UNITS[target.recipe]]
    servers = [((Kill(point, Victim.SERVER),),) for point in (*inside, *units) if recipe.servers]
    # In process, what is stopped with the driver may hold the lock of SQLite's file, or of MariaDB's counter.
    in_process = not recipe.name.startswith(("sqlite", "mariadb"))

    yield Case(recipe.name, tuple((Kill(point),) for point in STAGING), local=True)
    if len(recipe.targets) == 1:  # of several one that fails is left out, and the others end well
        yield errors(recipe)
    yield from (Case(recipe.name, chain, local=True) for chain in (*chains, ((HALF_WRITTEN,),)))
    yield from (Case(recipe.name, runs) for runs in (workers[0], *servers[:1]))
    yield Case(recipe.name, older[0], local=in_process)
    yield from (Case(recipe.name, runs) for runs in (jvms, *workers[1:], *servers[1:], *older[not in_process :]))
    yield from (Case(recipe.name, runs, local=True) for runs in older[1:] if in_process)
    yield from (Case(recipe.name, chain) for chain in chains)


def short_form() -> Iterator[Case]:
    """What a change is held up by: every failpoint and every victim at least once."""
    for recipe in ("postgres shadow", "files json"):
        points = tuple(point for point in driver_points(RECIPES[recipe]))
        for chain in _chains(points, 6):
            yield Case(recipe, tuple((Kill(point),) for point in chain), local=True)
    for recipe in ("postgres append", "mariadb", "sqlite", "files single"):
        own = tuple(point for target in RECIPES[recipe].targets for point in OF_RECIPE[target.recipe])
        points = (*own[:2], COMPOSED, *own[2:]) if recipe == "files single" else own
        yield Case(recipe, tuple((Kill(point),) for point in points), local=True)
    yield Case("fan-out", tuple((Kill(point, hit=2),) for point in CHANNELS))
    yield errors(RECIPES["postgres direct"])
    for recipe in ("postgres native", "mariadb", "files parquet"):
        yield Case(recipe, (tuple(Kill(point, Victim.WORKER) for point in worker_points(RECIPES[recipe])),))
    yield Case("postgres append", ((Kill("postgres.unit.committed", Victim.JVM, 2),),))
    yield Case("postgres shadow", ((Kill("postgres.commit.inside", Victim.SERVER),),))
    yield Case("mariadb", ((Kill("statements.unit.written", Victim.SERVER, 3),),), local=True)
    yield Case("postgres upsert", ((Kill("driver.commit.before", Victim.OLDER, 2),),))
    for recipe in ("postgres staged", "mariadb staged", "mariadb shadow", "kafka"):
        own = tuple(point for target in RECIPES[recipe].targets for point in OF_RECIPE[target.recipe])
        yield Case(recipe, tuple((Kill(point),) for point in own), local=True)


def _chains(points: Sequence[str], length: int = 4) -> Iterator[tuple[str, ...]]:
    """Cut into chains, each in the order in which a job passes its points; but a record that is not the last one comes
    first, for later lives may have nothing more to read, and what every life comes by, or lies behind a commit, last;
    behind that only what the last commit alone passes."""
    for at in range(0, len(points), length):
        yield tuple(sorted(points[at : at + length], key=_turn))


def _turn(point: str) -> int:
    return 2 if point.startswith(IN_THE_LAST_COMMIT) else point.endswith(LATE) - point.endswith(EARLY)
