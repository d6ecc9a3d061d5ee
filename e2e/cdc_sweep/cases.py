"""What is killed, and where; pure. A case is one job, which is killed several times; the first time while it copies.

Rules. (1) Each failpoint that a recipe passes is in the long form, at an early and at a later hit. (2) The other victims
die at moments that the seed of the case chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Victim(StrEnum):
    """``MOMENT``: the driver at a moment; ``SENDER``: the process of the server that sends the log."""

    DRIVER = "driver"
    MOMENT = "driver, by time"
    SENDER = "sender of the log"
    SOURCE = "source server"
    TARGET = "target server"


@dataclass(frozen=True, slots=True)
class Kill:
    """``point``: for DRIVER, the failpoint, passed for the ``hit``-th time; ``seconds``: for others, after this time.
    ``change``: a statement that the source runs before."""

    victim: Victim
    point: str = ""
    hit: int = 1
    seconds: float = 0.0
    change: str = ""

    def __str__(self) -> str:
        where = f"{self.point}@{self.hit}" if self.point else f"{self.seconds:.1f} s"
        return f"{self.victim} at {where}{f' after {self.change}' if self.change else ''}"


@dataclass(frozen=True, slots=True)
class Case:
    recipe: str
    seed: int
    kills: tuple[Kill, ...]

    @property
    def name(self) -> str:
        return f"{self.recipe} #{self.seed}: {'; '.join(map(str, self.kills))}"


RUNNING = (
    "driver.takeover.taken", "driver.takeover.claimed", "driver.takeover.fenced", "driver.journal.before",
    "driver.journal.written", "driver.checkpoint.acknowledged", "driver.record.before", "driver.store.drafted",
    "driver.record.durable", "driver.commit.before", "driver.commit.after", "driver.commit.confirmed",
    "driver.record.deleted", "worker.unit.began", "worker.unit.half", "worker.stage.before", "worker.stage.after",
)  # fmt: skip
BEGINNING = ("driver.zero.durable", "driver.setup.before", "driver.setup.after", "driver.final.durable")
CHANGES = ("driver.schema.before", "driver.schema.altered", "driver.savepoint.durable")
CLAIMS = ("postgres_cdc.publication.made", "postgres_cdc.slot.made")
CONFIRMS = ("postgres_cdc.position.confirmed",)
ALTER, TRUNCATE = "ALTER TABLE orders ADD COLUMN more{} int DEFAULT {}", "TRUNCATE TABLE customers"
OF_RECIPE = {
    "postgres by key": ("postgres.unit.written", "postgres.unit.committed"),
    "postgres two-phase": ("postgres.commit.before", "postgres.commit.inside", "postgres.commit.after"),
    "postgres to files": ("files.unit.written", "files.commit.inside", "files.commit.published", "files.commit.after"),
    "mariadb by key": ("postgres.unit.written", "postgres.unit.committed"),
    "mariadb two-phase": ("postgres.commit.before", "postgres.commit.inside", "postgres.commit.after"),
}
KILLS_OF_A_CASE = 5
LATER_HITS = (1, 4)


def long_form(seed: int = 1) -> list[Case]:
    """At least 500 kills."""
    return [case for recipe in OF_RECIPE for case in _cases(recipe, seed, LATER_HITS, others=38)]


def short_form() -> list[Case]:
    """A case of two recipes."""
    chosen = ("postgres two-phase", "mariadb by key")
    return [next(iter(_cases(recipe, 1, (1,), others=4)), Case(recipe, 0, ())) for recipe in chosen]


def _cases(recipe: str, seed: int, hits: tuple[int, ...], others: int) -> Iterator[Case]:
    random = Random(f"{recipe} {seed}")
    follows_changes = "files" not in recipe
    later = [Kill(Victim.DRIVER, point, hit) for point in (*RUNNING, *OF_RECIPE[recipe]) for hit in hits]
    later += [Kill(Victim.DRIVER, point) for point in CONFIRMS if recipe.startswith("postgres")]
    if follows_changes:
        later += [Kill(Victim.DRIVER, point, change=change) for point in CHANGES for change in (ALTER, TRUNCATE)]
    victims = [Victim.MOMENT, Victim.SENDER, Victim.SOURCE, *([Victim.TARGET] if follows_changes else [])]
    later += [Kill(victims[at % len(victims)], seconds=random.choice((0.3, 0.8, 1.5, 2.5))) for at in range(others)]
    random.shuffle(later)
    claims = CLAIMS if recipe.startswith("postgres") else ()
    first = [Kill(Victim.DRIVER, point, hit) for point in (*claims, *BEGINNING) for hit in hits]
    first += [Kill(Victim.MOMENT, seconds=seconds) for seconds in (0.4, 0.7, 1.0)]
    random.shuffle(first)
    number = 0
    while later:
        part, later = later[: KILLS_OF_A_CASE - 1], later[KILLS_OF_A_CASE - 1 :]
        yield Case(recipe, seed * 1000 + number, (first[number % len(first)], *part))
        number += 1
