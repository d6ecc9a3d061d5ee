"""SQLite to SQLite: types, splits by row id, save modes, updates, replays, several writers."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.jdbc.statements import writer as writer_module
from seatunnel_py.api import BadRowsError, Batch, CommitContext, FatalError, TablePath, WriteContext, schema_from_arrow
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.work.unit import Budget
from tests.connectors.jdbc.copying import copy_tables, make_sink, make_source, same_rows


class Files:
    """A file to read from and one to write to."""

    def __init__(self, directory: Path) -> None:
        self.paths = {"a": directory / "a b.db", "b": directory / "b.db"}
        sqlite3.connect(self.paths["a"]).close()

    def run(self, file: str, script: str) -> None:
        with sqlite3.connect(self.paths[file]) as db:
            db.executescript(script)
        db.close()

    def rows(self, file: str, sql: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.paths[file]) as db:
            found = db.execute(sql).fetchall()
        db.close()
        return found

    def source(self, **options: Any) -> dict[str, Any]:
        return {"url": f"jdbc:sqlite:{self.paths['a']}", "driver": "org.sqlite.JDBC", **options}

    def sink(self, **options: Any) -> dict[str, Any]:
        return {"url": f"jdbc:sqlite:{self.paths['b']}", "generate_sink_sql": True, "database": "main", **options}


@pytest.fixture
def files(tmp_path: Path) -> Any:
    yield Files(tmp_path)
    close_all()


TYPES = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, b BOOLEAN, i INT, big BIGINT, d DOUBLE, n DECIMAL(10, 2), wide DECIMAL_TEXT(38, 18),
                    s TEXT, v VARCHAR(10), x BLOB, da DATE, ti TIME, ts TIMESTAMP, tz TIMESTAMP_TZ, j JSON, free);
    INSERT INTO t VALUES (1, 1, -5, 9007199254740993, 1.5, 12.34, '12345678901234567890.123456789012345678', 'tä''x', 'v',
        x'00ff', '2024-02-29', '12:34:56.789', '2024-01-02 03:04:05.678901', '2024-01-02 03:04:05+02:00', '{"a": 1}', 'q');
    INSERT INTO t (id) VALUES (2);
    INSERT INTO t VALUES (3, 'true', 0, 0, 2, 7, '1', '', '', x'', '2024-01-01', '00:00:00', '2024-01-02T03:04:05',
        '2024-01-02 03:04:05', 'null', 5);
"""


def test_every_type_arrives(files: Files) -> None:
    files.run("a", TYPES)

    [copied] = copy_tables(files.source(table_path="t"), files.sink(table="t"))

    assert copied.rows == 3
    assert files.rows("b", "SELECT * FROM t WHERE id = 1") == [
        (
            1, 1, -5, 9007199254740993, 1.5, 12.34, "12345678901234567890.123456789012345678", "tä'x", "v", b"\x00\xff",
            "2024-02-29", "12:34:56.789000", "2024-01-02 03:04:05.678901", "2024-01-02 01:04:05.000000+00:00",
            '{"a": 1}', "q",
        )
    ]  # fmt: skip
    assert files.rows("b", "SELECT b, n, wide, free FROM t WHERE id = 3") == [(1, 7, "1.000000000000000000", "5")]
    assert files.rows("b", "SELECT count(*) FROM t WHERE s IS NULL") == [(1,)]


def test_a_second_copy_of_what_was_written_is_the_same(files: Files) -> None:
    files.run("a", TYPES)
    copy_tables(files.source(table_path="t"), files.sink(table="t"))
    close_all()

    back = {"url": f"jdbc:sqlite:{files.paths['b']}", "table_path": "t"}
    copy_tables(back, {**files.sink(), "table": "t2"})

    same_rows(files.rows("b", "SELECT * FROM t"), files.rows("b", "SELECT * FROM t2"))


def test_a_value_that_is_not_of_its_type_is_named(files: Files) -> None:
    files.run("a", "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 'many')")

    with pytest.raises(FatalError, match=r"column 'n' is declared as int, but holds 'many'"):
        copy_tables(files.source(table_path="t"), files.sink(table="t"))


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TABLE t (id INT, n INT)",
        "CREATE TABLE t (id INT, rowid INT)",
        "CREATE TABLE t (id TEXT PRIMARY KEY, n INT) WITHOUT ROWID",
    ],
)
def test_splits_cover_every_row_once_and_resume(files: Files, table: str) -> None:
    files.run("a", table)
    with sqlite3.connect(files.paths["a"]) as db:
        db.executemany("INSERT INTO t VALUES (?, ?)", [(i * 3, i) for i in range(30_000)])
    db.close()

    [copied] = copy_tables(
        files.source(table_path="t", **{"split.size": 20_000}), files.sink(table="t"), budget=Budget(rows=5_000)
    )

    assert len(copied.splits) >= 2
    if "WITHOUT" not in table:
        assert len(copied.results) >= 3
    same_rows(files.rows("a", "SELECT * FROM t"), files.rows("b", "SELECT * FROM t"))


def test_queries_patterns_and_where(files: Files) -> None:
    files.run("a", TYPES + "CREATE TABLE t2 (id INT); INSERT INTO t2 VALUES (1), (2), (3)")

    copied = copy_tables(
        files.source(table_path=r"t\d", use_regex=True, where_condition="where id > 1"), files.sink(table="w")
    )
    copy_tables(files.source(query="SELECT id, upper(s) AS u, d * 2 AS dd FROM t;"), files.sink(table="q"))

    assert [one.rows for one in copied] == [2]
    assert files.rows("b", "SELECT * FROM q ORDER BY id")[0] == (1, "Tä'X", 3.0)


def test_save_modes(files: Files) -> None:
    files.run("a", "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'x')")

    with pytest.raises(FatalError, match="does not exist"):
        copy_tables(files.source(table_path="t"), files.sink(table="t", schema_save_mode="ERROR_WHEN_SCHEMA_NOT_EXIST"))
    copy_tables(files.source(table_path="t"), files.sink(table="t"))
    files.run("b", "INSERT INTO t VALUES (9, 'old'); UPDATE t SET s = 'changed'")
    with pytest.raises(FatalError, match="holds rows"):
        copy_tables(files.source(table_path="t"), files.sink(table="t", data_save_mode="ERROR_WHEN_DATA_EXISTS"))
    copy_tables(files.source(table_path="t"), files.sink(table="t"))
    assert files.rows("b", "SELECT * FROM t ORDER BY id") == [(1, "x"), (9, "changed")]
    copy_tables(
        files.source(table_path="t"),
        files.sink(
            table="t", data_save_mode="CUSTOM_PROCESSING", custom_sql="DELETE FROM t; INSERT INTO t VALUES (8, ';')"
        ),
    )
    assert files.rows("b", "SELECT * FROM t ORDER BY id") == [(1, "x"), (8, ";")]
    copy_tables(files.source(table_path="t"), files.sink(table="t", data_save_mode="DROP_DATA"))
    assert files.rows("b", "SELECT * FROM t") == [(1, "x")]
    files.run("b", "ALTER TABLE t ADD COLUMN more TEXT")
    copy_tables(files.source(table_path="t"), files.sink(table="t", schema_save_mode="RECREATE_SCHEMA"))
    assert files.rows("b", "SELECT * FROM t") == [(1, "x")]


SCHEMA = schema_from_arrow(TablePath("", "", "t"), pa.schema([pa.field("id", pa.int64()), ("s", pa.string())]))


def batch(rows: list[tuple[str, int, str]]) -> Batch:
    kinds = pa.array([("+I", "-U", "+U", "-D").index(kind) for kind, _, _ in rows], pa.uint8())
    data = pa.record_batch([[row[1] for row in rows], [row[2] for row in rows]], schema=SCHEMA.arrow())
    return Batch(SCHEMA.path, data, kinds=kinds)


@pytest.mark.parametrize("options", [{}, {"enable_upsert": False}, {"enable_upsert": False, "create_index": False}])
def test_updates_and_deletes_by_key(options: dict[str, Any], files: Files) -> None:
    sink, _ = make_sink(files.sink(table="t", primary_keys=["id"], **options), SCHEMA)
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("j", "l", "s", "x", setup=setup.data))

    writer.write(
        batch([("+I", 1, "a"), ("+I", 2, "b"), ("-U", 1, "a"), ("+U", 1, "c"), ("-D", 2, "b"), ("+I", 3, "d")])
    )
    piece = writer.stage()

    assert (piece.rows, piece.merged) == (6, 1)
    assert files.rows("b", "SELECT * FROM t ORDER BY id") == [(1, "c"), (3, "d")]


@pytest.mark.parametrize("blocks", [1, 3, 20_000])
def test_all_rows_that_the_database_refuses_are_named_by_their_places(
    files: Files, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among all rows of the unit, whatever blocks and kinds they came in, up to the end of the block."""
    monkeypatch.setattr(writer_module, "BLOCK_ROWS", blocks)
    options = {"primary_keys": ["id"], "enable_upsert": False}
    sink, _ = make_sink(files.sink(table="t", **options), SCHEMA)
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("j", "l", "s", "x", setup=setup.data))
    writer.write(batch([("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b")]))

    with pytest.raises(BadRowsError, match="UNIQUE constraint failed: t.id") as refused:
        writer.write(
            batch([("-U", 1, "b"), ("+I", 2, "a"), ("+I", 1, "a"), ("+I", 3, "a"), ("+I", 2, "a"), ("+I", 3, "b")])
        )

    named = [refused.value.row, *(row for row, _ in refused.value.others)]
    assert named == {1: [5], 3: [5], 20_000: [5, 7, 8]}[blocks]
    assert refused.value.message.startswith("writing table t: ")
    assert all(message.startswith("writing table t: ") for _, message in refused.value.others)


def test_a_table_that_ends_the_transaction_names_only_the_first_row(files: Files) -> None:
    """`ON CONFLICT ROLLBACK`: there is nothing that the rows behind it could be tried in."""
    files.run("b", "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK, s TEXT)")
    sink, _ = make_sink(files.sink(table="t", enable_upsert=False, data_save_mode="APPEND_DATA"), SCHEMA)
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("j", "l", "s", "x", setup=setup.data))

    with pytest.raises(BadRowsError, match="UNIQUE constraint failed"):
        writer.write(batch([("+I", 1, "a"), ("+I", 1, "b"), ("+I", 2, "a")]))
    writer.abort()

    assert files.rows("b", "SELECT * FROM t") == []


def test_a_second_attempt_at_committed_rows_applies_nothing(files: Files) -> None:
    sink, _ = make_sink(files.sink(table="t"), SCHEMA)
    setup = sink.plan_setup()
    sink.setup(setup)
    pieces = []
    for attempt in (0, 1, 0):
        writer = sink.open(WriteContext("j", "l", "s", "x", attempt=attempt, setup=setup.data))
        writer.write(batch([("+I", 1, "a"), ("+I", 2, "b")]))
        pieces.append(writer.stage())

    assert [piece.rows for piece in pieces] == [2, 2, 2]
    assert [piece.data["replayed"] for piece in pieces] == [False, True, True]
    assert files.rows("b", "SELECT count(*) FROM t") == [(2,)]
    sink.committer().commit(pieces[:1], CommitContext("j", "l", "s", 1, setup=setup.data))
    assert sink.committer().recover(CommitContext("j", "l", "s", 2, setup=setup.data)) == 1


def test_several_writers_wait_for_each_other(files: Files) -> None:
    sink, _ = make_sink(files.sink(table="t"), SCHEMA)
    setup = sink.plan_setup()
    sink.setup(setup)

    def unit(number: int) -> int:
        writer = sink.open(WriteContext("j", "l", "s", f"u{number}", setup=setup.data))
        for part in range(5):
            writer.write(batch([("+I", number * 1000 + part * 100 + i, "x") for i in range(100)]))
        return writer.stage().rows

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(unit, range(8))) == 4000

    assert files.rows("b", "SELECT count(*), count(DISTINCT id) FROM t") == [(4000, 4000)]


def test_query_parameters(files: Files) -> None:
    files.run("b", "CREATE TABLE log (a TEXT, b INT)")
    files.run("a", "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y%')")

    named = {"url": files.sink()["url"], "query": "INSERT INTO log VALUES (:s || ':id', :id)"}
    copy_tables(files.source(table_path="t"), named)
    copy_tables(files.source(query="SELECT s, id FROM t"), {**named, "query": "INSERT INTO log VALUES (?, ?)"})

    assert files.rows("b", "SELECT * FROM log") == [("x:id", 1), ("y%:id", 2), ("x", 1), ("y%", 2)]


def test_a_missing_file_or_table_is_named(files: Files, tmp_path: Path) -> None:
    with pytest.raises(FatalError, match=r"nope\.db does not exist"):
        make_source({"url": f"jdbc:sqlite:{tmp_path}/nope.db", "table_path": "t"}).tables()
    with pytest.raises(FatalError, match="table t .* does not exist"):
        make_source(files.source(table_path="t")).tables()
