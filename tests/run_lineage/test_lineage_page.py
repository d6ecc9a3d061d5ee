"""The page about lineage: its example runs, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.api.options import describe
from seatunnel_py.config.env import OpenLineageOptions
from seatunnel_py.openlineage.dataset_parts import COLUMNS_MAX, EVENT_BYTES_MAX, INPUT_FIELDS_MAX
from seatunnel_py.openlineage.run_events import RunEventType
from seatunnel_py.openlineage.settings import VARIABLES
from seatunnel_py.runtime.storage.home import Home
from tests.run_lineage.lineage_server import lineage_server
from tests.run_lineage.published import NAMES, require_valid

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "lineage.md").read_text(encoding="utf-8")
URL = "http://marquez.example.com:5000"


def test_the_example_reports_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```hocon\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "demo" / "csv").mkdir(parents=True)
    (tmp_path / "demo" / "csv" / "people.csv").write_text("id,name\n1,Ada\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINEAGE_KEY", "the-key-of-lineage")
    assert URL in block
    with lineage_server() as server:
        file = tmp_path / "orders.conf"
        file.write_text(block.replace(URL, server.url))
        receipt = app.run(file, app.RunOptions({}, local=True), Home(tmp_path / "home"), lambda _: None, lambda _: None)
        assert receipt.exit_code == 0
        start, end = server.taken
        assert server.requests[0].headers["authorization"] == "Bearer the-key-of-lineage"
    for one in (start, end):
        require_valid(one)
    assert start["job"]["namespace"] == "production"
    (output,) = end["outputs"]
    assert (output["namespace"], output["name"]) == ("file", str(tmp_path / "out"))
    (use,) = output["facets"]["columnLineage"]["fields"]["full_name"]["inputFields"]
    assert (use["name"], use["field"]) == (str(tmp_path / "demo" / "csv"), "name")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 1


def test_the_page_has_every_option_variable_event_facet_and_limit() -> None:
    assert [one.key for one in describe(OpenLineageOptions) if f"`openlineage.{one.key}`" not in PAGE] == []
    short = {name: name.removeprefix("OPENLINEAGE") for name in VARIABLES}
    assert [name for name, end in short.items() if f"`{name}`" not in PAGE and f"`{end}`" not in PAGE] == []
    assert [kind for kind in RunEventType if f"`{kind}`" not in PAGE] == []
    assert [name for name in NAMES if f"`{name}`" not in PAGE and name not in PAGE] == []
    assert [size for size in (EVENT_BYTES_MAX, COLUMNS_MAX, INPUT_FIELDS_MAX) if f"{size:,}" not in PAGE] == []
