"""Rows that come late lose against newer ones (`version_column`), whatever the database, the recipe and the order."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pymysql
import pytest

from seatunnel_py.api import (
    Batch,
    CommitContext,
    FatalError,
    JobMode,
    Piece,
    Position,
    Reached,
    TablePath,
    TableSchema,
    WriteContext,
    schema_from_arrow,
)
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.copying import make_sink

FIELDS = [pa.field("id", pa.int64(), nullable=False), ("s", pa.string()), ("v", pa.int64()), ("at", pa.timestamp("us"))]
SCHEMA = schema_from_arrow(TablePath("db", "up", "t"), pa.schema(FIELDS))
KINDS = ("+I", "-U", "+U", "-D")
DAY = datetime(2026, 1, 1)  # noqa: DTZ001 - a column without a zone
Row = tuple[int, str, int | None]
Ask = Callable[[str], list[tuple[Any, ...]]]
_numbers = itertools.count(1)


class Target:
    """A table with a key that the sink makes."""

    def __init__(self, ask: Ask, options: dict[str, Any]) -> None:
        self.ask, self.options = ask, options
        self.lineage = f"lineage{next(_numbers)}"

    def plan(self, table: TableSchema = SCHEMA, **more: Any) -> None:
        options = {**self.options, "primary_keys": ["id"], "version_column": "v", **more}
        self.sink, self.capabilities = make_sink(options, table, mode=JobMode.STREAMING)
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)

    def stage(self, data_id: str, rows: Sequence[Row], kind: str = "+I") -> Piece:
        context = WriteContext("job", self.lineage, "sink", data_id, setup=self.setup.data, vertex="v")
        writer = self.sink.open(context)
        ids, texts, versions = (list(column) for column in zip(*rows, strict=True))
        times = [None if version is None else DAY + timedelta(hours=version) for version in versions]
        data = pa.record_batch([ids, texts, versions, times], schema=SCHEMA.arrow())
        kinds = None if kind == "+I" else pa.array([KINDS.index(kind)] * len(rows), pa.uint8())
        writer.write(Batch(SCHEMA.path, data, kinds=kinds))
        writer.ends_at(Reached(len(rows), Position({"after": data_id})))
        return writer.stage()

    def commit(self, checkpoint: int, *pieces: Piece) -> None:
        context = CommitContext("job", self.lineage, "sink", checkpoint, setup=self.setup.data, final=False)
        self.sink.committer().commit(pieces, context)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.ask("SELECT id, s, v FROM t ORDER BY id")


def _postgres(request: pytest.FixtureRequest) -> Target:
    pg = request.getfixturevalue("pg")
    pg.db.execute("SET search_path = b")
    return Target(pg.rows, pg.sink(table="b.t"))


def _maria(request: pytest.FixtureRequest) -> Target:
    maria = request.getfixturevalue("maria")
    maria.run("USE b")
    return Target(maria.rows, maria.sink(table="t"))


def _maria_by_statements(request: pytest.FixtureRequest) -> Target:
    target = _maria(request)
    request.getfixturevalue("maria").run("SET GLOBAL local_infile = 0")
    return target


def _sqlite(request: pytest.FixtureRequest) -> Target:
    path: Path = request.getfixturevalue("tmp_path") / "target.db"

    def ask(sql: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(path) as db:
            return db.execute(sql).fetchall()

    return Target(ask, {"url": f"jdbc:sqlite:{path}", "generate_sink_sql": True, "table": "t"})


@pytest.fixture(
    params=[
        pytest.param(_postgres, marks=pytest.mark.postgres, id="postgres"),
        pytest.param(_maria, id="mariadb"),
        pytest.param(_maria_by_statements, id="mariadb, statements"),
        pytest.param(_sqlite, id="sqlite"),
    ]
)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    yield request.param(request)
    close_all()


def newest(rows: Sequence[Row]) -> list[Row]:
    """What has to be there: of each key the row with the highest version, of equal ones the last; none is lowest."""
    kept: dict[int, Row] = {}
    for row in rows:
        there = kept.get(row[0])
        if there is None or there[2] is None or (row[2] is not None and row[2] >= there[2]):
            kept[row[0]] = row
    return [kept[number] for number in sorted(kept)]


@pytest.mark.parametrize("how", ["at least once", "direct", "staged"])
@pytest.mark.parametrize("version", ["v", "at"])
def test_the_newest_row_of_each_key_stays(target: Target, how: str, version: str) -> None:
    """Rows of few keys in random order, some in one unit with others of their key, some in later ones."""
    chance = random.Random(f"{how} {version}")
    once = {"is_exactly_once": True, "exactly_once_recipe": how} if " " not in how else {}
    target.plan(version_column=version, **once)
    sent: list[Row] = []
    for unit in range(8):
        rows: list[Row] = [
            (chance.randrange(5), f"{unit}.{place}", chance.choice([None, *range(9)])) for place in range(6)
        ]
        target.commit(unit + 1, target.stage(f"u{unit}", rows, chance.choice(["+I", "+U"])))
        sent += rows
        assert target.rows == newest(sent)


def test_a_sink_that_compares_versions_says_so(target: Target) -> None:
    """Rows that come back late (retry_rejected) are taken by such a sink only."""
    target.plan()
    assert target.capabilities.versioned

    target.plan(version_column=None)
    assert not target.capabilities.versioned


@pytest.mark.parametrize("how", ["direct", "staged"])
def test_a_delete_is_refused(target: Target, how: str) -> None:
    """A row that comes late would bring back what it deletes: there is nothing left to compare it with."""
    target.plan(is_exactly_once=True, exactly_once_recipe=how)

    with pytest.raises(FatalError, match=r"DELETE.*version_column = v") as refused:
        target.stage("u", [(1, "gone", 1)], "-D")

    assert "RowKindExtractor" in refused.value.remedy


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"version_column": "w"}, r"names 'w', but the columns are id, s, v, at"),
        ({"version_column": "s"}, r"version_column = s: string is none of .*bigint.*timestamp"),
        ({"version_column": "id"}, r"key of other columns"),
        ({"primary_keys": []}, r"key of other columns"),
        ({"enable_upsert": False}, r"key of other columns"),
    ],
)
def test_what_cannot_be_kept_is_said_before_anything_is_made(
    target: Target, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(FatalError, match=said):
        target.plan(**options)
    assert not _made(target)


def test_a_target_that_would_compare_as_text_is_refused(target: Target) -> None:
    """Ten would come before nine."""
    target.plan(version_column=None, schema_save_mode="RECREATE_SCHEMA")
    renamed = schema_from_arrow(
        SCHEMA.path, pa.schema([FIELDS[0], ("v", pa.int64()), ("s", pa.int64()), ("at", pa.timestamp("us"))])
    )

    with pytest.raises(FatalError, match=r"version_column = s: \S+ is none of"):
        target.plan(table=renamed, version_column="s")


def test_other_databases_do_not_compare_rows(tmp_path: Path) -> None:
    place = {"url": f"sqlite:///{tmp_path}/t.db", "dialect": "sqlalchemy"}
    options = {**place, "generate_sink_sql": True, "table": "t", "primary_keys": ["id"]}
    sink, _ = make_sink({**options, "version_column": "v"}, SCHEMA)

    with pytest.raises(FatalError, match="are not compared"):
        sink.plan_setup()


def _made(target: Target) -> bool:
    try:
        return target.rows == []
    except (sqlite3.Error, psycopg.Error, pymysql.Error):
        return False
