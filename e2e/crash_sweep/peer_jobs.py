"""SeaTunnel's jobs: one source that it reads exactly (``docs/crash-sweep.md`` says which it does not), and its sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from e2e.crash_sweep.files import FilesOut
from e2e.crash_sweep.judge import Row
from e2e.crash_sweep.place import Place
from e2e.crash_sweep.recipes import SPLITS, all_rows
from e2e.crash_sweep.tables import PostgresSource, PostgresTable

ROWS = 400  # of each split
ROWS_PER_SECOND = 600  # of each of two readers: a job lasts about eight seconds
SOURCE = PostgresSource()
PREPARED = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'big'"
)


@dataclass(frozen=True, slots=True)
class PeerRecipe:
    """``ours`` are the recipes of our own sweep that stand beside it."""

    name: str
    target: PostgresTable | FilesOut
    options: str
    ours: tuple[str, ...]

    def wanted(self) -> Iterator[Row]:
        return all_rows(ROWS)

    def job(self, place: Place) -> str:
        """SeaTunnel's own options, as its pages ask for exactly-once."""
        connection = """driver = "org.postgresql.Driver", user = "postgres", password = "unused" """
        if isinstance(self.target, PostgresTable):
            sink = f"""Jdbc {{ url = "{place.postgres.jdbc_url(place.name)}", {connection}, generate_sink_sql = true,
                database = "{place.name}", table = "public.big", {self.options} }}"""
        else:
            sink = f"""LocalFile {{ path = "{place.files}", tmp_path = "{_unfinished(place)}", {self.options} }}"""
        return f"""
            env {{ job.mode = "BATCH", parallelism = 2, checkpoint.interval = 1000,
                   read_limit.rows_per_second = {ROWS_PER_SECOND} }}
            source {{ Jdbc {{ url = "{place.postgres.jdbc_url(f"{place.name}_in")}", {connection},
                query = "select id, source, split, seq from big", partition_column = "id", partition_num = {SPLITS} }} }}
            sink {{ {sink} }}"""

    def left_behind(self, place: Place) -> Sequence[str]:
        if isinstance(self.target, FilesOut):
            unfinished = (path for path in (place.home / "unfinished").rglob("*") if path.is_file())
            return [str(path.relative_to(place.home)) for path in unfinished]
        with place.on_postgres() as connection:
            prepared = [f"prepared transaction {gid}" for (gid,) in connection.execute(PREPARED)]
            return prepared + [f"table {name}" for (name,) in connection.execute(TABLES)]


def _unfinished(place: Place) -> str:
    return str(place.home / "unfinished")


_XA = """is_exactly_once = true, max_retries = 0, xa_data_source_class_name = "org.postgresql.xa.PGXADataSource" """
RECIPES = (
    PeerRecipe(
        "Jdbc exactly-once",
        PostgresTable("append"),
        _XA,
        ("postgres append", "postgres direct", "postgres staged", "postgres prepared"),
    ),
    PeerRecipe("Jdbc by key", PostgresTable("upsert"), """primary_keys = ["id"]""", ("postgres upsert",)),
    PeerRecipe(
        "LocalFile",
        FilesOut("json"),
        """file_format_type = "json", is_enable_transaction = true""",
        ("files json", "files parquet", "files single"),
    ),
)
