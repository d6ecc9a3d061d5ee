"""What runs: a source, targets behind it, and what the sweep has to know to judge them.

Another recipe is another entry of ``RECIPES``; another kind of source or target is a small class with the methods of
``Source`` or ``Target``. A target must be empty, or hold rows of the source ``before`` only, when its job begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from e2e.crash_sweep.files import FilesOut, FilesSource
from e2e.crash_sweep.judge import Glance, Row, Seen
from e2e.crash_sweep.place import Place
from e2e.crash_sweep.tables import MariadbTable, PostgresSource, PostgresTable, SqliteTable
from e2e.crash_sweep.topics import KafkaTopic

SPLITS = 24
PACE = "read_limit.rows_per_second = 4000"  # of 9,600: at full speed there may be nothing left for a later life


class Source(Protocol):
    """Where rows come from. ``server`` is what it needs, for a victim."""

    @property
    def server(self) -> str: ...

    def prepare(self, place: Place, rows: Sequence[Row]) -> None: ...

    def text(self, place: Place) -> str:
        """The step of the job file; its output is called ``read``."""


class Target(Protocol):
    """Where rows end up. ``recipe`` is the first part of its failpoints' names; ``ordered``: rows of a split are found
    in their order."""

    @property
    def recipe(self) -> str: ...

    @property
    def server(self) -> str: ...

    @property
    def seen(self) -> Seen: ...

    @property
    def ordered(self) -> bool: ...

    def prepare(self, place: Place) -> None: ...

    def text(self, place: Place) -> str:
        """The step of the job file; its input is called ``read``."""

    def rows(self, place: Place) -> Sequence[Row]:
        """Everything that is visible."""

    def glance(self, place: Place) -> Glance:
        """What a reader sees now; may raise while the server is away."""

    def left_behind(self, place: Place) -> Sequence[str]:
        """What should not be there after the end of the job."""


def all_rows(of_split: int) -> Iterator[Row]:
    """What a source of so many rows a split holds."""
    for split in range(SPLITS):
        for seq in range(1, of_split + 1):
            yield "big", split, seq


@dataclass(frozen=True, slots=True)
class Recipe:
    """``rows`` of each split; small units, so that there are many."""

    name: str
    source: Source
    targets: tuple[Target, ...]
    rows: int = 400
    env: str = "parallelism = 2, unit.rows = 1000"

    @property
    def servers(self) -> tuple[str, ...]:
        named = {self.source.server, *(target.server for target in self.targets)}
        return tuple(sorted(named - {""}))

    def wanted(self) -> Iterator[Row]:
        """Every row that the source holds."""
        return all_rows(self.rows)

    def job(self, place: Place, paced: bool, tries: str = "job.retry.times = 20") -> str:
        """The job file. ``paced``: it reads so slowly that each of its lives has checkpoints to come, on any machine."""
        sinks = "\n".join(target.text(place) for target in self.targets)
        return f"""
            env {{ checkpoint.interval = 50, checkpoint.max-retained = 1, {tries}, {self.env}
                {PACE if paced else ""} }}
            source {{ {self.source.text(place)} }}
            sink {{ {sinks} }}"""


_PER_SPLIT = "parallelism = 2, source.consistency = per-split"
_NATIVE = f"{_PER_SPLIT}, unit.rows = 100000"

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("postgres fresh", FilesSource(), (PostgresTable("fresh"),)),
        Recipe("postgres shadow", PostgresSource(large=True), (PostgresTable("shadow"),), env=_PER_SPLIT),
        Recipe("postgres native", PostgresSource(large=True), (PostgresTable("shadow"),), env=_NATIVE),
        Recipe("postgres append", FilesSource(), (PostgresTable("append"),)),
        Recipe("postgres upsert", FilesSource(), (PostgresTable("upsert"),)),
        Recipe("postgres direct", FilesSource(), (PostgresTable("direct"),)),
        Recipe("postgres staged", FilesSource(), (PostgresTable("staged"),)),
        Recipe("postgres prepared", FilesSource(), (PostgresTable("prepared"),)),
        Recipe("mariadb", FilesSource(), (MariadbTable(),)),
        Recipe("mariadb staged", FilesSource(), (MariadbTable(once=True),)),
        Recipe("mariadb shadow", FilesSource(), (MariadbTable(shadow=True),)),
        Recipe("sqlite staged", FilesSource(), (SqliteTable(once=True),), env="parallelism = 1"),
        Recipe("sqlite", FilesSource(), (SqliteTable(),), env="parallelism = 1"),
        Recipe("files json", FilesSource(), (FilesOut("json"),)),
        Recipe("files parquet", FilesSource(), (FilesOut("parquet"),)),
        Recipe("files single", FilesSource(), (FilesOut("csv", single=True),)),
        Recipe("kafka", FilesSource(), (KafkaTopic(),)),
        Recipe("fan-out", FilesSource(), (PostgresTable("append"), FilesOut("csv"))),
    )
}
