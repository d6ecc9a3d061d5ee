"""PostgreSQL to PostgreSQL against a real server: types, save modes, splits, replays, updates and deletes."""

from __future__ import annotations

import json

import pytest

from seatunnel_py.api import BadRowsError, FatalError, ReadContext, Rejected, shown_values
from seatunnel_py.work.unit import Budget
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import copy_table, copy_tables, make_sink, make_source, same_rows

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("way")]

TYPES = """
    CREATE TYPE a.mood AS ENUM ('sad', 'happy');
    CREATE DOMAIN a.positive AS numeric(8, 3) CHECK (value > 0);
    CREATE TABLE a.types (
        id bigint PRIMARY KEY, i2 smallint NOT NULL, i4 integer, r real, d double precision, b boolean,
        n numeric, n10 numeric(10, 2), n0 numeric(20), nn numeric(6, -2), m money, t text, vc varchar(10), ch char(5),
        u uuid, j json, jb jsonb, x xml, inet inet, cidr cidr, mac macaddr, mood a.mood, dom a.positive, by bytea,
        da date, ti time, ti3 time(3), ttz timetz, ts timestamp, ts3 timestamp(3), tsz timestamptz,
        ai integer[], al bigint[], at text[], ab boolean[], ad double precision[], au uuid[], an numeric(10, 2)[],
        adate date[], o oid, na name, q "char");
    INSERT INTO a.types VALUES
        (1, 1, 2, 1.5, -2.5e300, true, 1.23456789, 12.34, 12345678901234567890, 1200, 12.30, 'tä"''\\x', 'v', 'c',
         'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', '{"a": [1, null]}', '<a>1</a>', '10.0.0.1/8',
         '10.0.0.0/8', '08:00:2b:01:02:03', 'sad', 1.125, '\\x0001ff', '2024-02-29', '12:34:56.789012', '01:02:03.456',
         '12:34:56+02', '2024-01-02 03:04:05.678901', '2024-01-02 03:04:05.678', '2024-01-02 03:04:05.678901+02',
         '{1,NULL,3}', '{9007199254740993}', '{a,NULL,"q,\\"x"}', '{t,f}', '{1.5}',
         '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', '{1.20,NULL,-3.00}', '{2024-01-01}', 42, 'nm', 'c'),
        (-9223372036854775808, -32768, -2147483648, 'NaN', 'Infinity', false, -99999999999999999999.999999999999999999,
         -99999999.99, -99999999999999999999, -999900, -92233720368547758.08, '', '', '', NULL, 'null', 'null', NULL,
         '::1', '::/0', NULL, 'happy', 99999.999, '', '0001-01-01', '00:00:00', '23:59:59.999', '00:00:00-12',
         '0001-01-01 00:00:00', '9999-12-31 23:59:59.999', '1970-01-01 00:00:00Z', '{}', '{}', '{}', '{}', '{}', '{}',
         '{}', '{}', 4294967295, '', '');
    INSERT INTO a.types (id, i2) VALUES (0, 0);
"""


def test_every_type_arrives_as_it_was(pg: PostgresPlace) -> None:
    pg.db.execute(TYPES.encode())

    [copied] = copy_tables(pg.source(table_path="a.types"), pg.sink(table="b.types"))

    assert copied.rows == 3
    kept = (
        "id, i2, i4, r, d, b, n, n10, n0, nn, t, vc, ch, u, j::text, jb, x::text, inet, cidr, mac, mood::text, dom, by, "
        "da, ti, ti3, ttz, ts, ts3, tsz, ai, al, at, ab, ad, au, an::text, adate, o, na::text"
    )
    same_rows(pg.rows(f"SELECT {kept} FROM a.types"), pg.rows(f"SELECT {kept} FROM b.types"))
    same_rows(pg.rows("SELECT m::numeric FROM a.types"), pg.rows("SELECT m FROM b.types"))
    types = dict(
        pg.rows(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = 'b' AND table_name = 'types'"
        )
    )
    assert types["u"] == "uuid" and types["jb"] == "jsonb" and types["inet"] == "inet"
    assert types["tsz"] == "timestamp with time zone" and types["n"] == "numeric"


def test_into_a_table_of_other_types_the_server_casts(pg: PostgresPlace) -> None:
    pg.db.execute(TYPES.encode())
    pg.db.execute(
        "CREATE TABLE b.types (id bigint PRIMARY KEY, u text, jb text, inet text, mood varchar(9), i2 bigint, "
        "n10 double precision, ts timestamp, da timestamp, ai text)"
    )
    query = "SELECT id, u, jb, inet, mood, i2, n10, ts, da, ai FROM a.types"

    copy_tables(pg.source(query=query), pg.sink(table="b.types"))

    shown = "id, u::text, jb::text, abbrev(inet), mood::text, i2, n10::float8, ts, da::timestamp"
    same_rows(pg.rows(f"SELECT {shown} FROM a.types"), pg.rows("SELECT id,u,jb,inet,mood,i2,n10,ts,da FROM b.types"))


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        ("'infinity'", "date", "a date that is infinite"),
        ("'-infinity'", "timestamp", "a timestamp that is infinite"),
        ("'infinity'", "timestamptz", "a timestamp that is infinite"),
        ("'NaN'", "numeric(10,2)", "NaN"),
        ("'24:00:00'", "time", "24:00:00"),
        ("'{{1,2},{3,4}}'", "int[]", "array of several dimensions"),
    ],
)
def test_what_arrow_cannot_hold_is_refused_by_column_or_arrives(
    pg: PostgresPlace, way: str, value: str, dtype: str, words: str
) -> None:
    pg.db.execute(f"CREATE TABLE a.odd (id int PRIMARY KEY, x {dtype}); INSERT INTO a.odd VALUES (1, {value})".encode())

    if way == "native":
        copy_tables(pg.source(table_path="a.odd"), pg.sink(table="b.odd"))
        same_rows(pg.rows("SELECT id, x::text FROM b.odd"), pg.rows("SELECT id, x::text FROM a.odd"))
        return
    with pytest.raises(FatalError, match=words) as error:
        copy_tables(pg.source(table_path="a.odd"), pg.sink(table="b.odd"))

    assert "a.odd" in str(error.value)


def test_rows_without_a_counterpart_are_set_aside_where_the_job_allows_it(pg: PostgresPlace) -> None:
    """Each as PostgreSQL has it; the others arrive, and the split goes on behind the last."""
    pg.db.execute(
        b"CREATE TABLE a.odd (d date PRIMARY KEY, t timestamp, z timestamptz); INSERT INTO a.odd VALUES "
        b"('2024-01-01', '2024-01-01', NULL), ('2024-01-02', 'infinity', NULL), ('2024-01-03', NULL, '-infinity'), "
        b"('2024-01-04', '294276-12-31 23:59:59.999999', NULL), ('2024-01-05', NULL, '2024-01-05 00:00:00Z'), "
        b"('12024-01-01', '12024-01-01', NULL), ('infinity', NULL, NULL), ('-infinity', NULL, NULL)"
    )
    source = make_source(pg.source(table_path="a.odd"))
    [table] = source.tables()
    [split] = source.enumerator([table], None).discover()
    reader = source.reader(table)
    with pytest.raises(BadRowsError, match="infinite"):
        list(reader.read(split, None))

    *good, rejected = reader.read(split, None, ReadContext(tolerant=True))

    kept = [text for one in good for text in shown_values(one.data["d"])]  # type: ignore[union-attr]
    assert sorted(kept) == ["+12024-01-01", "2024-01-01", "2024-01-05"]
    assert isinstance(rejected, Rejected) and len(rejected.reasons) == 5
    raw = [json.loads(value) for value in rejected.data["raw"].to_pylist()]
    assert sorted((row["d"], row["t"], row["z"]) for row in raw) == [
        ("-infinity", None, None),
        ("2024-01-02", "infinity", None),
        ("2024-01-03", None, "-infinity"),
        ("2024-01-04", "294276-12-31T23:59:59.999999", None),
        ("infinity", None, None),
    ]
    if rejected.end is not None:
        assert rejected.end.value == {"after": "infinity"}
        assert list(reader.read(split, rejected.end)) == []


SHOWN = """
    CREATE TYPE a.mood AS ENUM ('sad', 'happy');
    CREATE TYPE a.pair AS (one int, other text);
    CREATE TABLE a.shown (
        id interval PRIMARY KEY, i interval(3), ia interval[], p point, l lseg, bx box, pa path, po polygon, c circle, b bit(5),
        vb bit varying, ba bit(3)[], r int4range, ra daterange[], tr tstzrange, tv tsvector, tq tsquery, ja jsonb[],
        ti time[], ls pg_lsn, m a.mood[], pair a.pair, pairs a.pair[]);
    INSERT INTO a.shown VALUES
        ('1 year 2 mons -3 days 04:05:06.789', '-00:00:01.5', '{1 day,NULL,-1 year}', '(1.1,-2)', '[(0,0),(1,1)]',
         '(2,2),(0,0)', '[(0,0),(1,1)]', '((0,0),(1,1),(1,0))', '<(0,0),1e-300>', '10101', '1', '{101,000}', '[1,5)',
         '{"[2024-01-01,)",empty}', '[2024-01-02 03:04:05.678901+02,)', 'a:1A ''it''''s'':2', '''a'' & !b', '{"{}",NULL,1}',
         '{23:59:59.999999}', '16/B374D848', '{happy,NULL}', '(1,"x, y")', '{"(1,)",NULL}');
    INSERT INTO a.shown (id) VALUES ('0'), ('1 day'), ('-1 day'), ('10 days'), ('2 days');
"""
"""What Arrow has no type for, and text has."""


def test_a_type_without_counterpart_is_read_as_its_text(pg: PostgresPlace) -> None:
    """Into a new table, which has the same types where every PostgreSQL has them; into one with all of them; into texts."""
    pg.db.execute(SHOWN.encode())
    pg.db.execute(b"CREATE TABLE b.same (LIKE a.shown INCLUDING ALL)")
    of_shown = "FROM pg_attribute WHERE attrelid = 'a.shown'::regclass AND attnum > 0"
    columns = pg.rows(f"SELECT attname, CASE WHEN attndims > 0 THEN 'text[]' ELSE 'text' END {of_shown}")
    listed = ", ".join(f"{name} {kind}" for name, kind in columns)
    pg.db.execute(f"CREATE TABLE b.texts ({listed}, PRIMARY KEY (id))".encode())
    texts = ", ".join(f"{name}::text" for name, _ in columns)

    for table in ("new", "same", "texts"):
        copy_tables(pg.source(table_path="a.shown"), pg.sink(table=f"b.{table}"))
        same_rows(pg.rows(f"SELECT {texts} FROM b.{table}"), pg.rows(f"SELECT {texts} FROM a.shown"))

    made = pg.rows(f"SELECT format_type(atttypid, atttypmod) {of_shown.replace('a.shown', 'b.new')}")
    assert [kind for (kind,) in made] == [
        "interval", "interval(3)", "interval[]", "point", "lseg", "box", "path", "polygon", "circle", "bit(5)",
        "bit varying", "bit(3)[]", "int4range", "daterange[]", "tstzrange", "tsvector", "tsquery", "jsonb[]",
        "time without time zone[]", "pg_lsn", "text[]", "text", "text[]",
    ]  # fmt: skip


def test_what_is_no_column_and_missing_tables_are_named_all_at_once(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.one (id int)")
    asked = [{"table_path": name} for name in ("a.one", "a.ones", "c.x")]

    with pytest.raises(FatalError) as error:
        make_source(pg.source(table_list=[*asked, {"query": "SELECT ROW(1, 2) AS r, id FROM a.one"}])).tables()

    for words in ("'r'", "record", "a.ones", "did you mean a.one", "c.x", "'c'"):
        assert words in str(error.value)


# ---------------------------------------------------------------- save modes


def fill(pg: PostgresPlace, rows: int = 5, schema: str = "a") -> None:
    pg.db.execute(
        f"CREATE TABLE {schema}.t (id int PRIMARY KEY, name text NOT NULL);"
        f"INSERT INTO {schema}.t SELECT i, 'row ' || i FROM generate_series(1, {rows}) i".encode()
    )


def names(pg: PostgresPlace) -> list[tuple[object, ...]]:
    return pg.rows("SELECT id, name FROM b.t ORDER BY id")


def test_create_and_append_is_the_default_and_upserts(pg: PostgresPlace) -> None:
    fill(pg)
    for _ in range(2):
        [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))

    assert names(pg) == pg.rows("SELECT id, name FROM a.t ORDER BY id")
    assert [effect.action for effect in copied.setup.effects] == []


def test_recreate_drops_what_was_there(pg: PostgresPlace) -> None:
    fill(pg)
    pg.db.execute("CREATE TABLE b.t (id int, other text); INSERT INTO b.t VALUES (9, 'x')")

    [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", schema_save_mode="RECREATE_SCHEMA"))

    assert len(names(pg)) == 5
    assert [(effect.action, effect.destructive) for effect in copied.setup.effects][-2:] == [
        ("drop table", True),
        ("create table", False),
    ]


def test_recreate_is_refused_where_a_view_depends_on_the_table(pg: PostgresPlace) -> None:
    fill(pg)
    pg.db.execute("CREATE TABLE b.t (id int); CREATE VIEW b.v AS SELECT * FROM b.t")

    with pytest.raises(FatalError, match=r"view b\.v"):
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", schema_save_mode="recreate_schema"))


def test_missing_target_is_an_error_where_the_mode_says_so(pg: PostgresPlace) -> None:
    fill(pg)

    for mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
        with pytest.raises(FatalError, match=r"b\.t does not exist"):
            copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", schema_save_mode=mode))


def test_a_schema_without_a_table_is_not_said_to_be_missing(pg: PostgresPlace) -> None:
    """Its last table was dropped: that one is missing."""
    fill(pg)
    pg.db.execute("CREATE SCHEMA empty")

    with pytest.raises(FatalError, match="does not exist") as refused:
        copy_tables(pg.source(table_path="empty.t"), pg.sink(table="b.t"))
    assert "there is no schema" not in refused.value.message


def test_data_modes(pg: PostgresPlace) -> None:
    fill(pg)
    pg.db.execute("CREATE TABLE b.t (id int PRIMARY KEY, name text); INSERT INTO b.t VALUES (99, 'old')")

    with pytest.raises(FatalError, match="ERROR_WHEN_DATA_EXISTS"):
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", data_save_mode="ERROR_WHEN_DATA_EXISTS"))
    assert len(names(pg)) == 1
    copy_tables(
        pg.source(table_path="a.t"),
        pg.sink(
            table="b.t",
            data_save_mode="CUSTOM_PROCESSING",
            custom_sql="DELETE FROM b.t WHERE id = 99; INSERT INTO b.t VALUES (98, 'custom')",
        ),
    )
    assert [row[0] for row in names(pg)] == [1, 2, 3, 4, 5, 98]
    [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", data_save_mode="DROP_DATA"))
    assert [row[0] for row in names(pg)] == [1, 2, 3, 4, 5]
    assert [effect.action for effect in copied.setup.effects] == ["truncate table"]


def test_two_upstream_tables_into_one_target_empty_it_once(pg: PostgresPlace) -> None:
    fill(pg)
    pg.db.execute("CREATE TABLE a.t2 AS SELECT id + 100 AS id, name FROM a.t; ALTER TABLE a.t2 ADD PRIMARY KEY (id)")
    pg.db.execute("CREATE TABLE b.t (old int)")
    both = pg.source(table_list=[{"table_path": "a.t"}, {"table_path": "a.t2"}])

    for _ in range(2):
        copy_tables(both, pg.sink(table="b.t", schema_save_mode="RECREATE_SCHEMA"))

    assert [row[0] for row in names(pg)] == [1, 2, 3, 4, 5, 101, 102, 103, 104, 105]


def test_misfits_are_named_before_anything_is_written(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint PRIMARY KEY, name varchar(20), gone text, n numeric(12, 2))")
    pg.db.execute("CREATE TABLE b.t (id int PRIMARY KEY, name varchar(10), must int NOT NULL, n numeric(6, 2))")

    with pytest.raises(FatalError) as error:
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))

    for words in ("'id' is integer", "shorter than the source's 20", "'gone'", "missing", "'must'", "numeric(6,2)"):
        assert words in str(error.value)


def test_upsert_needs_a_unique_key(pg: PostgresPlace) -> None:
    fill(pg)
    pg.db.execute("CREATE TABLE b.t (id int, name text)")

    with pytest.raises(FatalError, match="no unique key on"):
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
    copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", enable_upsert=False))
    copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t", primary_keys=[]))

    assert len(names(pg)) == 10


def test_column_names_in_another_case_and_hostile_names(pg: PostgresPlace) -> None:
    pg.db.execute(
        """CREATE TABLE a."We""ird; t" ("I d" int PRIMARY KEY, "select" text, "a.b" text, "$seatunnel$" int)"""
    )
    pg.db.execute("""INSERT INTO a."We""ird; t" VALUES (1, 'x', 'y', 2)""")

    named = '"We""ird; t"'
    copy_tables(pg.source(table_path=f"a.{named}"), pg.sink(table=f"b.{named}", field_ide="UPPERCASE"))

    assert pg.rows("""SELECT "I D", "SELECT", "A.B", "$SEATUNNEL$" FROM b."We""ird; t" """) == [(1, "x", "y", 2)]


def test_keys_indexes_and_comments_come_along(pg: PostgresPlace) -> None:
    pg.db.execute(
        "CREATE TABLE a.t (a int, b int, c text UNIQUE, PRIMARY KEY (b, a)); COMMENT ON TABLE a.t IS 'it''s';"
        "COMMENT ON COLUMN a.t.c IS 'see'; INSERT INTO a.t VALUES (1, 2, 'x')"
    )

    copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))

    defs = [row[0] for row in pg.rows("SELECT indexdef FROM pg_indexes WHERE schemaname = 'b' AND tablename = 't'")]
    assert any("(b, a)" in text for text in defs) and any("UNIQUE" in text and "(c)" in text for text in defs)
    assert pg.rows("SELECT obj_description('b.t'::regclass), col_description('b.t'::regclass, 3)") == [("it's", "see")]


# ---------------------------------------------------------------- splits


def large(pg: PostgresPlace, key: str, rows: int = 20_000) -> None:
    pg.db.execute(
        f"CREATE TABLE a.t AS SELECT {key} AS id, i AS n FROM generate_series(1, {rows}) i;"
        "ALTER TABLE a.t ADD PRIMARY KEY (id); ANALYZE a.t".encode()
    )


@pytest.mark.parametrize(
    "key",
    [
        "i", "i * 1000000007::bigint % 2147483647", "(i * i)::bigint", "md5(i::text)", "'k' || i",
        "date '2000-01-01' + i", "timestamp '2000-01-01' + i * interval '1 hour'", "(i / 4.0)::numeric(12, 2)",
        "md5(i::text)::uuid", "(i - 9000) * interval '50 minutes'", "int4range(i, i + 3)", "(i / 3)::bit(20) || i::bit(20)",
    ],
)  # fmt: skip
def test_every_kind_of_key_is_divided_and_read_once(pg: PostgresPlace, key: str) -> None:
    large(pg, key)

    [copied] = copy_tables(pg.source(table_path="a.t", **{"split.size": 3000}), pg.sink(table="b.t"))

    assert len(copied.splits) >= 6
    same_rows(pg.rows("SELECT id, n FROM a.t"), pg.rows("SELECT id, n FROM b.t"))


def test_nulls_and_open_ends_of_a_partition_column(pg: PostgresPlace) -> None:
    pg.db.execute(
        "CREATE TABLE a.t AS SELECT i AS id, CASE WHEN i % 10 > 0 THEN i % 100 END AS part "
        "FROM generate_series(1, 5000) i"
    )
    options = {"partition_column": "part", "partition_num": 4}

    for extra in ({}, {"partition_lower_bound": "20", "partition_upper_bound": "30"}):
        [copied] = copy_tables(
            pg.source(table_path="a.t", **options, **extra), pg.sink(table="b.t", schema_save_mode="RECREATE_SCHEMA")
        )
        assert len(copied.splits) == 5
        same_rows(pg.rows("SELECT * FROM a.t"), pg.rows("SELECT * FROM b.t"))


def test_bounds_of_a_query_are_what_is_read(pg: PostgresPlace) -> None:
    """SeaTunnel reads nothing of a query below its lower bound, above its upper one, or without a value."""
    pg.db.execute(
        "CREATE TABLE a.t AS SELECT i AS id, CASE WHEN i % 10 > 0 THEN i % 100 END AS part "
        "FROM generate_series(1, 5000) i"
    )
    bounds = {"partition_lower_bound": "20", "partition_upper_bound": "30"}
    for number, given in ((4, bounds), (1, bounds), (4, {"partition_upper_bound": "30"})):
        source = pg.source(query="SELECT * FROM a.t", partition_column="part", partition_num=number, **given)
        [copied] = copy_tables(source, pg.sink(table="b.t", schema_save_mode="RECREATE_SCHEMA"))
        assert len(copied.splits) == number
        least = given.get("partition_lower_bound", "0")
        same_rows(pg.rows(f"SELECT * FROM a.t WHERE part BETWEEN {least} AND 30"), pg.rows("SELECT * FROM b.t"))


def test_a_table_that_is_not_to_be_divided_is_one_split(pg: PostgresPlace) -> None:
    large(pg, "i")
    for more in ({"split.size": 3000}, {"partition_column": "id", "partition_num": 4}):
        source = pg.source(table_path="a.t", enable_concurrent_read=False, **more)
        [copied] = copy_tables(source, pg.sink(table="b.t", schema_save_mode="RECREATE_SCHEMA"))
        assert len(copied.splits) == 1
        same_rows(pg.rows("SELECT * FROM a.t"), pg.rows("SELECT * FROM b.t"))


def test_string_partition_column_of_a_query(pg: PostgresPlace) -> None:
    large(pg, "md5(i::text)")
    source = pg.source(query="SELECT * FROM a.t WHERE n > 100 -- all", partition_column="id", partition_num=4)

    [copied] = copy_tables(source, pg.sink(table="b.t"))

    assert len(copied.splits) == 5
    same_rows(pg.rows("SELECT * FROM a.t WHERE n > 100"), pg.rows("SELECT * FROM b.t"))


def test_splits_without_a_key_are_ranges_of_blocks(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t AS SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i; ANALYZE a.t")

    [copied] = copy_tables(pg.source(table_path="a.t", **{"split.size": 3000}), pg.sink(table="b.t"))

    assert len(copied.splits) == 7 and "first" in copied.splits[0].payload
    same_rows(pg.rows("SELECT * FROM a.t"), pg.rows("SELECT * FROM b.t"))


def test_a_split_is_left_and_gone_on_with_after_its_key(pg: PostgresPlace) -> None:
    large(pg, "i", rows=400_000)

    [copied] = copy_tables(
        pg.source(table_path="a.t", **{"split.size": 400_000}), pg.sink(table="b.t"), budget=Budget(rows=50_000)
    )

    assert len(copied.splits) == 1 and len(copied.results) > 1
    assert pg.rows("SELECT count(*), sum(id), sum(n) FROM b.t") == pg.rows("SELECT count(*), sum(id), sum(n) FROM a.t")


def test_patterns_and_where(pg: PostgresPlace) -> None:
    for name in ("t1", "t2", "other"):
        pg.db.execute(f"CREATE TABLE a.{name} AS SELECT i AS id FROM generate_series(1, 10) i".encode())

    copied = copy_tables(
        pg.source(table_path=r".*\.a\.t\d", use_regex=True, where_condition="WHERE id > 3 OR id = 1"),
        pg.sink(table="b.{table}"),
    )

    assert [(one.table.schema.path.table, one.rows) for one in copied] == [("t1", 8), ("t2", 8)]


# ---------------------------------------------------------------- loads


def test_a_shadow_takes_the_name_at_the_end(pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_connectors.jdbc.target.load_decision.ROWS_PER_UNIT", 1000)
    large(pg, "i")
    source = make_source(pg.source(table_path="a.t", **{"split.size": 3000}))
    [table] = source.tables()
    sink, _ = make_sink(pg.sink(table="b.t"), table.schema)

    copied = copy_table(source, table, sink)

    assert copied.how == "shadow"
    assert pg.rows("SELECT count(*), sum(id) FROM b.t") == pg.rows("SELECT count(*), sum(id) FROM a.t")
    assert pg.rows("SELECT conname FROM pg_constraint WHERE conrelid = 'b.t'::regclass") == [("t_pkey",)]
    left = pg.rows("SELECT relname FROM pg_class c WHERE relnamespace = 'b'::regnamespace AND relkind = 'r' ORDER BY 1")
    assert left == [("seatunnel_ledger",), ("seatunnel_piece",), ("t",)]
    assert pg.rows("SELECT rows, last_checkpoint, finished FROM b.seatunnel_ledger") == [(20_000, 1, True)]
    assert pg.rows("SELECT count(*) FROM b.seatunnel_piece") == [(0,)]


def test_a_given_up_shadow_leaves_nothing(pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    from seatunnel_py.api import CommitContext, WriteContext

    monkeypatch.setattr("seatunnel_connectors.jdbc.target.load_decision.ROWS_PER_UNIT", 1000)
    large(pg, "i")
    source = make_source(pg.source(table_path="a.t"))
    [table] = source.tables()
    sink, _ = make_sink(pg.sink(table="b.t"), table.schema)
    setup = sink.plan_setup()
    sink.setup(setup)
    sink.setup(setup)
    writer = sink.open(WriteContext("job", "l", "sink", "x", setup=setup.data))
    piece = writer.stage()

    sink.committer().abort([piece], CommitContext("job", "l", "sink", 1, setup=setup.data))

    left = pg.rows("SELECT relname FROM pg_class c WHERE relnamespace = 'b'::regnamespace AND relkind = 'r' ORDER BY 1")
    assert left == [("seatunnel_ledger",), ("seatunnel_piece",)]


def test_shadows_that_were_left_behind_are_swept_after_a_day(
    pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatunnel_connectors.jdbc.target.load_decision.ROWS_PER_UNIT", 1000)
    large(pg, "i")
    source = make_source(pg.source(table_path="a.t"))
    [table] = source.tables()
    old, young = (make_sink(pg.sink(table="b.t"), table.schema)[0] for _ in range(2))
    setups = [sink.plan_setup() for sink in (old, young)]
    for sink, setup in zip((old, young), setups, strict=True):
        sink.setup(setup)
    pg.db.execute(
        "UPDATE b.seatunnel_piece SET written_at = now() - interval '2 days' WHERE token = %s",
        [setups[0].data["token"]],
    )

    copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))

    left = {row[0] for row in pg.rows("SELECT relname FROM pg_class WHERE relname ~ '__st_' AND relkind = 'r'")}
    assert left == {setups[1].data["into"]}


def test_a_shadow_that_is_asked_for_is_one_or_refused(pg: PostgresPlace) -> None:
    """However small the table is; a target that is there keeps its rows."""
    large(pg, "i")
    source = make_source(pg.source(table_path="a.t"))
    [table] = source.tables()
    options = pg.sink(table="b.t", is_exactly_once=True, exactly_once_recipe="shadow")

    copied = copy_table(source, table, make_sink(options, table.schema)[0])

    assert copied.how == "shadow" and pg.rows("SELECT count(*) FROM b.t") == pg.rows("SELECT count(*) FROM a.t")
    with pytest.raises(FatalError, match="exactly_once_recipe = shadow, but the table is not made by this run"):
        make_sink(options, table.schema)[0].plan_setup()
