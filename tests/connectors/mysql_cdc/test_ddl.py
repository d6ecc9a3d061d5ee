"""Definitions that change in the middle of the log: each row is decoded under the one that was valid then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from seatunnel_connectors.mysql_cdc.failures import DefinitionMismatchError, UnreadableStatementError
from seatunnel_connectors.mysql_cdc.reading.changes import LogTableChange
from seatunnel_connectors.mysql_cdc.schema.history import TableChange, TableChangeKind
from tests.connectors.mysql_cdc.log_place import LogPlace, blocks, cause_of, replayed, rows_of

STEPS = (
    "ALTER TABLE t ADD COLUMN a INT UNSIGNED NOT NULL DEFAULT 7 AFTER id",
    "ALTER TABLE t ADD (b VARCHAR(10) CHARACTER SET latin1, c DECIMAL(10,2) DEFAULT 1.5), ADD INDEX (b)",
    "ALTER ONLINE TABLE t CHANGE COLUMN v `v 2` VARCHAR(40) NOT NULL COMMENT 'it''s' FIRST",
    "ALTER TABLE a.t DROP COLUMN c, MODIFY a BIGINT UNSIGNED, ALGORITHM=COPY",
    "ALTER TABLE t RENAME COLUMN a TO aa, ADD COLUMN e ENUM('x','y') AFTER aa, ADD s SET('1','2')",
    "ALTER TABLE t /*! ADD COLUMN IF NOT EXISTS f DATETIME(3) */ /*M!100100 NULL */ /*!50701 nonsense */",
    "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4",
    "ALTER TABLE t ENGINE=InnoDB, COMMENT='hello'",
    "CREATE INDEX i ON t (aa)",
    "ALTER TABLE t MODIFY COLUMN e ENUM('x','y','z') FIRST",
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, `v 2`)",
    "ALTER TABLE t ADD COLUMN j JSON, ADD bo BOOLEAN, ADD y YEAR, ADD bi BIT(3), ADD g POINT, ADD u UUID",
    "ALTER TABLE t WAIT 5 ADD COLUMN w TEXT(100), ADD n NATIONAL VARCHAR(5), ADD d DOUBLE PRECISION, ADD fl FLOAT(30)",
)  # fmt: skip


def changes_of(found: Sequence[object]) -> list[TableChange]:
    return [one.change for one in found if isinstance(one, LogTableChange)]


@pytest.mark.parametrize("metadata", ["FULL", "NO_LOG"])
def test_each_row_has_the_definition_of_its_time(log: LogPlace, metadata: str) -> None:
    """F-C20, F-C50, F-C57, F-C59: the definition is that of the catalog after every statement."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(30)) CHARACTER SET utf8mb4", "CREATE TABLE other (id INT)")
    definition = log.definitions("t")
    start = log.end()
    log.run(f"SET GLOBAL binlog_row_metadata = {metadata}")
    rows, catalogs = [], []
    try:
        for number, step in enumerate(STEPS):
            log.run(step, "ALTER TABLE other ADD COLUMN IF NOT EXISTS z INT, ENGINE=Aria")
            name = log.ask(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'a' AND table_name = 't' AND column_name LIKE 'v%'"
            )[0][0]
            log.run(f"INSERT INTO t (id, `{name}`) VALUES ({number}, 'ä{number}')")
            rows.append(log.ask(f"SELECT * FROM t WHERE id = {number}")[0])
            catalogs.append(log.definitions("t")["a", "t"])
    finally:
        log.run("SET GLOBAL binlog_row_metadata = FULL")

    found = list(log.changes(definition, start))

    seen = [(block.definition, row) for block in blocks(found) for _, row in rows_of([block])]
    assert [row for _, row in seen] == [
        tuple(bool(one) if isinstance(one, bool) else one for one in row) for row in rows
    ]
    for (definition_then, _), catalog, step in zip(seen, catalogs, STEPS, strict=True):
        assert [
            (one.name, one.column_type, one.charset, one.words, one.nullable) for one in definition_then.columns
        ] == [(one.name, one.column_type, one.charset, one.words, one.nullable) for one in catalog.columns], step
        assert definition_then.key == catalog.key, step
        assert definition_then.comment == catalog.comment
    versions = [change.version for change in changes_of(found)]
    assert versions == sorted(versions)
    assert {(change.name, change.kind) for change in changes_of(found)} == {
        (("a", "t"), TableChangeKind.ALTERED),
        (("a", "other"), TableChangeKind.ALTERED),
    } - ({(("a", "other"), TableChangeKind.ALTERED)})


def test_a_rename_is_proved_by_the_statement(log: LogPlace) -> None:
    """F-C52: drop and add are two changes."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)")
    definition, start = log.definitions("t"), log.end()
    log.run("ALTER TABLE t RENAME COLUMN v TO x, CHANGE w ww BIGINT", "ALTER TABLE t DROP COLUMN x, ADD COLUMN v INT")

    renamed, replaced = changes_of(list(log.changes(definition, start)))

    assert renamed.renamed_columns == {"v": "x", "w": "ww"} and renamed.needs_refresh
    assert replaced.renamed_columns == {}
    assert [one.name for one in replaced.after.columns] == ["id", "ww", "v"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "swap",
    [
        ("RENAME TABLE t TO _t_del, _t_gho TO t",),
        ("RENAME TABLE `t` TO `_t_old`, `_t_gho` TO `t`", "DROP TABLE IF EXISTS `_t_old`"),
        ("ALTER TABLE t RENAME AS _t_old", "ALTER TABLE _t_gho RENAME TO t"),
    ],
)
def test_swaps_of_schema_change_tools(log: LogPlace, swap: tuple[str, ...]) -> None:
    """F-C55: gh-ost and pt-osc copy rows into a table of their own and rename: rows of the copy never come out."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)")
    definition, start = log.definitions("t"), log.end()
    log.run(
        "CREATE TABLE _t_gho LIKE t", "ALTER TABLE _t_gho ADD COLUMN w INT DEFAULT 5", "INSERT INTO _t_gho (id, v) SELECT * FROM t",
        *swap, "INSERT INTO t VALUES (2, 2, 2)",
    )  # fmt: skip
    history = log.history(definition)
    history._counts = lambda name: name == ("a", "t")

    found = list(log.changes(start=start, history=history))

    assert rows_of(blocks(found)) == [("+I", (2, 2, 2))]
    last = changes_of(found)[-1]
    assert last.after is not None and [one.name for one in last.after.columns] == ["id", "v", "w"]
    assert {block.name for change in found if hasattr(change, "tables") for block in change.tables} == {("a", "t")}


def test_tables_are_created_truncated_renamed_and_dropped(log: LogPlace) -> None:
    log.run(
        "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT, KEY k (v(10)), CONSTRAINT c CHECK (v <> 'z'))",
        "INSERT INTO t (v) VALUES ('a')", "TRUNCATE t", "INSERT INTO t (v) VALUES ('b')", "RENAME TABLE t TO t2",
        "INSERT INTO t2 (v) VALUES ('c')", "CREATE TABLE t3 AS SELECT * FROM t2", "CREATE TABLE t4 LIKE t2",
        "CREATE OR REPLACE VIEW vv AS SELECT * FROM t2", "DROP VIEW vv", "CREATE TEMPORARY TABLE t (id INT)", "DROP TEMPORARY TABLE t",
        "INSERT INTO t4 (v) VALUES ('d')", "DROP TABLE t3, t4", "DROP TABLE t2",
    )  # fmt: skip

    found = list(log.changes())

    kinds = [(change.kind.value, change.name[1]) for change in changes_of(found)]
    assert kinds == [
        ("created", "t"), ("truncated", "t"), ("renamed", "t"), ("created", "t2"), ("created", "t3"), ("created", "t4"),
        ("dropped", "t3"), ("dropped", "t4"), ("dropped", "t2"),
    ]  # fmt: skip
    assert [(table, row) for table in ("t", "t2", "t3", "t4") for _, row in rows_of(blocks(found, table))] == [
        ("t", (1, "a")), ("t", (1, "b")), ("t2", (2, "c")), ("t3", (1, "b")), ("t3", (2, "c")), ("t4", (1, "d")),
    ]  # fmt: skip


def test_a_change_comes_between_the_rows_around_it(log: LogPlace) -> None:
    log.run(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD v INT",
        "INSERT INTO t VALUES (2, 2)",
    )

    found = [type(one).__name__ for one in log.changes()]

    assert [one for one in found if one in ("RowsBlock", "LogTableChange")] == [
        "LogTableChange",
        "RowsBlock",
        "LogTableChange",
        "RowsBlock",
    ]


def test_a_missed_change_stops_its_table(log: LogPlace) -> None:
    """F-C54: by the number of columns without metadata, by their names with it."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    old = log.definitions("t")
    log.run("ALTER TABLE t DROP COLUMN v", "CREATE TABLE u (id INT PRIMARY KEY, v INT UNSIGNED)")
    start = log.end()
    log.run("INSERT INTO t VALUES (1)")
    found = cause_of(log.changes(old, start))
    assert (
        isinstance(found, DefinitionMismatchError)
        and "has 2 columns by its definition, and 1 in the log" in found.message
    )

    other = log.definitions("u")
    log.run("ALTER TABLE u CHANGE v w INT UNSIGNED")
    start = log.end()
    log.run("INSERT INTO u VALUES (1, 1)")
    found = cause_of(log.changes(other, start))
    assert (
        isinstance(found, DefinitionMismatchError)
        and "column 'v' by its definition, and 'w' in its place" in found.message
    )
    log.run("ALTER TABLE u CHANGE w v INT")
    start = log.end()
    log.run("INSERT INTO u VALUES (2, -1)")
    found = cause_of(log.changes(other, start))
    assert isinstance(found, DefinitionMismatchError) and "is declared as int unsigned" in found.message


@pytest.mark.parametrize("metadata", ["FULL", "NO_LOG"])
def test_a_statement_that_is_not_understood(log: LogPlace, metadata: str) -> None:
    """F-C56: the log's metadata tells the new form; without metadata the table stops, with the statement."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    definition, start = log.definitions("t"), log.end()
    log.run(
        f"SET GLOBAL binlog_row_metadata = {metadata}",
        "ALTER TABLE t ADD SYSTEM VERSIONING",
        "INSERT INTO t (id) VALUES (1)",
    )
    log.run("SET GLOBAL binlog_row_metadata = FULL")

    if metadata == "NO_LOG":
        found = cause_of(log.changes(definition, start))
        assert isinstance(found, UnreadableStatementError) and "ALTER TABLE t ADD SYSTEM VERSIONING" in found.message
        return
    found = list(log.changes(definition, start))
    assert [change.kind for change in changes_of(found)] == [TableChangeKind.UNKNOWN, TableChangeKind.ALTERED]
    assert [block.rows.data.schema.names for block in blocks(found)] == [["id", "v"]] or blocks(found)


def test_names_are_folded_where_the_server_does(log: LogPlace) -> None:
    """The log holds the small letters of a table, and a statement those of its author."""
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    definition, start = log.definitions("t"), log.end()
    log.run("INSERT INTO t VALUES (1)", "ALTER TABLE t ADD v INT", "INSERT INTO t VALUES (2, 2)")
    history = log.history(definition)
    history._fold_names = True

    assert replayed(blocks(list(log.changes(start=start, history=history)))[-1:]) == {2: (2, 2)}


def test_quotes_of_ansi_mode(log: LogPlace) -> None:
    log.run("CREATE TABLE t (id INT PRIMARY KEY)")
    definition, start = log.definitions("t"), log.end()
    log.run(
        "SET SESSION sql_mode = 'ANSI_QUOTES'",
        'ALTER TABLE "t" ADD COLUMN "a b" INT',
        "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
    )
    log.run(
        r"ALTER TABLE t ADD COLUMN c INT COMMENT 'a\'",
        "SET SESSION sql_mode = ''",
        r"ALTER TABLE t ADD COLUMN d INT COMMENT 'a\'b'",
    )

    last = changes_of(list(log.changes(definition, start)))[-1]

    assert last.after is not None and [(one.name, one.comment) for one in last.after.columns] == [
        ("id", ""),
        ("a b", ""),
        ("c", "a\\"),
        ("d", "a'b"),
    ]
