"""The column lineage of queries: as expected, and never too small (issue 26, bar 8)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import Column, ColumnLineage, TablePath, TableSchema, parse_type
from seatunnel_py.spark.query.catalyst import Analyst

pytestmark = pytest.mark.spark

COLUMNS = {"id": "int", "amount": "int", "city": "string"}
OTHERS = {"id": "int", "rate": "int", "note": "string"}


def table(columns: dict[str, str]) -> TableSchema:
    return TableSchema(TablePath("", "", "t"), tuple(Column(name, parse_type(kind)) for name, kind in columns.items()))


INPUTS = {"t": table(COLUMNS), "u": table(OTHERS)}
ROWS = {
    "t": {"id": [1, 2, 3, 4], "amount": [10, 20, 20, 5], "city": ["a", "b", "b,c", "a"]},
    "u": {"id": [2, 3, 5, 4], "rate": [7, 5, 20, 9], "note": ["x", "y", "b", "a"]},
}
OTHER_ROWS = {
    "t": {"id": [3, 4, 1, 9], "amount": [20, 7, 9, 11], "city": ["c", "a,a", "q", "b"]},
    "u": {"id": [4, 1, 3, 2], "rate": [20, 10, 6, 5], "note": ["b", "q", "a", "z"]},
}

QUERIES = {
    "select id, amount + 1 as more, md5(city) as hidden from t": {
        "id": "t.id IDENTITY", "more": "t.amount TRANSFORMATION", "hidden": "t.city TRANSFORMATION masked", "rows": "",
    },
    "select t.id, rate, 3 as three from t join u on t.id = u.id where amount > 5": {
        "id": "t.id IDENTITY", "rate": "u.rate IDENTITY", "three": "", "rows": "t.amount FILTER, t.id JOIN, u.id JOIN",
    },
    "select city, sum(amount) as total, count(*) as n from t group by city having max(id) > 1": {
        "city": "t.city IDENTITY", "total": "t.amount AGGREGATION", "n": "", "rows": "t.city GROUP_BY, t.id FILTER",
    },
    "select id, row_number() over (partition by city order by amount desc, id) as nth from t": {
        "id": "t.id IDENTITY", "nth": "t.amount WINDOW, t.city WINDOW, t.id WINDOW", "rows": "",
    },
    "select id from t where amount > 5 union all select rate from u": {
        "id": "t.id IDENTITY, u.rate IDENTITY", "rows": "t.amount FILTER",
    },
    "with w as (select id, amount * 2 as twice from t) select a.id, b.twice from w a join w b on a.id = b.id": {
        "id": "t.id IDENTITY", "twice": "t.amount TRANSFORMATION", "rows": "t.id JOIN",
    },
    "select id, part from t lateral view explode(split(city, ',')) as part": {
        "id": "t.id IDENTITY", "part": "t.city TRANSFORMATION", "rows": "t.city CONDITIONAL",
    },
    "select distinct city from t": {"city": "t.city IDENTITY", "rows": "t.city GROUP_BY"},
    "select id from t order by amount, id limit 2": {"id": "t.id IDENTITY", "rows": "t.amount SORT, t.id SORT"},
    "select city from t where amount in (select rate from u where note = 'b')": {
        "city": "t.city IDENTITY", "rows": "t.amount FILTER, u.note FILTER, u.rate FILTER",
    },
    "select id, (select max(rate) from u where u.id = t.id) as top from t": {
        "id": "t.id IDENTITY", "rows": "",
        "top": "t.id FILTER, t.id TRANSFORMATION, u.id FILTER, u.rate AGGREGATION",
    },
    "select city from t where exists (select 1 from u where u.id = t.id)": {
        "city": "t.city IDENTITY", "rows": "t.id FILTER, u.id FILTER",
    },
    "select city, grouping(city) as g, sum(amount) as s from t group by rollup(city)": {
        "city": "t.city IDENTITY", "s": "t.amount AGGREGATION", "rows": "t.city GROUP_BY",
    },
    "select * from t join u using (id)": {
        "id": "t.id IDENTITY", "amount": "t.amount IDENTITY", "city": "t.city IDENTITY", "rate": "u.rate IDENTITY",
        "note": "u.note IDENTITY", "rows": "t.id JOIN, u.id JOIN",
    },
    "select id from t except select id from u": {"id": "t.id IDENTITY", "rows": "t.id JOIN, u.id JOIN"},
    "select id from t intersect select rate from u": {"rows": "t.id JOIN, u.rate JOIN"},
    "select case when amount > 9 then city else 'low' end as c, q.n from t, (select count(note) as n from u) q": {
        "c": "t.amount TRANSFORMATION, t.city TRANSFORMATION", "n": "u.note AGGREGATION", "rows": "",
    },
    "select t.id, u.id as other from t left semi join u on t.amount = u.rate full join u on t.id = u.id": {
        "id": "t.id IDENTITY", "other": "u.id IDENTITY", "rows": "t.amount JOIN, t.id JOIN, u.id JOIN, u.rate JOIN",
    },
    "select sum(amount) over (order by id) as running from (select distinct id, amount from t) q": {
        "running": "t.amount WINDOW, t.id WINDOW", "rows": "t.amount GROUP_BY, t.id GROUP_BY",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def analyst(session: Any) -> Analyst:
    return Analyst(session)


def lineage(analyst: Analyst, query: str) -> ColumnLineage:
    found = analyst.analyse(query, INPUTS, "spark").lineage
    assert found is not None
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_columns_are_followed(analyst: Analyst, query: str) -> None:
    found = lineage(analyst, query)
    uses = {**found.columns, "rows": found.rows}
    shown = {
        name: ", ".join(sorted(f"{one.input}.{one.column} {one.kind}{' masked' * one.masking}" for one in some))
        for name, some in uses.items()
    }
    assert {name: shown[name] for name in QUERIES[query]} == QUERIES[query]


@pytest.mark.parametrize("query", QUERIES)
def test_a_column_outside_of_a_lineage_never_changes_the_output(analyst: Analyst, query: str) -> None:
    found = lineage(analyst, query)
    text = analyst.analyse(query, INPUTS, "spark").query
    before = rows(analyst, text, ROWS)
    for name, columns in ROWS.items():
        for column in columns:
            changed = {**ROWS, name: {**ROWS[name], column: OTHER_ROWS[name][column]}}
            if (name, column) in {(one.input, one.column) for one in found.rows}:
                continue
            after = rows(analyst, text, changed)
            for output, uses in found.columns.items():
                if (name, column) not in {(one.input, one.column) for one in uses}:
                    assert after[output] == before[output], f"{output} changes with {name}.{column}"


def rows(analyst: Analyst, query: str, values: dict[str, dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """The values by column: of queries that do not order their rows, sorted."""
    arrow = {name: pa.table(columns, schema=INPUTS[name].arrow()) for name, columns in values.items()}
    found = analyst.rows(query, arrow).to_pydict()
    return {name: sorted(some, key=str) for name, some in found.items()}


def test_what_is_not_known_is_unknown(analyst: Analyst) -> None:
    """A recursive query: no lineage is better than one that lacks columns."""
    query = "with recursive r as (select 1 as n union all select n + 1 from r where n < 3) select t.id, r.n from t, r"
    assert analyst.analyse(query, INPUTS, "spark").lineage is None
