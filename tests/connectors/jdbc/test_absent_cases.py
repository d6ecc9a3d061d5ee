"""Named cases of rows with absent cells: long values, keys, refusals, and columns that a database fills itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import (
    BadRowsError,
    Batch,
    FatalError,
    Position,
    Reached,
    TablePath,
    TableSchema,
    WriteContext,
    schema_from_arrow,
)
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.partial_history import Change
from tests.connectors.jdbc.partial_targets import Target, any_target, target

__all__ = ["any_target", "target"]

RECIPES = ["direct", "staged"]
BIG = random.Random(10).randbytes(10_000)
WHOLE = (1, "a", "text", 7, None, BIG, 1, None)


def once(how: str) -> dict[str, Any]:
    return {"is_exactly_once": True, "exactly_once_recipe": how}


def change(kind: str = "+U", *, absent: str = "", **cells: Any) -> Change:
    """A row like WHOLE with other cells; the absent ones have no value."""
    names = ("id", "part", "s", "n", "d", "b", "v", "at")
    gaps = frozenset(names.index(name) for name in absent.split())
    row = [None if at in gaps else cells.get(name, WHOLE[at]) for at, name in enumerate(names)]
    return Change(kind, tuple(row), gaps)


def brief(target: Target) -> list[tuple[Any, ...]]:
    return [(key, part, s, n, bytes(b) if b is not None else None) for key, part, s, n, _, b, *_ in sorted(target.rows)]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("how", RECIPES)
def test_a_long_value_that_an_update_leaves_alone_stays(target: Target, how: str, *, together: bool) -> None:
    """F-C11: ten thousand bytes that no server can make shorter, in an earlier unit, or in the same one."""
    target.plan(**once(how))
    insert, update = change("+I"), change(s="changed", absent="b")

    target.write([insert, update]) if together else (target.write([insert]), target.write([update]))

    assert brief(target) == [(1, "a", "changed", 7, BIG)]


@pytest.mark.parametrize("how", RECIPES)
def test_a_null_is_not_an_absent_cell(target: Target, how: str) -> None:
    target.plan(**once(how))
    target.write([change("+I")])
    target.write([change(b=None, absent="s")])

    assert brief(target) == [(1, "a", "text", 7, None)]


@pytest.mark.parametrize("how", RECIPES)
def test_a_row_that_holds_its_key_alone_finds_its_row(target: Target, how: str) -> None:
    """F-C12: the row before a change, and a deleted row, have nothing but their key. The rest of them is no null."""
    target.plan(**once(how))
    target.write([change("+I"), change("+I", id=2), change("+I", id=3)])
    rest = "s n d b v at"

    target.write(
        [change("-U", absent=rest), change(n=8, absent="s b"), change("-D", id=2, absent=rest)],
        [Change("-U", (3, "a", None, None, None, None, None, None)), change(id=3, n=9, absent="b")],
    )

    assert brief(target) == [(1, "a", "text", 8, BIG), (3, "a", "text", 9, BIG)]


@pytest.mark.parametrize("how", RECIPES)
def test_it_never_inserts(target: Target, how: str) -> None:
    """Nor after a deletion in the same unit, nor as an insert; and each of its rows is confirmed."""
    target.plan(**once(how))
    target.write([change("+I"), change("+I", id=2)])

    piece = target.stage(
        "u", [change(id=5, absent="b"), change("-D"), change(absent="b"), change("+I", id=6, absent="b")], attempt=0
    )
    target.commit(10_000, piece)

    assert (piece.rows, brief(target)) == (4, [(2, "a", "text", 7, BIG)])


@pytest.mark.parametrize("how", RECIPES)
def test_a_whole_row_replaces_all(target: Target, how: str) -> None:
    target.plan(**once(how))
    target.write([change("+I"), change(s="x", absent="b"), change("+U", s=None, n=1, b=b"new")])

    assert brief(target) == [(1, "a", None, 1, b"new")]


@pytest.mark.parametrize("column", ["id", "part"])
def test_a_key_is_never_absent(any_target: Target, column: str) -> None:
    any_target.plan()
    with pytest.raises(FatalError, match=rf"table \S*t: .* without its value of column '{column}'"):
        any_target.write([change(absent=f"{column} b")])
    assert any_target.rows == []


def test_a_version_is_never_absent(target: Target) -> None:
    target.plan(version_column="v")
    with pytest.raises(FatalError, match=r"table \S*t: .* without its value of column 'v'"):
        target.write([change(absent="v")])

    target.write([change("+I")], [change("-U", absent="s n d b v at"), change(n=8, absent="b")])
    assert brief(target) == [(1, "a", "text", 8, BIG)]


def test_a_late_row_gives_no_cell_to_a_newer_one(target: Target) -> None:
    """Three rows of one block: the second is older than the first, and the third adds to what is newest."""
    target.plan(version_column="v")
    target.write([change("+I", v=5), change(s="late", v=4, absent="b"), change(n=9, v=5, absent="s b")])
    assert brief(target) == [(1, "a", "text", 9, BIG)]

    target.write([change(s="later still", v=3, absent="n b")])
    assert brief(target) == [(1, "a", "text", 9, BIG)]


@pytest.mark.parametrize(
    "options",
    [
        {"primary_keys": []},
        {"create_index": False},
        {"primary_keys": [], "enable_upsert": False},
        {"query": "INSERT INTO t2 VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
        {"query": "INSERT INTO t2 VALUES (?, ?, ?, ?, ?, ?, ?, ?)", "is_exactly_once": True},
    ],
)
def test_a_sink_without_a_key_needs_whole_rows(target: Target, options: dict[str, Any]) -> None:
    if "query" in options:
        given = target.options
        target.options = {name: given[name] for name in ("url", "user", "username", "dialect") if name in given}
        options = {"primary_keys": None, **options}
    target.plan(**options)
    with pytest.raises(FatalError, match="needs whole rows") as refused:
        target.write([change(absent="b")])
    assert "let the source send whole rows" in str(refused.value.remedy)


def test_a_missing_value_is_found_before_the_commit(target: Target) -> None:
    """A null in a column that takes none is refused with its unit; an absent cell is none."""
    target.plan(**once("staged"))
    target.write([change("+I")])
    if "postgresql" in target.options["url"]:
        return  # units with kinds are checked by their commit there

    target.write([change(absent="n")])
    with pytest.raises(BadRowsError, match="'n' takes no null"):
        target.stage("bad", [change(n=None, absent="b")])

    assert brief(target) == [(1, "a", "text", 7, BIG)]


def test_a_staging_table_of_an_older_version_takes_whole_rows_only(target: Target) -> None:
    target.plan(**once("staged"))
    if "keeps_masks" not in target.setup.data:
        assert "postgresql" in target.options["url"], "a unit makes its own table there"
        return
    older = {name: value for name, value in target.setup.data.items() if name != "keeps_masks"}
    target.setup = replace(target.setup, data=older)

    target.write([change("+I")])
    with pytest.raises(FatalError, match="older version") as refused:
        target.write([change(absent="b")])

    assert "--fresh" in str(refused.value.remedy)
    assert brief(target) == [(1, "a", "text", 7, BIG)]


@pytest.mark.postgres
def test_postgresql_stages_without_upserts(pg: PostgresPlace) -> None:
    """Changes that wait for their commit, and never insert."""
    pg.db.execute("SET search_path = b")
    target = Target(pg.rows, pg.sink(table="b.t"))
    target.plan(enable_upsert=False, **once("staged"))
    target.write([change("+I"), change(n=8, absent="b s"), change(id=2, absent="b"), change(id=3)])

    target.write([change(s="changed", absent="n b")], [change("+I", id=4), change("+U", id=4, n=0, absent="s b")])

    assert brief(target) == [(1, "a", "changed", 8, BIG), (4, "a", "text", 0, BIG)]


@pytest.mark.postgres
@pytest.mark.parametrize("absent", ["", "b"])
def test_a_prepared_transaction_takes_inserts_only(pg: PostgresPlace, absent: str) -> None:
    pg.db.execute("SET search_path = b")
    target = Target(pg.rows, pg.sink(table="b.t"))
    target.plan(enable_upsert=False, **once("prepared"))
    with pytest.raises(FatalError, match="takes inserts only") as refused:
        target.write([change("+U", absent=absent)])
    assert "exactly_once_recipe = staged" in str(refused.value.remedy)


def test_one_key_in_every_row(target: Target) -> None:
    """Ten thousand changes of a counter are one row for the database."""
    target.plan(**once("staged"))
    target.write([change("+I")])

    piece = target.stage("u", [change(n=number, absent="s b") for number in range(10_000)])
    target.commit(10_000, piece)

    assert (piece.rows, piece.merged) == (10_000, 9_999)
    assert brief(target) == [(1, "a", "text", 9_999, BIG)]


@pytest.mark.postgres
def test_postgresql_keeps_a_long_value_where_it_is(pg: PostgresPlace) -> None:
    """The value is neither read nor written: its parts beside the table are the same ones afterwards."""
    pg.db.execute("SET search_path = b")
    target = Target(pg.rows, pg.sink(table="b.t"))
    target.plan()
    target.write([change("+I")])
    [(toast,)] = pg.rows("SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'b.t'::regclass")
    parts = pg.rows(f"SELECT chunk_id, chunk_seq, ctid FROM {toast}")

    target.write([change(s="changed", absent="b")])

    assert parts and pg.rows(f"SELECT chunk_id, chunk_seq, ctid FROM {toast}") == parts
    assert brief(target) == [(1, "a", "changed", 7, BIG)]


def cells(names: Sequence[tuple[str, pa.DataType]], rows: Sequence[dict[str, Any]]) -> tuple[TableSchema, Batch]:
    """Rows as a batch of updates; cells without a name in a row are absent."""
    schema = pa.schema([pa.field(name, kind, nullable=name != "id") for name, kind in names])
    table = schema_from_arrow(TablePath("db", "up", "t"), schema)
    marks = [pa.array([field.name not in row for row in rows], pa.bool_()) for field in schema]
    return table, Batch(
        table.path, pa.RecordBatch.from_pylist(list(rows), schema=table.arrow()),
        kinds=pa.array([2] * len(rows), pa.uint8()),
        absent=pa.RecordBatch.from_arrays(marks, names=schema.names),
    )  # fmt: skip


def write(options: dict[str, Any], table: TableSchema, batch: Batch, ask: Any) -> None:
    target = Target(ask, options)
    target.plan(table, primary_keys=["id"])
    writer = target.sink.open(WriteContext(target.job, target.job, "sink", "u", setup=target.setup.data, vertex="v"))
    writer.write(batch)
    writer.ends_at(Reached(batch.rows, Position({"after": 1})))
    target.commit(1, writer.stage())


@pytest.mark.postgres
@pytest.mark.parametrize("how", RECIPES)
def test_postgresql_types_that_arrive_as_texts(pg: PostgresPlace, how: str) -> None:
    pg.db.execute(
        "CREATE TYPE b.mood AS ENUM ('sad', 'glad'); CREATE TABLE b.t (id bigint PRIMARY KEY, j jsonb, m b.mood, "
        "u uuid, c varchar(3) NOT NULL, CHECK (c <> ''), l bigint[], t timestamptz);"
        """INSERT INTO b.t VALUES (1, '{"a": 1}', 'sad', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'abc', '{1,2}', '2024-01-01Z'),
        (2, '[]', 'sad', NULL, 'x', '{}', NULL)"""
    )
    names = [("id", pa.int64()), ("j", pa.string()), ("m", pa.string()), ("u", pa.string()), ("c", pa.string())]
    table, batch = cells(
        [*names, ("l", pa.list_(pa.int64()))],
        [{"id": 1, "m": "glad"}, {"id": 2, "j": '{"b": 2}', "l": [3]}, {"id": 1, "c": "de"}, {"id": 3, "c": "new"}],
    )

    write(pg.sink(table="b.t", **once(how)), table, batch, pg.rows)

    found = pg.rows(
        "SELECT id, j::text, m::text, u::text, c, l, t AT TIME ZONE 'UTC' = '2024-01-01' FROM b.t ORDER BY id"
    )
    assert found == [
        (1, '{"a": 1}', "glad", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "de", [1, 2], True),
        (2, '{"b": 2}', "sad", None, "x", [3], None),
    ]


@pytest.mark.parametrize("how", RECIPES)
def test_mariadb_columns_that_change_by_themselves_stay(maria: MariadbPlace, how: str) -> None:
    """The time of the last change is absent, so it does not change; each type keeps its value."""
    columns = (
        "id BIGINT PRIMARY KEY, n BIGINT NOT NULL, e ENUM('a', 'b') NOT NULL, w BIT(64), f FLOAT, j JSON, d DECIMAL(30, 10), "
        "x VARBINARY(10), y YEAR, q TIME(6), at TIMESTAMP(6) NOT NULL DEFAULT '2001-02-03 04:05:06' ON UPDATE NOW(6)"
    )
    maria.run(
        "USE b", f"CREATE TABLE t ({columns})",
        "INSERT INTO t (id, n, e, w, f, j, d, x, y, q) VALUES (1, 1, 'b', b'100000001', 0.1, '{\"a\": 1}', "
        "12345678901234567890.0123456789, x'00ff', 1999, '-01:02:03.000004')",
    )  # fmt: skip
    before = maria.rows("SELECT * FROM t")
    names = [("id", pa.int64()), ("n", pa.int64()), ("e", pa.string()), ("w", pa.binary()), ("f", pa.float32())]
    more = [("j", pa.string()), ("d", pa.decimal128(30, 10)), ("x", pa.binary()), ("y", pa.int32())]
    table, batch = cells([*names, *more, ("at", pa.timestamp("us"))], [{"id": 1, "n": 2}, {"id": 2, "n": 3}])

    write(maria.sink(table="t", **once(how)), table, batch, maria.rows)

    assert maria.rows("SELECT * FROM t") == [(1, 2, *before[0][2:])]
