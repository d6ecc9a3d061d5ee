"""Small jobs whose outcome is known: FakeSource, transforms and Assert working together, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home

EXACTLY = "row_rules = [ {{ rule_type = MIN_ROW, rule_value = {0} }}, {{ rule_type = MAX_ROW, rule_value = {0} }} ]"
KINDS = """
    schema { fields { id = int, name = string } }
    rows = [
      { kind = INSERT, fields = [1, "a"] }, { kind = UPDATE_BEFORE, fields = [1, "a"] },
      { kind = UPDATE_AFTER, fields = [1, "b"] }, { kind = DELETE, fields = [1, "b"] }
    ]
"""
TWO_TABLES = """
    row.num = 3
    tables_configs = [
      { schema { table = "db.t1", fields { id = int } } }
      { schema { table = "db.t2", fields { id = int } }, row.num = 4 }
    ]
"""
ONE_NULL = "schema { fields { id = int } }, rows = [ { fields = [null] } ]"


def field(name: str, *rules: str) -> str:
    return f"field_rules = [ {{ field_name = {name}, field_value = [ {', '.join(rules)} ] }} ]"


JOBS = {
    "rows are counted per reader": ("FakeSource { row.num = 3, schema.fields { id = int } }", "", EXACTLY.format(6), 2),
    "kinds are filtered": (
        f"FakeSource {{ {KINDS} plugin_output = a }}",
        "FilterRowKind { plugin_input = a, plugin_output = b, exclude_kinds = [DELETE] }",
        EXACTLY.format(3),
        1,
    ),
    "given rows repeat per split": (
        "FakeSource { split.num = 3, schema.fields { id = int }, rows = [ { fields = [1] }, { fields = [2] } ] }",
        "",
        EXACTLY.format(6),
        1,
    ),
    "no rows": (
        "FakeSource { row.num = 5, schema.fields { id = int }, plugin_output = a }",
        "FilterRowKind { plugin_input = a, plugin_output = b, exclude_kinds = [INSERT] }",
        EXACTLY.format(0),
        1,
    ),
    "a union is counted together": (
        "FakeSource { row.num = 2, schema.fields { id = int }, plugin_output = a }\n"
        "FakeSource { row.num = 3, schema.fields { id = int }, plugin_output = b }",
        "",
        EXACTLY.format(5),
        1,
    ),
    "split": (
        'FakeSource { schema.fields { s = string }, rows = [ { fields = ["1,2,3"] } ], plugin_output = a }',
        'Split { plugin_input = a, plugin_output = b, split_field = s, separator = ",", output_fields = [x, y] }',
        field("y", '{ rule_type = NOT_NULL, equals_to = "2,3" }'),
        1,
    ),
    "tables by name": (f"FakeSource {{ {TWO_TABLES} }}", "", 'table-names = ["db.t1", "db.t2"]', 1),
    "tables by rules": (
        f"FakeSource {{ {TWO_TABLES} }}",
        "",
        "tables_configs = [ { table_path = db.t1, " + EXACTLY.format(3) + " }, "
        "{ table_path = db.t2, " + EXACTLY.format(4) + " } ]",
        1,
    ),
    "equals_to lets null pass": (f"FakeSource {{ {ONE_NULL} }}", "", field("id", "{ equals_to = 5 }"), 1),
}
FAILING = {
    "too few rows": ("FakeSource { row.num = 3, schema.fields { id = int } }", "", EXACTLY.format(4), 1),
    "too many rows": ("FakeSource { row.num = 3, schema.fields { id = int } }", "", EXACTLY.format(2), 1),
    "no rows at all": ("FakeSource { row.num = 0, schema.fields { id = int } }", "", EXACTLY.format(1), 1),
    "one table missing": (f"FakeSource {{ {TWO_TABLES} }}", "", 'table-names = ["db.t1"]', 1),
    "null with NOT_NULL": (
        f"FakeSource {{ {ONE_NULL} }}",
        "",
        field("id", "{ rule_type = NOT_NULL, equals_to = 5 }"),
        1,
    ),
}


def outcome(folder: Path, job: tuple[str, str, str, int]) -> set[str]:
    source, transform, rules, parallelism = job
    output = '["a", "b"]' if source.count("FakeSource") > 1 else '["b"]' if transform else "[]"
    text = f"""
        env {{ job.mode = BATCH, parallelism = {parallelism} }}
        source {{ {source} }}
        transform {{ {transform} }}
        sink {{ Assert {{ plugin_input = {output}, rules {{ {rules} }} }} }}
    """
    path = folder / "job.conf"
    path.write_text(text)
    options = app.RunOptions({}, local=True)
    receipt = app.run(path, options, Home(folder / "home"), lambda event: None, lambda driver: None)
    return {str(table.state) for table in receipt.tables}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_passes(name: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, JOBS[name]) == {"DONE"}


@pytest.mark.parametrize("name", FAILING)
def test_a_job_fails(name: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, FAILING[name]) == {"FAILED"}


def test_a_complex_graph_needs_names(tmp_path: Path) -> None:
    two = "FakeSource { schema.fields { id = int } }\n" * 2
    path = tmp_path / "job.conf"
    sink = f"Assert {{ rules {{ {EXACTLY.format(1)} }} }}"
    path.write_text(f"env {{ job.mode = BATCH }}\nsource {{ {two} }}\nsink {{ {sink} }}")

    with pytest.raises(SeaTunnelError, match="plugin_output"):
        app.check(path)
