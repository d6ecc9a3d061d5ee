"""DataValidator: every rule, and each way with rows that break one."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError
from transform_cases import applied, make, one, rows, table, values

from seatunnel_plugins.transforms.rows.data_validator import DataValidatorFactory
from seatunnel_plugins.transforms.rows.validation_rules import email
from seatunnel_py.api import Cardinality, Determinism, FatalError


def survivors(dtype: str, rule: dict[str, Any], *given: Any) -> list[Any]:
    schema = table(f=dtype)
    transform = make(
        DataValidatorFactory, schema, row_error_handle_way="skip", field_rules=[{"field_name": "f", **rule}]
    )
    return [
        value for batch in applied(transform, rows(schema, *((value,) for value in given))) for value in values(batch)
    ]


def ranged(**bounds: Any) -> dict[str, Any]:
    return {"rule_type": "RANGE", **bounds}


def long(**bounds: Any) -> dict[str, Any]:
    return {"rule_type": "LENGTH", **bounds}


def like(pattern: str, **more: Any) -> dict[str, Any]:
    return {"rule_type": "REGEX", "pattern": pattern, **more}


@pytest.mark.parametrize(
    ("dtype", "rule", "given", "kept"),
    [
        ("int", {"rule_type": "not_null"}, [1, None], [1]),
        ("int", ranged(min_value=2, max_value=4), [1, 2, 4, 5, None], [2, 4, None]),
        ("int", ranged(min_value=2, max_value=4, min_inclusive=False, max_inclusive="false"), [2, 3, 4], [3]),
        ("int", ranged(min_value=2.5), [2, 3], [3]),
        ("bigint", ranged(max_value="9007199254740992"), [2**53, 2**53 + 1], [2**53]),
        ("bigint", ranged(min_value="-1e30", max_value="1e30"), [2**63 - 1], [2**63 - 1]),
        ("double", ranged(max_value=1.5), [1.5, 1.6, float("inf")], [1.5]),
        ("decimal(38, 2)", ranged(min_value="0.005"), [Decimal("0.00"), Decimal("0.01")], [Decimal("0.01")]),
        ("string", long(min_length=1, max_length=2), ["", "ä", "äöü", None], ["ä", None]),
        ("string", long(exact_length=2), ["a", "ab"], ["ab"]),
        ("array<int>", long(max_length=1), [[], [1], [1, 2]], [[], [1]]),
        ("map<string, int>", long(min_length=1), [[], [("a", 1)]], [[("a", 1)]]),
        ("bytes", long(exact_length=1), [b"a", b"ab"], [b"a"]),
        ("int", long(max_length=2), [12, 123], [12]),
        ("string", like("[a-z]+"), ["abc", "abC", "abc!", "", None], ["abc", None]),
        ("string", like("a|ab"), ["ab"], ["ab"]),
        ("string", like("[a-z]+", case_sensitive=False), ["ABC"], ["ABC"]),
        ("string", like(".*"), ["a\nb", "ab"], ["ab"]),
        ("string", like("^(a)\\1$"), ["aa", "ab"], ["aa"]),
        ("int", like("1\\d*"), [12, 21], [12]),
        ("string", {"rule_type": "UDF", "function_name": "email"}, ["a@b.c", "nobody", None], ["a@b.c", None]),
        ("string", {"rules": [{"rule_type": "NOT_NULL"}, long(min_length=2)]}, ["ab", "a", None], ["ab"]),
    ],
)
def test_rules(dtype: str, rule: dict[str, Any], given: list[Any], kept: list[Any]) -> None:
    assert survivors(dtype, rule, *given) == kept


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("me@home.org", True),
        ("", True),
        ("@home.org", False),
        ("me@home", False),
        ("me@ho me.org", False),
        ("a@b@c.d", False),
        ("it's@home.org", False),
        ("x" * 64 + "@home.org", False),
        ("x@" + "y" * 260 + ".org", False),
    ],
)
def test_mail_addresses(text: str, valid: bool) -> None:
    assert (email(text) is None) is valid


PEOPLE = table("db.people", id="int", name="string", age="int")
RULES = [
    {"field_name": "name", "rule_type": "NOT_NULL", "custom_message": "a name is needed"},
    {"field_name": "age", "rule_type": "RANGE", "min_value": 0, "max_value": 150},
]
GIVEN = [(1, "a", 20), (2, None, 200), (3, "c", -1), (4, "d", None)]


def test_fail_names_the_first_row_and_all_its_errors() -> None:
    transform = make(DataValidatorFactory, PEOPLE, field_rules=RULES)

    with pytest.raises(FatalError) as caught:
        applied(transform, rows(PEOPLE, *GIVEN))

    assert caught.value.message == (
        "DataValidator: table db.people: 2 of 4 rows break a rule; the first: a name is needed; "
        'Field \'age\' value 200 is not within range [0, 150]; row {"id":2,"name":null,"age":200}'
    )


def test_good_batches_pass_untouched() -> None:
    batch = rows(PEOPLE, (1, "a", 20))

    assert one(make(DataValidatorFactory, PEOPLE, field_rules=RULES), batch) is batch


def test_skip_drops_rows_with_their_kinds() -> None:
    transform = make(DataValidatorFactory, PEOPLE, field_rules=RULES, row_error_handle_way="SKIP")

    found = one(transform, rows(PEOPLE, *GIVEN, kinds=[0, 1, 2, 3]))

    assert values(found, "id") == [1, 4]
    assert found.kinds.to_pylist() == [0, 3]


@pytest.mark.parametrize(
    "options",
    [
        {"row_error_handle_way": "ROUTE_TO_TABLE", "error_table": "errors"},
        {"row_error_handle_way": "ROUTE_TO_TABLE", "row_error_handle_way.error_table": "errors"},
        {"row_error_handle_way": {"error_table": "errors"}},
        {"row_error_handle_way": {"error_table": "db.errors"}},
    ],
)
def test_route_writes_to_the_table_of_errors(options: dict[str, Any]) -> None:
    transform = make(DataValidatorFactory, PEOPLE, field_rules=RULES, **options)

    good, bad = applied(transform, rows(PEOPLE, *GIVEN, kinds=[0, 1, 2, 3], Delay=[1, 2, 3, 4]))

    (errors,) = transform.side_outputs()
    assert str(errors.path) == "db.errors"
    assert values(good, "id") == [1, 4]
    assert bad.kinds is None
    assert values(bad, "source_table_id", "source_table_path") == [("db.people", "db.people")] * 2
    assert [json.loads(text) for text in values(bad, "original_data")] == [
        {"id": 2, "name": None, "age": 200},
        {"id": 3, "name": "c", "age": -1},
    ]
    assert [[error["field_name"] for error in json.loads(text)] for text in values(bad, "validation_errors")] == [
        ["name", "age"],
        ["age"],
    ]


def test_only_wrong_rows_give_the_errors_alone() -> None:
    transform = make(
        DataValidatorFactory, PEOPLE, field_rules=RULES, row_error_handle_way="ROUTE_TO_TABLE", error_table="e"
    )

    assert [str(batch.table) for batch in applied(transform, rows(PEOPLE, GIVEN[1]))] == ["db.e"]


def test_what_it_declares() -> None:
    def declared(**options: Any) -> tuple[Determinism, Cardinality]:
        model = DataValidatorFactory.options.model_validate({"field_rules": RULES, **options})
        found = DataValidatorFactory().capabilities(model)
        return found.determinism, found.cardinality

    assert declared() == (Determinism.DETERMINATE, Cardinality.ONE_TO_ONE)
    assert declared(row_error_handle_way="SKIP") == (Determinism.DETERMINATE, Cardinality.FILTER)
    assert declared(row_error_handle_way="ROUTE_TO_TABLE", error_table="e") == (
        Determinism.INDETERMINATE,
        Cardinality.FILTER,
    )


@pytest.mark.parametrize(
    ("rule", "options", "words"),
    [
        ({"field_name": "nam", "rule_type": "NOT_NULL"}, {}, "did you mean 'name'?"),
        ({"field_name": "name", "rule_type": "RANGE", "min_value": 1}, {}, "which is not a number"),
        ({"field_name": "age", "rule_type": "RANGE"}, {}, "give min_value, max_value or both"),
        ({"field_name": "age", "rule_type": "LENGTH"}, {}, "give min_length, max_length or exact_length"),
        ({"field_name": "age", "rule_type": "REGEX"}, {}, "pattern is required"),
        ({"field_name": "name", "rule_type": "REGEX", "pattern": "("}, {}, "not a regular expression"),
        ({"field_name": "age", "rule_type": "UDF", "function_name": "X"}, {}, "known: EMAIL"),
        ({"field_name": "age"}, {}, "exactly one of rule_type or rules"),
        ({"field_name": "age", "rules": [{"min_value": 1}]}, {}, "rule_type is missing"),
        ({"field_name": "age", "rule_type": "NOT_NULL"}, {"row_error_handle_way": "ROUTE_TO_TABLE"}, "is required"),
        (
            {"field_name": "age", "rule_type": "NOT_NULL"},
            {"row_error_handle_way": {"error_table": "people"}},
            "is the table that is checked",
        ),
    ],
)
def test_wrong_rules_are_refused(rule: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, ValidationError)) as caught:
        make(DataValidatorFactory, PEOPLE, field_rules=[rule], **options)

    assert words in str(caught.value)
