"""Values of MariaDB arrive exactly, or under a name, or not at all; compared by the server's own texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatunnel_py.api import FatalError, ReadContext, Rejected
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.plan.tables.conversions import conversions_of
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_source

pytestmark = pytest.mark.mariadb


@pytest.fixture
def far_away(maria: MariadbPlace) -> Iterator[MariadbPlace]:
    """A server whose own time zone is not UTC; sessions of tests keep it in mind, ours may not."""
    maria.run("SET GLOBAL time_zone = '+05:30'", "SET SESSION time_zone = '+00:00'")
    close_all()
    yield maria
    maria.run("SET GLOBAL time_zone = '+00:00'")


@pytest.mark.parametrize("local_infile", [1, 0])
def test_moments_do_not_move_by_the_server_s_zone(far_away: MariadbPlace, pg: PostgresPlace, local_infile: int) -> None:
    """T4: read as 17:30, and stored as 06:30."""
    far_away.run(
        f"SET GLOBAL local_infile = {local_infile}",
        "CREATE TABLE a.t (id int PRIMARY KEY, ts timestamp NULL, ts6 timestamp(6) NULL)",
        "INSERT INTO a.t VALUES (1, '2024-01-01 12:00:00', '2038-01-19 03:14:07.999999'), (2, NULL, NULL), "
        "(3, '1970-01-01 00:00:01', '1970-01-01 00:00:01.000001')",
        "CREATE TABLE b.t LIKE a.t",
    )

    copy_tables(far_away.source(table_path="a.t"), far_away.sink(table="t"))
    copy_tables(far_away.source(table_path="a.t"), far_away.sink(table="made"))
    copy_tables(far_away.source(table_path="a.t"), pg.sink(table="b.t"))
    copy_tables(pg.source(table_path="b.t"), far_away.sink(table="back"))

    said = "SELECT id, CAST(ts AS CHAR), CAST(ts6 AS CHAR) FROM {} ORDER BY id"
    assert far_away.rows(said.format("a.t")) == far_away.rows(said.format("b.t"))
    for table in ("b.made", "b.back"):
        assert far_away.rows(f"SELECT id, ts6 FROM {table} ORDER BY id") == far_away.rows(
            "SELECT id, ts6 FROM a.t ORDER BY id"
        )
    pg.db.execute("SET TimeZone = 'UTC'")
    assert pg.rows("SELECT ts::text, ts6::text FROM b.t ORDER BY id") == [
        ("2024-01-01 12:00:00+00", "2038-01-19 03:14:07.999999+00"), (None, None),
        ("1970-01-01 00:00:01+00", "1970-01-01 00:00:01.000001+00"),
    ]  # fmt: skip


@pytest.mark.parametrize("unsigned", ["", " unsigned"])
def test_a_tinyint_of_one_digit_is_a_boolean_or_refused(maria: MariadbPlace, pg: PostgresPlace, unsigned: str) -> None:
    """T12, P3-A10: 2, -1 and 255 were true."""
    number = "255" if unsigned else "-1"
    maria.run(
        f"CREATE TABLE a.t (id int PRIMARY KEY, x tinyint(1){unsigned})",
        "INSERT INTO a.t VALUES (1, 0), (2, 1), (3, 2)",
    )
    with pytest.raises(FatalError, match="column 'x' holds 2, which is not a boolean; set int_type_narrowing = false"):
        copy_tables(maria.source(table_path="a.t"), pg.sink(table="b.t"))
    maria.run(f"UPDATE a.t SET x = {number} WHERE id = 3")
    with pytest.raises(FatalError, match=f"holds {number}"):
        copy_tables(maria.source(table_path="a.t"), pg.sink(table="b.t"))

    copy_tables(maria.source(table_path="a.t", int_type_narrowing=False), pg.sink(table="b.numbers"))
    maria.run("DELETE FROM a.t WHERE id = 3", "INSERT INTO a.t VALUES (3, NULL)")
    copy_tables(maria.source(table_path="a.t"), pg.sink(table="b.booleans"))

    assert pg.rows("SELECT x FROM b.numbers ORDER BY id") == [(0,), (1,), (int(number),)]
    assert pg.rows("SELECT x FROM b.booleans ORDER BY id") == [(False,), (True,), (None,)]


def test_decimals_of_65_digits(maria: MariadbPlace, pg: PostgresPlace) -> None:
    """T10: digits beyond 38 have an exact home."""
    values = [
        "12345678901234567890123456789012345.123456789012345678901234567890", "-0.000000000000000000000000000001",
        "99999999999999999999999999999999999.999999999999999999999999999999", "0.000000000000000000000000000000",
    ]  # fmt: skip
    rows = ", ".join(f"({at}, {value}, '{'9' * 65}')" for at, value in enumerate(values))
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY, n decimal(65,30), w decimal(65))", f"INSERT INTO a.t VALUES {rows}"
    )

    copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"))
    copy_tables(maria.source(table_path="a.t"), pg.sink(table="b.t"))

    assert [row[0] for row in maria.rows("SELECT CAST(n AS CHAR) FROM b.t ORDER BY id")] == values
    assert [row[0] for row in pg.rows("SELECT n::text FROM b.t ORDER BY id")] == values
    assert maria.rows("SELECT DISTINCT CAST(w AS CHAR) FROM b.t") == [("9" * 65,)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "2024-05-00"), ("date", "2024-00-10"), ("date", "0000-00-00"), ("datetime", "0000-05-00"),
        ("datetime(6)", "2024-05-00"), ("timestamp", "0000-00-00"),
    ],
)  # fmt: skip
def test_dates_without_a_month_or_a_day_are_zero_dates(maria: MariadbPlace, kind: str, value: str) -> None:
    """P3-A9: convertToNull left them refused."""
    maria.run(
        "SET SESSION sql_mode = ''",
        f"CREATE TABLE a.t (id int PRIMARY KEY, x {kind} NULL)",
        f"INSERT INTO a.t VALUES (1, '{value}'), (2, '2024-01-02')",
    )
    with pytest.raises(FatalError, match=f"column 'x' holds {value}.*zeroDateTimeBehavior=convertToNull"):
        copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"))
    options = maria.source(table_path="a.t")
    options["url"] += "&zeroDateTimeBehavior=convertToNull"

    [copied] = copy_tables(options, maria.sink(table="t"))

    assert [row[0] for row in maria.rows("SELECT DATE(x) IS NULL FROM b.t ORDER BY id")] == [1, 0]
    column = copied.table.schema.column("x")
    assert column and column.converted_from == f"{kind}, zero dates as null"


def test_a_geometry_keeps_its_reference_system(maria: MariadbPlace, pg: PostgresPlace) -> None:
    """T33: the number of the reference system was dropped."""
    maria.run(
        "CREATE TABLE b.there (id int PRIMARY KEY, g geometry, p point)",
        "CREATE TABLE a.t (id int PRIMARY KEY, g geometry, p point)",
        "INSERT INTO a.t VALUES (1, ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))', 4326), POINT(1, 2)), (2, NULL, NULL)",
    )
    said = "SELECT HEX(g), HEX(p), ST_SRID(g), ST_AsText(g) FROM {} ORDER BY id"
    for target in ("made", "there"):
        [copied] = copy_tables(maria.source(table_path="a.t"), maria.sink(table=target))
        assert maria.rows(said.format(f"b.{target}")) == maria.rows(said.format("a.t"))
        assert not [one for one in conversions_of(copied.table.schema, copied.setup.conversions) if one.column == "g"]
    copy_tables(maria.source(table_path="a.t"), pg.sink(table="b.t"))

    column = copied.table.schema.column("g")
    assert column and column.converted_from == "geometry"
    ewkb, plain = pg.rows("SELECT g, p FROM b.t ORDER BY id")[0]
    assert ewkb.hex()[:18] == "0103000020e6100000"
    assert plain.hex().upper() == maria.rows("SELECT HEX(ST_AsBinary(p)) FROM a.t WHERE id = 1")[0][0]


def test_rows_without_a_counterpart_are_set_aside_where_the_job_allows_it(maria: MariadbPlace) -> None:
    maria.run(
        "SET SESSION sql_mode = ''",
        "CREATE TABLE a.t (id int PRIMARY KEY, d date, t time, b tinyint(1))",
        "INSERT INTO a.t VALUES (1, '2024-01-01', '12:00:00', 1), (2, '0000-00-00', NULL, 0), (3, NULL, '25:00:00', 0), "
        "(4, '2024-01-01', NULL, 2), (5, NULL, NULL, NULL)",
    )
    source = make_source(maria.source(table_path="a.t"))
    [table] = source.tables()
    [split] = source.enumerator([table], None).discover()
    reader = source.reader(table)

    *good, rejected = reader.read(split, None, ReadContext(tolerant=True))

    assert [row for one in good for row in one.data["id"].to_pylist()] == [1, 5]  # type: ignore[union-attr]
    assert isinstance(rejected, Rejected) and rejected.end and rejected.end.value == {"after": 5}
    assert len(rejected.reasons) == 3 and "column 't' holds 25:00:00" in rejected.reasons[1]


def test_digits_that_a_column_only_shows_are_named(maria: MariadbPlace) -> None:
    """The number is the same; ``float(7,3)`` shows 1234.567 where ``float`` shows 1234.57."""
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY, f float(7,3), d double(12,2), plain float)",
        "INSERT INTO a.t VALUES (1, 1234.567, 1234567890.10, 1234.567), (2, 0.5, -0.01, 0.1), (3, NULL, NULL, NULL)",
    )

    [copied] = copy_tables(maria.source(table_path="a.t"), maria.sink(table="made"))

    exact = "SELECT id, CAST(f AS DOUBLE), CAST(d AS DOUBLE), CAST(plain AS DOUBLE) FROM {} ORDER BY id"
    assert maria.rows(exact.format("b.made")) == maria.rows(exact.format("a.t"))
    named = conversions_of(copied.table.schema, copied.setup.conversions)
    assert {("f", "float(7,3)"), ("d", "double(12,2)")} <= {(one.column, one.source) for one in named}
