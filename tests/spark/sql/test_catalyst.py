"""What the planner learns of a query: columns, narrowness, determinism, and errors in words."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import Column, Determinism, TablePath, TableSchema, parse_type
from seatunnel_py.spark.query.catalyst import Analyst

pytestmark = pytest.mark.spark

ORDERS = TableSchema(
    TablePath("shop", "", "orders"),
    (
        Column("id", parse_type("int"), nullable=False, native="int4"),
        Column("name", parse_type("string"), length=20, comment="who"),
        Column("at", parse_type("timestamp")),
        Column("clock", parse_type("time")),
        Column("vector", parse_type("float_vector")),
        Column("tags", parse_type("array<string>")),
        Column("odd.na`me", parse_type("decimal(10, 2)")),
    ),
)
ONE = {"orders-1": ORDERS}
TWO = {"a": ORDERS, "b": ORDERS}


@pytest.fixture(scope="module")
def analyst(session: Any) -> Analyst:
    return Analyst(session)


def shown(columns: tuple[Column, ...]) -> list[str]:
    return [f"{column.name} {column.dtype}{'' if column.nullable else ' not null'}" for column in columns]


NARROW = [
    "select * from dual",
    "select id + 1 as next, name from orders where id > 3",
    "select o.id, o.`odd.na``me` from whatever o",
    "select id from (select id, name from dual where id > 1) q where id < 3",
    "select id, tag from dual lateral view explode(tags) as tag",
    "select case when id > 1 then 'a' end as x from dual",
]
WIDE = [
    "select count(*) as n from dual",
    "select distinct id from dual",
    "select id from dual order by id",
    "select id from dual limit 3",
    "select id from dual where id in (select max(id) from dual)",
    "select (select max(id) from dual) as m from dual",
    "select id, row_number() over (order by id) as n from dual",
    "select id from dual union all select id from dual",
    "select x.id from dual x join dual y on x.id = y.id",
    "with q as (select id from dual) select id from q",
    "select 1 as one",
]


@pytest.mark.parametrize("query", NARROW)
def test_a_query_that_every_row_passes_by_itself_is_narrow(analyst: Analyst, query: str) -> None:
    analysis = analyst.analyse(query, ONE, "seatunnel")

    assert analysis.narrow
    assert analysis.determinism is Determinism.DETERMINATE


@pytest.mark.parametrize("query", WIDE)
def test_what_brings_rows_together_is_wide(analyst: Analyst, query: str) -> None:
    assert not analyst.analyse(query, ONE, "seatunnel").narrow


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select uuid() as u from dual", "Uuid draws at random"),
        ("select rand(1) as r from dual", "Rand draws at random"),
        ("select id from dual where at < now()", "LocalTimestamp depends on when it runs"),
        ("select current_date as d from dual", "CurrentDate depends on when it runs"),
        ("select id from dual limit 3", "LIMIT without ORDER BY takes whichever rows come first"),
        ("select collect_list(id) as l from dual", "CollectList depends on the order of the rows of a group"),
    ],
)
def test_what_a_second_run_would_change_is_named(analyst: Analyst, query: str, why: str) -> None:
    analysis = analyst.analyse(query, ONE, "seatunnel")

    assert (analysis.determinism, analysis.why_not_determinate) == (Determinism.INDETERMINATE, why)


def test_an_aggregate_is_repeatable_but_for_its_order(analyst: Analyst) -> None:
    query = "select name, count(*) as n from dual group by name order by n limit 5"

    assert analyst.analyse(query, ONE, "seatunnel").determinism is Determinism.UNORDERED


def test_a_column_that_is_passed_on_keeps_what_is_known_of_it(analyst: Analyst) -> None:
    """Length, comment, native type and kind of vector; a computed column has none of them."""
    query = "select *, name as who, upper(name) as loud from dual"

    columns = {column.name: column for column in analyst.analyse(query, ONE, "seatunnel").columns}

    assert list(columns)[: len(ORDERS.names)] == list(ORDERS.names)
    assert all(columns[column.name] == column for column in ORDERS.columns)
    assert (columns["who"].length, columns["who"].comment) == (20, "who")
    assert (columns["loud"].length, columns["loud"].comment) == (0, "")


def test_columns_without_alias_are_named_by_their_text(analyst: Analyst) -> None:
    query = "select upper(name), id+1, concat( name,'_' ), o.id from orders o"

    names = [column.name for column in analyst.analyse(query, ONE, "seatunnel").columns]

    assert names == ["upper(name)", "id + 1", "concat(name, '_')", "id"]


def test_an_exploded_column_replaces_the_one_of_its_name(analyst: Analyst) -> None:
    """As with SeaTunnel, in its place; Spark alone would give the name twice."""
    query = "select * from dual lateral view explode(split(name, ',')) as name lateral view outer explode(tags) as tag"

    analysis = analyst.analyse(query, ONE, "seatunnel")

    assert [column.name for column in analysis.columns] == [*ORDERS.names, "tag"]


def test_a_null_among_exploded_elements(analyst: Analyst) -> None:
    """It is a row of an OUTER view, and none of a plain one."""
    rows = pa.Table.from_pylist([{"id": 1}], schema=ORDERS.arrow())
    query = "select id, x from dual lateral view {} explode(array(1, null, 3)) as x"

    answers = [
        analyst.rows(analyst.analyse(query.format(outer), ONE, "seatunnel").query, {"orders-1": rows})
        for outer in ("", "outer")
    ]

    assert [answer.column("x").to_pylist() for answer in answers] == [[1, 3], [1, None, 3]]


def test_types_and_nulls_of_a_join(analyst: Analyst) -> None:
    query = "select a.id, b.id as other, a.id / 2 as half from a left join b on a.id = b.id"

    assert shown(analyst.analyse(query, TWO, "seatunnel").columns) == ["id int not null", "other int", "half int"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select nmae from dual", "there is no column 'nmae'; did you mean 'name'? (line 1, column 8 of the query)"),
        (
            "select id,\n  o.nmae from x o",
            "there is no column 'o.nmae'; did you mean 'name'? (line 2, column 5 of the query)",
        ),
        ("select uper(name) as n from dual", "there is no function 'uper'; did you mean 'upper'?"),
        ("select id, id from dual", "2 columns of the result are called 'id'; give them aliases"),
        ("select interval 1 day as i from dual", "column 'i': Spark's type interval day has no column type"),
        ("select id.a as x from dual", 'Can\'t extract a value from "id"'),
        ("select sum(id) as s, name from dual", "The query does not include a GROUP BY clause"),
    ],
)
def test_errors_in_words(analyst: Analyst, query: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        analyst.analyse(query, ONE, "seatunnel")

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_that_is_no_input(analyst: Analyst) -> None:
    with pytest.raises(ValueError, match="there is no input 'c'") as caught:
        analyst.analyse("select * from c", TWO, "seatunnel")

    assert "inputs: a, b" in str(caught.value)


def test_sparks_own_dialect(analyst: Analyst) -> None:
    """Nothing is translated, and names stay Spark's; only the input may be called as one likes."""
    query = "select Name, id / 2, datediff(at, date'2020-01-01') as d, \"text\" as t from o where o.id > 1;"

    analysis = analyst.analyse(query, ONE, "spark")

    assert analysis.narrow
    assert shown(analysis.columns)[:2] == ["Name string", "(id / 2) double"]
    assert [str(column.dtype) for column in analysis.columns][2:] == ["int", "string"]


def test_rows_for_a_preview(analyst: Analyst) -> None:
    """The answer of an analysed query over rows in hand, times included."""
    analysis = analyst.analyse("select id * 2 as id, clock from dual where id > 1", ONE, "seatunnel")
    schema = ORDERS.arrow()
    rows = pa.Table.from_pylist([{"id": at, "clock": at} for at in range(4)], schema=schema)

    answer = analyst.rows(analysis.query, {"orders-1": rows})

    assert answer.column("id").to_pylist() == [4, 6]
    assert [str(time) for time in answer.column("clock").to_pylist()] == ["00:00:00.000002", "00:00:00.000003"]


def test_a_value_that_a_previewed_query_cannot_compute_is_named(analyst: Analyst) -> None:
    """`preview` ended with a trace of Spark's."""
    analysis = analyst.analyse("select cast(concat('x', id) as int) as id from dual", ONE, "seatunnel")
    rows = pa.Table.from_pylist([{"id": 1}], schema=ORDERS.arrow())

    with pytest.raises(ValueError, match="The value 'x1' .* cannot be cast"):
        analyst.rows(analysis.query, {"orders-1": rows})


def test_a_variable_without_a_value_stays_as_it_is_written(analyst: Analyst) -> None:
    """P3-F10: the job file's note says so, and Spark made it empty text."""
    analysis = analyst.analyse("select '${nope}' as c from dual", ONE, "seatunnel")
    rows = pa.Table.from_pylist([dict.fromkeys(ONE["orders-1"].names)], schema=ONE["orders-1"].arrow())
    assert analyst.rows(analysis.query, {"orders-1": rows}).to_pylist() == [{"c": "${nope}"}]
