"""A table in each database, by which rows with absent cells are tried, and a sink into it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
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
    TablePath,
    TableSchema,
    WriteContext,
    schema_from_arrow,
)
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.copying import make_sink
from tests.connectors.jdbc.partial_history import Change

NAMES = ("id", "part", "s", "n", "d", "b", "v", "at")
SCHEMA = schema_from_arrow(
    TablePath("db", "up", "t"),
    pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("part", pa.string(), nullable=False),
            ("s", pa.string()),
            pa.field("n", pa.int64(), nullable=False),
            ("d", pa.decimal128(10, 2)),
            ("b", pa.binary()),
            ("v", pa.int64()),
            ("at", pa.timestamp("us")),
        ]
    ),
)
VERSION = NAMES.index("v")
VALUES: Sequence[Sequence[Any]] = (
    (1, -4),
    ("a", "A", "b\t'"),
    (None, "", "short", "1", "long " * 2_000),
    (0, 1, -1, 2**60),
    (None, Decimal("0.00"), Decimal("-12.50"), Decimal("99999999.99")),
    (None, b"", b"\x00\xff", bytes(range(256)) * 40),
    (None, 1, 2, 3, 4, 5, 6),
    (None, datetime(2026, 1, 1), datetime(1999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001 - a column without a zone
)
Ask = Callable[[str], list[tuple[Any, ...]]]
_numbers = itertools.count(1)


class Target:
    """A table with a key that the sink makes."""

    def __init__(self, ask: Ask, options: dict[str, Any]) -> None:
        self.ask, self.options = ask, options
        self.job = f"job{next(_numbers)}"

    def plan(self, table: TableSchema = SCHEMA, **more: Any) -> None:
        options = {**self.options, "primary_keys": ["id", "part"], **more}
        self.sink, self.capabilities = make_sink(options, table, mode=JobMode.STREAMING)
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)

    def stage(self, data_id: str, *batches: Sequence[Change], attempt: int = 0) -> Piece:
        context = WriteContext(
            self.job, self.job, "sink", data_id, setup=self.setup.data, vertex="v", attempt=attempt
        )  # fmt: skip
        writer = self.sink.open(context)
        try:
            for batch in batches:
                writer.write(batch_of(batch))
            writer.ends_at(Reached(sum(map(len, batches)), Position({"after": data_id})))
        except BaseException:
            writer.abort()
            raise
        return writer.stage()

    def commit(self, checkpoint: int, *pieces: Piece) -> None:
        context = CommitContext(self.job, self.job, "sink", checkpoint, setup=self.setup.data, final=False)
        self.sink.committer().commit(pieces, context)

    def write(self, *batches: Sequence[Change]) -> None:
        """One unit, and its commit."""
        number = next(_numbers)
        self.commit(number, self.stage(f"unit {number}", *batches))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.ask(f"SELECT {', '.join(NAMES)} FROM t")


def batch_of(changes: Sequence[Change]) -> Batch:
    """Changes as a reader gives them. A cell that was not sent has a null, or a value that means nothing."""
    columns = [
        [None if at in change.absent and (at == 3 or index % 2) else change.cells[at] for index, change in enumerate(changes)]
        for at in range(len(NAMES))
    ]  # fmt: skip
    data = pa.record_batch(columns, schema=SCHEMA.arrow())
    marks = [pa.array([at in change.absent for change in changes], pa.bool_()) for at in range(len(NAMES))]
    partial = any(change.absent for change in changes)
    kinds = pa.array([change.number for change in changes], pa.uint8())
    return Batch(
        SCHEMA.path, data, kinds=kinds, absent=pa.RecordBatch.from_arrays(marks, names=list(NAMES)) if partial else None
    )


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


def _sqlite_file(request: pytest.FixtureRequest, url: str, **more: str) -> Target:
    path: Path = request.getfixturevalue("tmp_path") / "target.db"

    def ask(sql: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(path) as db:
            return db.execute(sql).fetchall()

    ask("SELECT 1")
    return Target(ask, {"url": f"{url}{path}", "generate_sink_sql": True, "table": "t", **more})


def _sqlite(request: pytest.FixtureRequest) -> Target:
    return _sqlite_file(request, "jdbc:sqlite:")


def generic(request: pytest.FixtureRequest) -> Target:
    return _sqlite_file(request, "sqlite:///", dialect="sqlalchemy")


POSTGRES = pytest.param(_postgres, marks=pytest.mark.postgres, id="postgres")
MARIADB = pytest.param(_maria, id="mariadb")
STATEMENTS = pytest.param(_maria_by_statements, id="mariadb, statements")
SQLITE = pytest.param(_sqlite, id="sqlite")
GENERIC = pytest.param(generic, id="generic")


@pytest.fixture(params=[POSTGRES, MARIADB, STATEMENTS, SQLITE])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    yield request.param(request)
    close_all()


@pytest.fixture(params=[POSTGRES, MARIADB, STATEMENTS, SQLITE, GENERIC])
def any_target(request: pytest.FixtureRequest) -> Iterator[Target]:
    yield request.param(request)
    close_all()
