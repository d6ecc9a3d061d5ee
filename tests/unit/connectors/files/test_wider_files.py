"""Files that hold more fields than the schema has columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from files_support import rows

from seatunnel_py import app
from seatunnel_py.api import BadRowsError
from seatunnel_py.cli.view.receipt_view import receipt_text
from seatunnel_py.plan import plan_data
from seatunnel_py.runtime.storage.home import Home

SCHEMA = {"fields": {"c": "string", "a": "int"}}


def test_with_a_header_the_schema_chooses_columns_by_name(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a,b,c,d\n1,x,y,z\n2,x,w,z\n")
    found = rows(path=str(tmp_path), file_format_type="csv", csv_use_header_line=True, schema=SCHEMA)
    assert [(row["a"], row["c"]) for row in found] == [(1, "y"), (2, "w")]


def test_without_a_header_fields_are_dropped_only_where_the_job_file_says_so(tmp_path: Path) -> None:
    """Also where every row is wider: a column may have been inserted."""
    (tmp_path / "f.csv").write_text("y,1,z\nw,2,z\n")
    options = {"path": str(tmp_path), "file_format_type": "csv", "schema": SCHEMA}
    with pytest.raises(BadRowsError, match="line 1: the row has 3 fields for 2 columns"):
        rows(**options)
    assert [row["a"] for row in rows(**options, surplus_fields="drop")] == [1, 2]


def test_plan_and_receipt_say_that_fields_are_dropped(tmp_path: Path) -> None:
    """Nothing is refused, so that no count would tell."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f.csv").write_text("y,1,z\nw,2,z\n")
    job = tmp_path / "job.conf"
    job.write_text(
        f"""source {{ LocalFile {{ path = "{tmp_path}/in", file_format_type = csv, surplus_fields = drop
             schema {{ fields {{ c = string, a = int }} }} }} }}
            sink {{ Console {{}} }}"""
    )
    what = "fields beyond the columns of a row are dropped, and not counted (surplus_fields = drop)"
    note = f"LocalFile-source-1: {what}: default.default.default"

    found = app.plan(job)
    plan = plan_data.describe(found.job, found.graph, found.pipelines, look=False)
    home = Home(tmp_path / "home")
    receipt = app.run(job, app.RunOptions({}, local=True), home, lambda event: None, lambda driver: None)

    assert plan["notes"] == [note] and note in plan_data.text(plan)
    assert receipt.to_plain()["notes"] == [note] and note in receipt_text(receipt, home)
    job.write_text(job.read_text().replace("format_type = csv", "format_type = json"))
    assert not app.plan(job).job.notes
