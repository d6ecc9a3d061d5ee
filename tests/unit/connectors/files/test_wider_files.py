"""Files that hold more fields than the schema has columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from files_support import rows

from seatunnel_py.api import BadRows

SCHEMA = {"fields": {"c": "string", "a": "int"}}


def test_with_a_header_the_schema_chooses_columns_by_name(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a,b,c,d\n1,x,y,z\n2,x,w,z\n")
    found = rows(path=str(tmp_path), file_format_type="csv", csv_use_header_line=True, schema=SCHEMA)
    assert [(row["a"], row["c"]) for row in found] == [(1, "y"), (2, "w")]


def test_without_a_header_fields_are_dropped_only_where_the_job_file_says_so(tmp_path: Path) -> None:
    """Also where every row is wider: a column may have been inserted."""
    (tmp_path / "f.csv").write_text("y,1,z\nw,2,z\n")
    options = {"path": str(tmp_path), "file_format_type": "csv", "schema": SCHEMA}
    with pytest.raises(BadRows, match="line 1: the row has 3 fields for 2 columns"):
        rows(**options)
    assert [row["a"] for row in rows(**options, surplus_fields="drop")] == [1, 2]
