"""A table without rows leaves a file with its columns, where files of the format say what their columns are."""

from __future__ import annotations

from pathlib import Path

import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_py.api import FatalError, TablePath, TableSchema
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import make_sink
from tests.connectors.jdbc.test_rows_there import run
from tests.connectors.jdbc.test_target_names import job


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({"file_format_type": "parquet"}, 1),
        ({"file_format_type": "orc"}, 1),
        ({"file_format_type": "csv", "enable_header_write": True}, 1),
        ({"file_format_type": "csv"}, 0),
        ({"file_format_type": "json"}, 0),
        ({"file_format_type": "parquet", "create_empty_file_when_no_data": False}, 0),
    ],
)
def test_an_empty_table_keeps_its_columns(
    pg: PostgresPlace, tmp_path: Path, options: dict[str, object], files: int, single: bool
) -> None:
    """P1-empty tables to Parquet: an empty folder, which readers refuse."""
    pg.db.execute("CREATE TABLE a.none (id int, name text)")
    sink = {"path": f"{tmp_path}/out/${{table_name}}", "single_file_mode": single, **options}

    receipt = run(tmp_path, job(tmp_path, pg.source(table_path="a.none"), ("LocalFile", sink)))

    visible = (path for path in (tmp_path / "out/none").rglob("*") if ".seatunnel" not in path.parts)
    found = [path for path in visible if path.is_file()]
    assert receipt.exit_code == 0 and len(found) == files
    for path in found:
        if options["file_format_type"] == "csv":
            assert path.read_text() == "id,name\n"
        else:
            table = pq.read_table(path) if path.suffix == ".parquet" else orc.read_table(path)
            assert table.column_names == ["id", "name"] and table.num_rows == 0


def test_a_source_that_names_no_columns_makes_no_table(pg: PostgresPlace, maria: MariadbPlace, tmp_path: Path) -> None:
    """A directory without files made a table without columns, which no later load fitted."""
    nothing = TableSchema(TablePath("", "", "t"), ())
    sqlite = {"url": f"jdbc:sqlite:{tmp_path / 'x.db'}", "generate_sink_sql": True}
    for options in (pg.sink(table="b.made"), maria.sink(table="made"), {**sqlite, "table": "made"}):
        with pytest.raises(FatalError, match="the source names no columns, so no table can be made"):
            make_sink(options, nothing)[0].plan_setup()
