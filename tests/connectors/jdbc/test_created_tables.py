"""What a job file says of the tables that it creates, on real servers; engines that cannot take rows back."""

from __future__ import annotations

import pytest

from seatunnel_py.api import FatalError
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink, make_source

LINES = ("CREATE TABLE a.t (id bigint PRIMARY KEY, v bigint)", "INSERT INTO a.t VALUES (1, 5), (2, 6)")


@pytest.mark.postgres
@pytest.mark.parametrize("recipe", ["direct", "shadow"])
def test_a_postgresql_table_has_its_storage_parameters(pg: PostgresPlace, recipe: str) -> None:
    """Also one that was filled beside its place; nothing of the filling stays."""
    for line in LINES:
        pg.db.execute(line)
    sink = pg.sink(
        table="b.t", is_exactly_once=True, exactly_once_recipe=recipe, table_options={"fillfactor": "70"},
        schema_save_mode="RECREATE_SCHEMA",
    )  # fmt: skip

    copy_tables(pg.source(table_path="a.t"), sink)

    assert pg.rows("SELECT reloptions FROM pg_class WHERE oid = 'b.t'::regclass") == [(["fillfactor=70"],)]
    assert pg.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, 5), (2, 6)]


@pytest.mark.mariadb
@pytest.mark.parametrize("recipe", ["staged", "shadow"])
def test_a_mariadb_table_has_its_character_set(maria: MariadbPlace, recipe: str) -> None:
    """And an engine with transactions without being asked for."""
    maria.run(*LINES)
    options = {"charset": "latin1", "collate": "latin1_bin"}
    sink = maria.sink(table="t", is_exactly_once=True, exactly_once_recipe=recipe, table_options=options)

    copy_tables(maria.source(table_path="a.t"), sink)

    shown = (
        "SELECT table_collation, engine FROM information_schema.tables WHERE table_schema = 'b' AND table_name = 't'"
    )
    assert maria.rows(shown) == [("latin1_bin", "InnoDB")]
    assert maria.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, 5), (2, 6)]


@pytest.mark.mariadb
def test_each_table_has_the_key_of_the_first_pattern_that_fits(maria: MariadbPlace) -> None:
    """The catch-all comes last, though it would be first in the alphabet."""
    maria.run(
        *(f"CREATE TABLE a.{name} (id bigint PRIMARY KEY, x bigint, y bigint)" for name in ("mtc_1", "mtc_2")),
        *(f"INSERT INTO a.{name} VALUES (1, 2, 3)" for name in ("mtc_1", "mtc_2")),
    )
    keys = {"^mtc_2$": ["y"], "mtc_1": ["x", "id"], "mtc_.*": ["id"]}
    source = maria.source(table_list=[{"table_path": "a.mtc_1"}, {"table_path": "a.mtc_2"}])

    copy_tables(source, maria.sink(multi_table_config={"primary_keys": keys}))

    found = maria.rows(
        "SELECT table_name, column_name FROM information_schema.key_column_usage WHERE table_schema = 'b' AND "
        "constraint_name = 'PRIMARY' AND table_name LIKE 'mtc%' ORDER BY table_name, ordinal_position"
    )
    assert found == [("mtc_1", "x"), ("mtc_1", "id"), ("mtc_2", "y")]


@pytest.mark.mariadb
def test_an_engine_without_transactions_is_refused_where_rows_would_have_to_be_taken_back(maria: MariadbPlace) -> None:
    """A worker that dies in the middle would leave half of a unit, which the next attempt writes once more."""
    maria.run(*LINES, "CREATE TABLE b.t (id bigint PRIMARY KEY, v bigint) ENGINE = MyISAM")
    [table] = make_source(maria.source(table_path="a.t")).tables()

    with pytest.raises(FatalError, match="engine MyISAM, which cannot take a transaction back"):
        make_sink(maria.sink(table="t", is_exactly_once=True), table.schema)[0].plan_setup()
    with pytest.raises(FatalError, match="no engine Aria with transactions"):
        make_sink(maria.sink(table="u", table_options={"engine": "Aria"}), table.schema)[0].plan_setup()

    copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"))  # by key rows may arrive twice
    assert maria.rows("SELECT id, v FROM b.t ORDER BY id") == [(1, 5), (2, 6)]


@pytest.mark.mariadb
@pytest.mark.parametrize("recipe", ["staged", "shadow"])
def test_comments_of_columns_come_along(maria: MariadbPlace, pg: PostgresPlace, recipe: str) -> None:
    """P1-comments: MariaDB's tables had that of the table and none of the columns'."""
    words = r"it's 100 % {of} a \ column"
    pg.db.execute(
        f"CREATE TABLE a.t (id bigint PRIMARY KEY, v text); COMMENT ON COLUMN a.t.v IS '{words.replace(chr(39), chr(39) * 2)}';"
        "COMMENT ON TABLE a.t IS 'of it'"
    )

    copy_tables(pg.source(table_path="a.t"), maria.sink(table="t", is_exactly_once=True, exactly_once_recipe=recipe))

    assert maria.rows(
        "SELECT column_name, column_comment FROM information_schema.columns WHERE table_schema = 'b' AND table_name = 't'"
    ) == [("id", ""), ("v", words)]
