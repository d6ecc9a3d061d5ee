"""Dates and moments that Python has no value for: in every transform and in Assert they are exact, or refused by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_plugins.transforms.rows.validation_rules import Udf
from seatunnel_plugins.transforms.shared.texts import as_text
from seatunnel_py.api import BadRowsError, Column, DataType, Kind, to_arrow
from seatunnel_py.testing.jobs import run_job

FAR, PAST, FINE = "+12000-02-03", "-0043-03-15T12:34:56.123456", "1700-01-01T00:00:00.123456789"
ROWS = [
    {"id": 1, "d": FAR, "t": PAST, "n": FINE, "a": [FAR, None, "2020-01-01"], "r": {"x": FAR}, "m": {FAR: PAST}},
    {"id": 2, "d": "1582-10-10", "t": "2020-01-01T12:34:00", "n": FINE, "a": ["1969-12-31"], "r": None, "m": {}},
]
SHOWN = f"[1, {FAR}, {PAST}, {FINE}, [{FAR}, null, 2020-01-01], [{FAR}], " + '{"' + FAR + '":"' + PAST + '"}]'


def job(place: Path, rest: str) -> Any:
    (place / "in").mkdir()
    (place / "in" / "f.json").write_text("\n".join(map(json.dumps, ROWS)))
    fields = 'id = int, d = date, t = timestamp, n = "timestamp(9)", a = "array<date>", r { x = date }'
    fields += ', m = "map<date, timestamp>"'
    source = f'LocalFile {{ path = "{place}/in", file_format_type = json, schema {{ fields {{ {fields} }} }} }}'
    return run_job(f"source {{ {source} }}\n{rest.replace('@OUT', str(place / 'out'))}").receipt.tables[0]


def written(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in (place / "out").glob("*.json") for line in file.read_text().splitlines()]


SINK = 'sink { LocalFile { path = "@OUT", file_format_type = json } }'


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        *((field, "rule_type = MIN_LENGTH, rule_value = 100") for field in "dtna"),
        ("d", 'equals_to = "2020-01-01"'),
        ("a", 'equals_to = ["2020-01-01"]'),
        ("m", 'equals_to = { "2020-01-01" = "2020-01-01 00:00:00" }'),
    ],
)
def test_assert_names_the_row_that_breaks_a_rule(tmp_path: Path, field: str, rule: str) -> None:
    checks = f"field_rules = [{{ field_name = {field}, field_value = [{{ {rule} }}] }}]"
    cause = job(tmp_path, f"sink {{ Assert {{ rules {{ {checks} }} }} }}").cause
    assert cause.error_type.endswith("FatalError") and f"row {SHOWN} (INSERT) fails rule" in cause.message


@pytest.mark.parametrize(("field", "value"), [("r", f'{{ x = "{FAR}" }}'), ("n", f'"{FINE}"')])
def test_assert_knows_a_value_again(tmp_path: Path, field: str, value: str) -> None:
    checks = f"field_rules = [{{ field_name = {field}, field_value = [{{ equals_to = {value} }}] }}]"
    assert job(tmp_path, f"sink {{ Assert {{ rules {{ {checks} }} }} }}").cause is None


def test_a_table_of_errors_holds_the_row_as_it_is(tmp_path: Path) -> None:
    rule = "rule_type = LENGTH, exact_length = 5"
    rules = ", ".join(f"{{ field_name = {field}, {rule} }}" for field in "dnam")
    validator = f"DataValidator {{ row_error_handle_way = ROUTE_TO_TABLE, error_table = bad, field_rules = [{rules}] }}"
    assert job(tmp_path, f"transform {{ {validator} }}\n{SINK}").cause is None

    first = written(tmp_path)[0]
    assert json.loads(first["original_data"]) == ROWS[0]
    said = [one["error_message"].partition(" has ")[2] for one in json.loads(first["validation_errors"])]
    assert said == [f"length {length}, expected 5" for length in (12, 29, 3, 1)]


def test_paths_lead_to_values_within_containers(tmp_path: Path) -> None:
    columns = ", ".join(
        f'{{ src_field = {field}, path = "{path}", dest_field = {name}, {more} }}'
        for field, path, name, more in (
            ("a", "$[0]", "a0", "dest_type = date"),
            ("r", "$.x", "x", "column_error_handle_way = SKIP"),
        )
    )
    assert job(tmp_path, f"transform {{ JsonPath {{ columns = [{columns}] }} }}\n{SINK}").cause is None
    assert [(row["a0"], row["x"]) for row in written(tmp_path)] == [(FAR, FAR), ("1969-12-31", None)]


def test_a_value_is_the_same_text_whatever_stands_beside_it() -> None:
    column = Column("t", DataType(Kind.TIMESTAMP))
    noon, far = 43_200_000_000, 400_000_000_000_000_000
    alone = as_text(pa.array([noon], to_arrow(column.dtype)), column).to_pylist()
    assert (
        alone == as_text(pa.array([noon, far], to_arrow(column.dtype)), column).to_pylist()[:1] == ["1970-01-01T12:00"]
    )


def test_a_function_of_python_is_not_given_what_python_has_not() -> None:
    rule = Udf(Column("d", DataType(Kind.DATE)), None, "ANY", lambda value: None)
    with pytest.raises(BadRowsError, match=r"d = \+10183-09-21: no function of Python can be given it") as error:
        rule.broken(pa.array([1, 3_000_000, None, 2], pa.int32()).cast(pa.date32()))
    assert error.value.row == 1
