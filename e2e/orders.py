"""Orders that carry (source, split, seq), in files and in a table, for jobs that must not lose or repeat one."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from e2e.conftest import Databases

Row = tuple[str, int, int]  # source, split, seq


def every(rows: int, splits: int) -> set[Row]:
    """What a source of so many holds."""
    return {("orders", number % splits, number) for number in range(rows)}


def in_files(home: Path, rows: int, splits: int, more: str = "") -> str:
    """A file for each split; ``more`` is said of the table behind its fields. The step of the job file."""
    place = home / "in"
    place.mkdir()
    for split in range(splits):
        with (place / f"{split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([seq, "orders", split] for seq in range(split, rows, splits))
    fields = "fields { seq = bigint, source = string, split = int }"
    return f'LocalFile {{ path = "{place}", file_format_type = csv, schema {{ table = orders, {fields}{more} }} }}'


def in_table(databases: Databases, rows: int, splits: int, more: str = "") -> str:
    """A table with a key; ``more`` is said of how it is read. The step of the job file."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE orders (seq bigint PRIMARY KEY, source text NOT NULL, split int NOT NULL)")
        connection.execute(f"INSERT INTO orders SELECT i, 'orders', i % {splits} FROM generate_series(0, {rows - 1}) i")
    return f'Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders"{more} }}'


def named(step: str, output: str = "orders") -> str:
    """The step with a name for its rows."""
    return step.replace("{", f"{{ plugin_output = {output},", 1)
