"""What the commands load: `check` what says what options mean, workers what does the work, before they need it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from seatunnel_connectors.files.factory import LocalFileSinkFactory, LocalFileSourceFactory
from seatunnel_connectors.files.write.options import CHANGE_FORMATS, WriteFormat

JOB = """
env { job.name = "x" }
source { Jdbc { plugin_output = a, url = "jdbc:sqlite:x.db", table_path = t }
         LocalFile { plugin_output = b, path = "/x", file_format_type = parquet }
         FakeSource { plugin_output = c, row.num = 1, schema { fields { id = int } } } }
sink { Jdbc { plugin_input = b, url = "jdbc:sqlite:x.db", generate_sink_sql = true, table = t }
       LocalFile { plugin_input = [a, c], path = "/x", file_format_type = xml, xml_use_attr_format = true } }
"""
HEAVY = (
    "pyarrow", "numpy", "pyspark", "sqlglot", "rich", "sqlite3", "concurrent.futures",
    "seatunnel_connectors.files.write.sink", "seatunnel_connectors.files.read.source", "seatunnel_connectors.files.read.scan",
    "seatunnel_connectors.jdbc.dialect", "seatunnel_connectors.jdbc.source.source", "seatunnel_connectors.fake.source",
)  # fmt: skip
XML = {"xml_row_tag": "row", "xml_use_attr_format": True}


def test_check_loads_nothing_that_works(tmp_path: Path) -> None:
    """It is run from editors and hooks, at every key."""
    (tmp_path / "job.conf").write_text(JOB)
    program = (
        "import sys\nfrom seatunnel_py.__main__ import main\nsys.argv[1:] = ['check', 'job.conf']\n"
        f"try: main()\nexcept SystemExit as end: code = end.code\nfound = [m for m in {HEAVY} if m in sys.modules]\n"
        "sys.exit(code or ' '.join(found) or 0)"
    )

    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, ""), run.stdout


@pytest.mark.parametrize("kind", [*WriteFormat])
def test_workers_are_told_modules_that_are_there(kind: WriteFormat) -> None:
    """For every format; a name that is wrong is found by nobody else, for workers go without."""
    given = {"path": "/x", "file_format_type": kind}
    sink = LocalFileSinkFactory()
    named = [*sink.modules(sink.options.model_validate({**given, "xml_use_attr_format": True}))]
    if kind not in CHANGE_FORMATS:
        source = LocalFileSourceFactory()
        named += source.modules(source.options.model_validate({**given, **XML}))

    for name in named:
        import_module(name)
    assert "seatunnel_connectors.files.write.sink" in named
