"""JsonPath: paths, parsing, conversion, and what happens on errors."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import Any

import pytest
from transform_cases import applied, make, one, rows, table, values

from seatunnel_plugins.transforms.columns.json_path import JsonPathFactory
from seatunnel_plugins.transforms.columns.json_path_expression import NamedRow, PathNotFoundError, compile_path
from seatunnel_plugins.transforms.shared.lenient_json import parse_json
from seatunnel_py.api import Cardinality, FatalError, parse_type
from seatunnel_py.formats.json.values import from_json

STORE = {
    "store": {
        "book": [
            {"title": "A", "price": 8, "tags": ["x", "y"]},
            {"title": "B", "price": 12.5},
            {"title": "C", "price": 22, "isbn": "9"},
        ],
        "odd name": {"a.b": 1, "it's": 2},
    },
    "row": NamedRow({"n": 5, "inner": NamedRow({"m": 6})}),
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.store.book[0].title", "A"),
        ("$['store']['book'][-1]['title']", "C"),
        ('$.store["odd name"]["a.b"]', 1),
        ("$.store['odd name']['it\\'s']", 2),
        ("$.store.book[*].title", ["A", "B", "C"]),
        ("$.store.book[0,2].title", ["A", "C"]),
        ("$.store.book[:2].price", [8, 12.5]),
        ("$.store.book[-2:].price", [12.5, 22]),
        ("$.store.book[1:2].title", ["B"]),
        ("$.store.book[0]['title','price']", ["A", 8]),
        ("$..title", ["A", "B", "C"]),
        ("$..book[1].title", ["B"]),
        ("$.store.book[0].*", ["A", 8, ["x", "y"]]),
        ("$.store.book[?(@.price > 10)].title", ["B", "C"]),
        ("$.store.book[?(@.isbn)].title", ["C"]),
        ("$.store.book[?(@.title == 'A' || @.price >= 22)].price", [8, 22]),
        ("$.store.book[?(@.price < 20 && @.title != 'A')].title", ["B"]),
        ("$.store.book.length()", 3),
        ("$.store.book[*].none", []),
        ("$.row[0]", 5),
        ("$.row.n", 5),
        ("$.row[1][0]", 6),
        ("$", STORE),
    ],
)
def test_paths(path: str, found: Any) -> None:
    assert compile_path(path).find(STORE) == found


@pytest.mark.parametrize("path", ["$.store.none", "$.store.book[3]", "$.store[0]", "$.store.book.title", "$.row[9]"])
def test_a_definite_path_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(PathNotFoundError):
        compile_path(path).find(STORE)


@pytest.mark.parametrize("path", ["store", "$.", "$..", "$.a[", "$.a[x]", "$[?(@.x ~ 1)]", "$.a b", "$[1,]", ""])
def test_paths_that_are_not_understood_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not "):
        compile_path(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, "x"]}', {"a": [1, 2.5, None, "x"]}),
        ("{a: some words, b:true,c : 42 , d: 3.14}", {"a": "some words", "b": True, "c": 42, "d": Decimal("3.14")}),
        ("{'a': 'it\\'s \"so\"', b: [x, y,]}", {"a": 'it\'s "so"', "b": ["x", "y"]}),
        ("{data:{t:\"16:12:43.459\",d:'2023-10-29'}}", {"data": {"t": "16:12:43.459", "d": "2023-10-29"}}),
        ("{u: http://x.y/z}", {"u": "http://x.y/z"}),
        ("plain words", "plain words"),
    ],
)
def test_json_is_read_leniently(text: str, value: Any) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize("text", ['{"a":12345678901234567890.12,"b":1.10}', "{a:12345678901234567890.12,b:1.10}"])
def test_numbers_keep_the_digits_of_the_document(text: str) -> None:
    """T20: decimals went through doubles, 1.10 became 1.1."""
    found = parse_json(text)
    assert from_json(found["a"], parse_type("decimal(38, 10)"), "a") == Decimal("12345678901234567890.12")
    assert from_json(found["b"], parse_type("string"), "b") == "1.10"
    assert from_json(found, parse_type("string"), "all") == '{"a":12345678901234567890.12,"b":1.10}'
    with pytest.raises(ValueError, match="twice"):
        parse_json(text.replace("b", "a"))


@pytest.mark.parametrize("text", ["", "{", "{a}", "[1", "{a:1 b:2}]", "{'a: 1}", "[" * 5000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def column(path: Any, field: Any, dtype: Any = "string", source: str = "data", **more: str) -> dict[str, Any]:
    return {"src_field": source, "path": path, "dest_field": field, "dest_type": dtype, **more}


JSON = table(id="int", data="string")


def extract(text: str | None, dtype: str, path: str = "$.v") -> Any:
    found = one(make(JsonPathFactory, JSON, columns=[column(path, "out", dtype)]), rows(JSON, (1, text)))
    (value,) = values(found, "out")
    return value


@pytest.mark.parametrize(
    ("json", "dtype", "value"),
    [
        ('"this is a string"', "string", "this is a string"),
        ("12.0", "string", "12.0"),
        ("[1, {}]", "string", "[1,{}]"),
        ('"true"', "boolean", True),
        ('"42"', "int", 42),
        ('" 42 "', "bigint", 42),
        ("3.14", "double", 3.14),
        ('"10.55"', "decimal(4,2)", Decimal("10.55")),
        ('"2023-10-29"', "date", date(2023, 10, 29)),
        ('"16:12:43.459"', "time", time(16, 12, 43, 459_000)),
        ('["a", null]', "array<string>", ["a", None]),
        ('[{"k": "v"}]', "array<map<string, string>>", [[("k", "v")]]),
        ('{"a": 1}', "{a = int, b = string}", {"a": 1, "b": None}),
        ("null", "int", None),
    ],
)
def test_values_are_converted(json: str, dtype: str, value: Any) -> None:
    assert extract(f'{{"v": {json}}}', dtype) == value


def test_null_gives_null() -> None:
    assert extract(None, "int") is None


def test_containers_are_sources() -> None:
    schema = table(
        a="array<string>", m="map<string, {x = int}>", r="{n = string, d = date, in = {k = decimal(5, 2)}}", b="bytes"
    )
    transform = make(
        JsonPathFactory,
        schema,
        columns=[
            column("$[0]", "first", source="a"),
            column("$.key.x", "x", "int", source="m"),
            column("$[1]", "day", "date", source="r"),
            column("$.in[0]", "k", "decimal(5, 2)", source="r"),
            column("$.in.k", "text", source="r"),
            column("$.j", "j", "int", source="b"),
        ],
    )
    row = (
        ["p", "q"],
        [("key", {"x": 7})],
        {"n": "n", "d": date(2024, 1, 2), "in": {"k": Decimal("1.50")}},
        b'{"j": 3}',
    )

    found = one(transform, rows(schema, row))

    assert values(found, "first", "x", "day", "k", "text", "j") == [
        ("p", 7, date(2024, 1, 2), Decimal("1.50"), "1.50", 3)
    ]


def test_several_paths_at_once() -> None:
    """As lists, or as texts with semicolons, which SeaTunnel knew first."""
    many = column(["$.a", "$.b"], ["x", "data"], ["int", "string"])
    joined = column("$.a;$.b", "x;data", "int;string")
    assert make(JsonPathFactory, JSON, columns=[joined]) == make(JsonPathFactory, JSON, columns=[many])
    transform = make(JsonPathFactory, JSON, columns=[many])

    found = one(transform, rows(JSON, (1, '{"a": 1, "b": "two"}')))

    assert found.data.schema.names == ["id", "data", "x"]
    assert values(found) == [(1, "two", 1)]
    assert transform.output().column("x").dtype == parse_type("int")


BAD = [(1, '{"a": 1}'), (2, '{"a": "x"}'), (3, "{"), (4, '{"b": 1}'), (5, None)]


@pytest.mark.parametrize(
    ("row_way", "column_way", "result"),
    [
        ("SKIP", None, [(1, 1), (5, None)]),
        ("FAIL", "SKIP", [(1, 1), (2, None), (3, None), (4, None), (5, None)]),
        ("FAIL", "SKIP_ROW", [(1, 1), (5, None)]),
        ("SKIP", "SKIP", [(1, 1), (2, None), (3, None), (4, None), (5, None)]),
        ("FAIL", None, None),
        ("FAIL", "FAIL", None),
        ("SKIP", "FAIL", None),
    ],
)
def test_errors_are_handled_as_asked(row_way: str, column_way: str | None, result: Any) -> None:
    more = {"column_error_handle_way": column_way} if column_way else {}
    transform = make(JsonPathFactory, JSON, columns=[column("$.a", "a", "int", **more)], row_error_handle_way=row_way)

    if result is None:
        with pytest.raises(FatalError, match=r"table db\.t: \$\.a of field 'data' into 'a'"):
            applied(transform, rows(JSON, *BAD))
    else:
        assert values(one(transform, rows(JSON, *BAD, kinds=[0, 1, 2, 3, 0])), "id", "a") == result


def test_dropping_rows_is_declared() -> None:
    factory = JsonPathFactory()
    drops = JsonPathFactory.options.model_validate({"columns": [column("$", "x")], "row_error_handle_way": "skip"})
    keeps = JsonPathFactory.options.model_validate({"columns": [column("$", "x")]})

    assert factory.capabilities(drops).cardinality is Cardinality.FILTER
    assert factory.capabilities(keeps).cardinality is Cardinality.ONE_TO_ONE


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (column("$.a", "x", source="dat"), "did you mean 'data'?"),
        (column("$.a", "x", source="id"), "'id' is a int; paths lead into"),
        (column("$a", "x"), "not a JSON path"),
        (column("$.a", "x", "itn"), "did you mean 'int'?"),
        (column(["$.a", "$.b"], ["x"]), "2 paths, 1 fields and 1 types do not match"),
        (column(["$.a", "$.b"], ["x", "x"]), "would be called 'x'"),
    ],
)
def test_wrong_columns_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        make(JsonPathFactory, JSON, columns=[given])

    assert words in str(caught.value)
