"""Which jobs are damaged: their targets, the moments at which drivers are killed, and how often each is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from e2e.crash_sweep.files import FilesOut, FilesSource
from e2e.crash_sweep.recipes import Recipe, Source, Target
from e2e.crash_sweep.tables import MariadbTable, PostgresSource, PostgresTable, SqliteTable
from e2e.crash_sweep.topics import KafkaTopic
from e2e.damage.stores import STORES

ROWS = 20  # of each split
LOCAL = "local files"
Chain = tuple[str, ...]
CHAINS: tuple[Chain, ...] = (
    ("driver.zero.durable",),
    ("worker.stage.after@4",),
    ("driver.record.durable@2",),
    ("driver.commit.after", "worker.stage.after"),
    ("driver.record.durable", "driver.commit.before"),
    ("driver.takeover.claimed",),
    ("driver.final.durable",),
)
INSIDE: Mapping[str, tuple[Chain, ...]] = {
    "postgres": (
        ("postgres.unit.written@3",),
        ("postgres.commit.inside",),
        ("driver.record.durable", "postgres.commit.after"),
    ),
    "statements": (("statements.commit.inside",), ("driver.record.durable", "statements.commit.after")),
    "mysql": (("mysql.commit.commented",), ("mysql.commit.renamed",), ("driver.zero.durable", "mysql.commit.after")),
    "files": (("files.commit.inside@3",), ("driver.record.durable", "files.commit.published")),
    "kafka": (("kafka.commit.inside",), ("driver.record.durable", "kafka.commit.committed")),
}
"""Moments in the commits of each kind of target."""
PER_SPLIT = "source.consistency = per-split"


@dataclass(frozen=True, slots=True)
class Damaged:
    """``weight``: how often it is tried, where others are tried once. ``anew``: the server's state cannot be put back
    (numbers of tables, prepared transactions, topics), so that drivers are killed anew for each case."""

    recipe: Recipe
    weight: float = 1.0
    anew: bool = False

    @property
    def chains(self) -> tuple[Chain, ...]:
        kinds = dict.fromkeys(target.recipe for target in self.recipe.targets)
        return (*CHAINS, *(chain for kind in kinds for chain in INSIDE[kind]))


def _recipe(name: str, *targets: Target, source: Source | None = None, env: str = "parallelism = 2") -> Recipe:
    return Recipe(name, source or FilesSource(), targets, ROWS, env)


_LARGE = PostgresSource(large=True)
RECIPES: Mapping[str, Damaged] = {
    one.recipe.name: one
    for one in (
        Damaged(_recipe("files json", FilesOut("json"))),
        Damaged(_recipe("files parquet", FilesOut("parquet"))),
        Damaged(_recipe("files single", FilesOut("csv", single=True))),
        Damaged(_recipe("sqlite", SqliteTable(), env="parallelism = 1")),
        Damaged(_recipe("sqlite staged", SqliteTable(once=True), env="parallelism = 1")),
        Damaged(_recipe("fan-out", FilesOut("csv"), SqliteTable(once=True), env="parallelism = 1")),
        Damaged(_recipe("postgres append", PostgresTable("append"))),
        Damaged(_recipe("postgres upsert", PostgresTable("upsert"))),
        Damaged(_recipe("postgres direct", PostgresTable("direct"))),
        Damaged(_recipe("postgres staged", PostgresTable("staged"))),
        Damaged(_recipe("postgres fresh", PostgresTable("fresh"))),
        Damaged(
            _recipe("postgres shadow", PostgresTable("shadow"), source=_LARGE, env=f"parallelism = 2, {PER_SPLIT}")
        ),
        Damaged(_recipe("postgres prepared", PostgresTable("prepared"), env="parallelism = 1"), 0.2, anew=True),
        Damaged(_recipe("mariadb", MariadbTable()), 0.2, anew=True),
        Damaged(_recipe("mariadb staged", MariadbTable(once=True)), 0.2, anew=True),
        Damaged(_recipe("mariadb shadow", MariadbTable(shadow=True)), 0.2, anew=True),
        Damaged(_recipe("kafka", KafkaTopic()), 0.1, anew=True),
    )
}
SCENARIOS = tuple((recipe, store) for store in (LOCAL, *STORES) for recipe in RECIPES)
