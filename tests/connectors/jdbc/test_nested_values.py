"""Nested values in databases are JSON, written by one writer: the same text in PostgreSQL, MariaDB and SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import (
    Batch,
    Column,
    CommitContext,
    TablePath,
    TableSchema,
    WriteContext,
    parse_type,
    to_arrow,
)
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import make_sink

FIELDS = {
    "b": "bytes", "d": "decimal(20, 10)", "f": "float", "x": "double", "at": "timestamp", "ok": "boolean",
    "m": "map<boolean, int>", "none": "array<{a = int}>", "n": "number",
}  # fmt: skip
ROW = {
    "b": b"\xff\x01", "d": Decimal("0.0000000001"), "f": 0.1, "x": float("nan"), "at": 1_500_000, "ok": True,
    "m": [(True, 1)], "none": [], "n": "1" * 60,
}  # fmt: skip
TEXT = (
    '{"b":"/wE=","d":0.0000000001,"f":0.1,"x":"NaN","at":"1970-01-01T00:00:01.5","ok":true,"m":{"true":1},"none":[],'
    f'"n":{"1" * 60}}}'
)
TABLE = TableSchema(
    TablePath("", "", "t"),
    (
        Column("id", parse_type("int"), nullable=False),
        Column("r", parse_type("{" + ", ".join(f"{name} = {kind}" for name, kind in FIELDS.items()) + "}")),
        Column("rows", parse_type("array<{a = int}>")),
        Column("m", parse_type("map<string, int>")),
        Column("aa", parse_type("array<array<int>>")),
    ),
)
VALUES: list[list[Any]] = [[1, 2], [ROW, None], [[{"a": 1}, None], []], [[], [("k", None)]], [[[1], []], [[]]]]
WANTED = [
    (1, TEXT, '[{"a":1},null]', "{}", "[[1],[]]"),
    (2, None, "[]", '{"k":null}', "[[]]"),
]
"""T28: an empty list of rows was `{}`, an empty map `[]`."""


def write(options: Mapping[str, Any]) -> None:
    arrays = [pa.array(one, to_arrow(column.dtype)) for one, column in zip(VALUES, TABLE.columns, strict=True)]
    sink, _ = make_sink(options, TABLE)
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("job", "lineage1", "sink", "split@", setup=setup.data))
    writer.write(Batch(TABLE.path, pa.RecordBatch.from_arrays(arrays, schema=TABLE.arrow())))
    piece = writer.stage()
    committer = sink.committer()
    if committer is not None:
        committer.commit([piece], CommitContext("job", "lineage1", "sink", 1, final=True, setup=setup.data))


def document(text: str | None) -> Any:
    """With every digit of its numbers."""
    return None if text is None else json.loads(text, parse_float=Decimal)


@pytest.mark.mariadb
@pytest.mark.parametrize("local_infile", [1, 0])
def test_mariadb_holds_the_document(maria: MariadbPlace, local_infile: int) -> None:
    """T23."""
    maria.run(f"SET GLOBAL local_infile = {local_infile}")
    write(maria.sink(table="t"))
    assert [tuple(row) for row in maria.rows("SELECT * FROM b.t ORDER BY id")] == WANTED


@pytest.mark.postgres
def test_postgresql_holds_the_document(pg: PostgresPlace) -> None:
    """T23; jsonb orders keys its own way, and keeps the digits of numbers."""
    write(pg.sink(table="b.t"))
    found = pg.rows("SELECT id, r::text, rows::text, m::text, aa::text FROM b.t ORDER BY id")
    assert [(row[0], *map(document, row[1:])) for row in found] == [(row[0], *map(document, row[1:])) for row in WANTED]


@pytest.mark.postgres
def test_postgresql_holds_the_document_in_text_columns(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE b.t (id int PRIMARY KEY, r text, rows json, m varchar(99), aa text)")
    write(pg.sink(table="b.t"))
    assert pg.rows("SELECT id, r, rows::text, m, aa FROM b.t ORDER BY id") == WANTED


def test_sqlite_holds_the_document(tmp_path: Path) -> None:
    """T23."""
    write({"url": f"jdbc:sqlite:{tmp_path / 'x.db'}", "table": "t", "generate_sink_sql": True})
    with sqlite3.connect(tmp_path / "x.db") as db:
        assert db.execute("SELECT * FROM t ORDER BY id").fetchall() == WANTED
    db.close()
