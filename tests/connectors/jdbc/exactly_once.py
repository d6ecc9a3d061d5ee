"""A table in each database that takes rows exactly once, and a sink into it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import (
    Batch,
    CommitContext,
    JobMode,
    Piece,
    Position,
    Reached,
    Setup,
    Sink,
    TablePath,
    WriteContext,
    Writer,
    schema_from_arrow,
)
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.copying import make_sink

SCHEMA = schema_from_arrow(
    TablePath("db", "up", "t"), pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
)
KINDS = ("+I", "-U", "+U", "-D")
NUMBERS = itertools.count(1)


class Target:
    """A table `t` with one row that was there before, and a sink into it."""

    def __init__(
        self, ask: Callable[[str], list[tuple[Any, ...]]], run: Callable[[str], Any], options: dict[str, Any]
    ) -> None:
        self.ask = ask
        self.run = run
        self.options = options
        self.lineage = f"lineage{next(NUMBERS)}"
        self.job = "job"
        self.sink: Sink
        self.setup: Setup

    def plan(
        self, mode: JobMode = JobMode.STREAMING, recipe: str = "staged", *, set_up: bool = True, **more: Any
    ) -> None:
        options = {**self.options, "is_exactly_once": True, "exactly_once_recipe": recipe, **more}
        self.sink, self.capabilities = make_sink(options, SCHEMA, mode=mode, job=self.job)
        self.setup = self.sink.plan_setup()
        if set_up:
            self.sink.setup(self.setup)

    def open(self, data_id: str, **more: Any) -> Writer:
        context = WriteContext(self.job, self.lineage, "sink", data_id, setup=self.setup.data, vertex="v", **more)
        return self.sink.open(context)

    def stage(self, data_id: str, *rows: tuple[str, int, str], **more: Any) -> Piece:
        writer = self.open(data_id, **more)
        kinds = pa.array([KINDS.index(kind) for kind, _, _ in rows], pa.uint8())
        data = pa.record_batch([[row[1] for row in rows], [row[2] for row in rows]], schema=SCHEMA.arrow())
        writer.write(Batch(SCHEMA.path, data, kinds=kinds))
        writer.ends_at(Reached(len(rows), Position({"after": rows[-1][1]})))
        return writer.stage()

    def commit(self, checkpoint: int, *pieces: Piece, final: bool = False, incarnation: int = 1) -> None:
        self.sink.committer().commit(pieces, self.context(checkpoint, final=final, incarnation=incarnation))

    def context(self, checkpoint: int, **more: Any) -> CommitContext:
        return CommitContext(self.job, self.lineage, "sink", checkpoint, setup=self.setup.data, **more)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.ask("SELECT id, s FROM t ORDER BY id, s")

    @property
    def pieces(self) -> int:
        return int(self.ask("SELECT count(*) FROM seatunnel_piece WHERE data_id <> ''")[0][0])

    def staged_rows(self) -> int:
        """Rows in all tables beside the target that are ours."""
        return sum(int(self.ask(f"SELECT count(*) FROM {name}")[0][0]) for name in self.staging())

    def staging(self) -> list[str]:
        return [name for name in self.tables() if "__st_" in name]

    def tables(self) -> list[str]:
        if "sqlite" in self.options["url"]:
            return [row[0] for row in self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [row[0] for row in self.ask("SELECT table_name FROM information_schema.tables")]


BEFORE = (0, "before")


def postgres_target(request: pytest.FixtureRequest) -> Target:
    pg = request.getfixturevalue("pg")
    pg.db.execute("SET search_path = b; CREATE TABLE b.t (id bigint, s text); INSERT INTO b.t VALUES (0, 'before')")
    return Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))


def maria_target(request: pytest.FixtureRequest) -> Target:
    maria = request.getfixturevalue("maria")
    maria.run("USE b", "CREATE TABLE t (id bigint, s varchar(100)) ENGINE=InnoDB", "INSERT INTO t VALUES (0, 'before')")
    return Target(maria.rows, maria.run, maria.sink(table="t"))


def sqlite_target(request: pytest.FixtureRequest) -> Target:
    path: Path = request.getfixturevalue("tmp_path") / "target.db"

    def ask(sql: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(path) as db:
            return db.execute(sql).fetchall()

    ask("CREATE TABLE t (id bigint, s text)")
    ask("INSERT INTO t VALUES (0, 'before')")
    return Target(ask, ask, {"url": f"jdbc:sqlite:{path}", "generate_sink_sql": True, "table": "t"})


@pytest.fixture(
    params=[
        pytest.param(postgres_target, marks=pytest.mark.postgres, id="postgres"),
        pytest.param(maria_target, id="mariadb"),
        pytest.param(sqlite_target, id="sqlite"),
    ]
)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    yield request.param(request)
    close_all()
