"""What a made table does not have of its source's definition is listed, and carried over where that is asked for."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_rows_there import planned, run
from tests.connectors.jdbc.test_target_names import job

ZERO_IS_ZERO = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"


@pytest.fixture
def rich(pg: PostgresPlace) -> PostgresPlace:
    pg.db.execute(
        "CREATE TYPE a.mood AS ENUM ('ok', 'bad'); CREATE DOMAIN a.small AS int CHECK (VALUE < 10);"
        "CREATE TABLE a.customers (id int PRIMARY KEY);"
        "CREATE TABLE a.orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number serial, customer int "
        "REFERENCES a.customers, note text DEFAULT 'it''s', at timestamptz NOT NULL DEFAULT now(), mood a.mood DEFAULT 'ok',"
        'size a.small, total int CONSTRAINT positive CHECK (total > 0), "double of" int GENERATED ALWAYS AS (total * 2) STORED);'
        "CREATE INDEX ON a.orders (customer, at DESC); CREATE UNIQUE INDEX one_note ON a.orders (lower(note)) WHERE total > 5;"
        "INSERT INTO a.customers VALUES (1);"
        "INSERT INTO a.orders (customer, note, total) VALUES (1, 'x', 7), (1, 'Y', 8)"
    )
    return pg


def sink_of(pg: PostgresPlace, **options: Any) -> tuple[str, dict[str, Any]]:
    return "Jdbc", pg.sink(table="b.orders", **options)


def test_the_plan_lists_what_is_not_carried_over(rich: PostgresPlace, tmp_path: Path) -> None:
    """P1-what is not copied: in a line for each table, and as data."""
    sinks, text = planned(job(tmp_path, rich.source(table_path="a.orders"), sink_of(rich)))

    found = {(one["kind"], one["name"]) for one in sinks["orders"]["not_carried_over"]}
    assert found == {
        ("identity", "id"), ("identity", "number"), ("default", "note"), ("default", "at"), ("type", "mood"),
        ("default", "mood"), ("type", "size"), ("generated column", "double of"), ("check", "positive"),
        ("foreign key", "orders_customer_fkey"), ("index", "orders_customer_at_idx"), ("index", "one_note"),
    }  # fmt: skip
    assert "not carried over: 2 identities (id, number), 3 defaults (note, at, mood), " in text
    assert "1 foreign key (orders_customer_fkey)" in text and "2 indexes (one_note, orders_customer_at_idx)" in text


def test_the_receipt_lists_it_too(rich: PostgresPlace, tmp_path: Path) -> None:
    """P1-what is not copied: a plan of tomorrow, when the table is there, would not know it any more."""
    path = job(tmp_path, rich.source(table_path="a.orders"), sink_of(rich))

    receipt = run(tmp_path, path, job_id="x")

    lacking = "2 identities, 3 defaults, 2 types, 1 generated column, 1 foreign key, 1 check, 2 indexes"
    note = f"not carried over from 1 table: {lacking}; "
    kept = (tmp_path / "home/jobs/x/receipt.json").read_text()
    assert any(one.startswith(note) for one in receipt.notes), receipt.notes
    names = {one["name"] for one in receipt.to_plain()["tables"][0]["targets"][0]["not_carried_over"]}
    assert {"orders_customer_fkey", "one_note", "double of", "size"} < names and all(one in kept for one in names)


@pytest.mark.parametrize("once", [False, True])
def test_what_is_asked_for_is_carried_over(rich: PostgresPlace, tmp_path: Path, once: bool) -> None:
    more = {"carry_over": ["defaults", "identity", "checks", "indexes"], "is_exactly_once": once}
    more |= {"exactly_once_recipe": "shadow"} if once else {}
    path = job(tmp_path, rich.source(table_path="a.orders"), sink_of(rich, **more))

    left = {(one["kind"], one["name"]) for one in planned(path)[0]["orders"]["not_carried_over"]}
    receipt = run(tmp_path, path)

    assert receipt.exit_code == 0, receipt.tables[0].cause
    assert left == {
        ("type", "mood"), ("default", "mood"), ("type", "size"), ("generated column", "double of"),
        ("foreign key", "orders_customer_fkey"),
    }  # fmt: skip
    assert rich.rows("SELECT id, note, total FROM b.orders ORDER BY id") == [(1, "x", 7), (2, "Y", 8)]
    rich.db.execute("INSERT INTO b.orders (total) VALUES (9)")
    assert rich.rows("SELECT id, number, note, at IS NOT NULL FROM b.orders WHERE total = 9") == [(3, 3, "it's", True)]
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'b' AND tablename = 'orders' ORDER BY 1"
    made = " ".join(text for (text,) in rich.rows(indexes))
    assert "(customer, at DESC)" in made and "(lower(note)) WHERE (total > 5)" in made
    with pytest.raises(Exception, match="positive"):
        rich.db.execute("INSERT INTO b.orders (total) VALUES (-1)")


def test_a_table_that_is_there_is_left_as_it_is(rich: PostgresPlace, tmp_path: Path) -> None:
    rich.db.execute("CREATE TABLE b.customers (id int PRIMARY KEY)")
    sinks, text = planned(
        job(tmp_path, rich.source(table_path="a.customers"), ("Jdbc", rich.sink(table="b.customers")))
    )

    assert "not_carried_over" not in sinks["customers"] and "not carried over" not in text


@pytest.mark.mariadb
def test_a_unique_key_that_mariadb_does_not_get_is_named(
    rich: PostgresPlace, maria: MariadbPlace, tmp_path: Path
) -> None:
    """P1-jsonb in MariaDB: the unique key was dropped without a word."""
    rich.db.execute("CREATE TABLE a.u (id int PRIMARY KEY, code text NOT NULL UNIQUE, n int DEFAULT 5)")
    sinks, _ = planned(job(tmp_path, rich.source(table_path="a.u"), ("Jdbc", maria.sink())))

    assert {(one["kind"], one["name"]) for one in sinks["u"]["not_carried_over"]} == {
        ("default", "n"), ("unique key", "u_code_key"),
    }  # fmt: skip


@pytest.mark.mariadb
@pytest.mark.parametrize("carry", [False, True])
def test_mariadb_to_mariadb(maria: MariadbPlace, tmp_path: Path, carry: bool) -> None:
    """Listed, and carried over where that is asked for."""
    maria.run(
        ZERO_IS_ZERO,
        "CREATE TABLE a.c (id int PRIMARY KEY)",
        "CREATE TABLE a.o (id bigint AUTO_INCREMENT PRIMARY KEY, c int, code varchar(20) NOT NULL UNIQUE, n int DEFAULT 5, "
        "note varchar(30) DEFAULT 'it''s' CHECK (note <> '`x` {}'), j json, at datetime DEFAULT current_timestamp(), g int AS (n * 2) STORED, "
        "CONSTRAINT fk FOREIGN KEY (c) REFERENCES a.c (id), CONSTRAINT ck CHECK (n > 0), KEY two (note(5), n DESC))",
        "INSERT INTO a.c VALUES (1)",
        "INSERT INTO a.o (id, c, code) VALUES (41, 1, 'x')",
        "DELETE FROM a.o",
        "INSERT INTO a.o (id, c, code) VALUES (0, 1, 'x')",
    )
    more = {"carry_over": ["defaults", "identity", "checks", "indexes"]} if carry else {}
    path = job(tmp_path, maria.source(table_path="a.o"), ("Jdbc", maria.sink(**more)))

    left = {(one["kind"], one["name"]) for one in planned(path)[0]["o"]["not_carried_over"]}
    receipt = run(tmp_path, path)

    assert receipt.exit_code == 0, receipt.tables[0].cause
    never = {("generated column", "g"), ("foreign key", "fk")}
    asked = {
        ("identity", "id"), ("check", "ck"), ("check", "note"),
        ("default", "n"), ("default", "note"), ("default", "at"), ("index", "fk"), ("index", "two"),
        ("unique key", "code"),
    }  # fmt: skip
    assert left == (never if carry else never | asked)
    if carry:
        maria.run("INSERT INTO b.o (code) VALUES ('y')")
        assert maria.rows("SELECT id, n, note, at IS NOT NULL FROM b.o WHERE id > 0") == [(42, 5, "it's", 1)]
        for wrong in ("n = 0", "note = '`x` {}'"):
            with pytest.raises(Exception, match="CONSTRAINT"):
                maria.run(f"UPDATE b.o SET {wrong}")
        with pytest.raises(Exception, match="Duplicate entry"):
            maria.run("INSERT INTO b.o (id, code) VALUES (10, 'y')")


@pytest.mark.mariadb
@pytest.mark.parametrize("recipe", ["", "staged", "shadow"])
def test_comments_without_room_are_named(pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path, recipe: str) -> None:
    """They were cut, and characters beyond the first 65,536 became question marks."""
    comments = {"fits": "é" * 1024, "long": "x" * 1025, "wide": "😀"}
    kept, cut = f"kept{recipe}", f"cut{recipe}"  # what is planned for one name in this process is not forgotten at once
    columns = ", ".join(f"{name} int" for name in comments)
    pg.db.execute(
        f"CREATE TABLE a.{kept} (id int PRIMARY KEY, {columns}); CREATE TABLE a.{cut} (id int PRIMARY KEY)".encode()
    )
    for name, text in comments.items():
        pg.db.execute(f"COMMENT ON COLUMN a.{kept}.{name} IS '{text}'".encode())
    pg.db.execute(f"COMMENT ON TABLE a.{kept} IS '{'é' * 2048}'; COMMENT ON TABLE a.{cut} IS '{'x' * 2049}'".encode())
    once = {"is_exactly_once": True, "exactly_once_recipe": recipe} if recipe else {}
    path = job(tmp_path, pg.source(table_path=r"a[.].*", use_regex=True), ("Jdbc", maria.sink(**once)))

    sinks, _ = planned(path)
    run(tmp_path, path)

    left = {(one["kind"], one["name"]) for sink in sinks.values() for one in sink.get("not_carried_over", ())}
    assert left == {("comment", "long"), ("comment", "wide"), ("comment", cut)}
    found = f"SELECT table_name, table_comment FROM information_schema.tables WHERE table_schema = 'b' AND table_name IN ('{kept}', '{cut}')"
    assert dict(maria.rows(found)) == {kept: "é" * 2048, cut: ""}
    found = f"SELECT column_name, column_comment FROM information_schema.columns WHERE table_schema = 'b' AND table_name = '{kept}'"
    assert dict(maria.rows(found)) == {"id": "", "fits": "é" * 1024, "long": "", "wide": ""}


def test_sqlite_keeps_no_comments_and_says_so(pg: PostgresPlace, tmp_path: Path) -> None:
    pg.db.execute("CREATE TABLE a.t (id int); COMMENT ON TABLE a.t IS 'x'; COMMENT ON COLUMN a.t.id IS 'y'")
    sink = {"url": f"jdbc:sqlite:{tmp_path}/shop.db", "generate_sink_sql": True}

    _, text = planned(job(tmp_path, pg.source(table_path="a.t"), ("Jdbc", sink)))

    assert "not carried over: 2 comments (t, id)" in text


def test_what_sqlite_defines_is_listed(tmp_path: Path) -> None:
    """Nothing was: a copy lost its foreign keys without a word."""
    with closing(sqlite3.connect(tmp_path / "in.db")) as db:
        db.executescript(
            "CREATE TABLE c (id INTEGER PRIMARY KEY, k INT, UNIQUE (id, k));"
            "CREATE TABLE o (id INTEGER PRIMARY KEY AUTOINCREMENT, c INT REFERENCES c, k INT, n INT DEFAULT 5 CHECK (n > 0),"
            "note TEXT DEFAULT 'check', g INT AS (n * 2), \"check\" TEXT, CONSTRAINT two CHECK (k < 9), "
            "FOREIGN KEY (c, k) REFERENCES c (id, k)); CREATE INDEX by_k ON o (k); CREATE UNIQUE INDEX some ON o (k) WHERE k > 5"
        )
    database = f"jdbc:sqlite:{tmp_path}/in.db"
    sink = {"url": f"jdbc:sqlite:{tmp_path}/out.db", "generate_sink_sql": True}

    sinks, _ = planned(job(tmp_path, {"url": database, "table_path": "o"}, ("Jdbc", sink)))

    assert {(one["kind"], one["name"]) for one in sinks["o"]["not_carried_over"]} == {
        ("identity", "id"), ("foreign key", "c to c"), ("foreign key", "c, k to c"), ("default", "n"),
        ("default", "note"), ("generated column", "g"), ("check", "two"), ("check", "check 1"), ("index", "by_k"),
        ("index", "some"),
    }  # fmt: skip


@pytest.mark.mariadb
@pytest.mark.parametrize(
    "once", [{}, {"is_exactly_once": True, "exactly_once_recipe": "shadow"}], ids=["direct", "shadow"]
)
@pytest.mark.parametrize(
    "more", [{"primary_keys": ["n"]}, {"create_index": False}, {}], ids=["other key", "no key", "key"]
)
def test_mariadb_numbers_rows_only_by_a_key(
    maria: MariadbPlace, tmp_path: Path, more: dict[str, Any], once: dict[str, Any]
) -> None:
    maria.run(
        ZERO_IS_ZERO,
        "CREATE TABLE a.t (id int AUTO_INCREMENT PRIMARY KEY, n int NOT NULL)",
        "INSERT INTO a.t VALUES (0, 4), (7, 5)",
    )
    if more and once:
        pytest.skip("the source does not prove that rows differ there")
    path = job(tmp_path, maria.source(table_path="a.t"), ("Jdbc", maria.sink(carry_over=["identity"], **more, **once)))

    left = planned(path)[0]["t"].get("not_carried_over", ())
    receipt = run(tmp_path, path)

    assert receipt.exit_code == 0, receipt.tables[0].cause
    assert {one["kind"] for one in left} == ({"identity"} if more else set())
    assert maria.rows("SELECT * FROM b.t ORDER BY id") == [(0, 4), (7, 5)]
    if not more:
        maria.run("INSERT INTO b.t (n) VALUES (6)")
        assert maria.rows("SELECT max(id) FROM b.t") == [(8,)]
