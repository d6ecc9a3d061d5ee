"""The graph of a run: of a real one, and of one with a thousand tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_plugins.transforms.columns.filter import Filter
from seatunnel_py import app
from seatunnel_py.api import Transform
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json
from seatunnel_py.web.reading import lineage_view
from tests.control.homes import COUNTS, claimed, receipt
from tests.web.running import Served, run_job, serving

CHAIN = """
env { job.name = chain }
source { FakeSource { id = in, plugin_output = raw, row.num = 20, schema { table = "shop.t", fields { id = bigint, name = string } } } }
transform { Copy { id = twice, plugin_input = raw, plugin_output = copied, fields { again = name } } }
sink {
  Console { id = one, plugin_input = copied }
  Console { id = two, plugin_input = raw }
}
"""
WIDE = """
source { FakeSource { plugin_output = raw, row.num = 1, schema { table = "shop.wide", fields { FIELDS } } } }
transform { Filter { plugin_input = raw, plugin_output = kept, include_fields = [NAMES] } }
sink { Console { plugin_input = kept } }
"""
COLUMNS = {f"column_{at}": "decimal(38,18)" for at in range(20)}


def big(home: Home, tables: int) -> None:
    """The files of a run with this many tables, as a driver leaves them."""
    place = home.place("big")
    claimed(place, "d")
    names = [f"shop.table_{at:04}" for at in range(tables)]
    pipelines = [
        {
            "id": f"p{at}",
            "name": name,
            "vertices": [
                {
                    "id": f"in[{name}]",
                    "parallelism": 1,
                    "nodes": [
                        {"id": f"in[{name}]", "step": "in", "plugin": "Jdbc", "table": name, "columns": COLUMNS},
                        {"id": f"map[{name}]", "step": "map", "plugin": "Copy", "columns": COLUMNS},
                        {"id": f"out[{name}]", "step": "out", "plugin": "Jdbc", "table": name, "target": f"T {name}"},
                    ],
                    "inputs": [],
                    "outputs": [],
                }
            ],
            "sinks": [],
            "guarantees": [],
        }
        for at, name in enumerate(names)
    ]
    kinds = {"in": "source", "map": "transform", "out": "sink"}
    steps = [{"id": id, "kind": kind, "plugin": "X"} for id, kind in kinds.items()]
    plan = {"job": "big", "steps": steps, "pipelines": pipelines, "isolated": [], "summary": {"tables": tables}}
    write_json(place.path / "run_plan.json", plan, durable=False)
    rows = [
        {
            "table": name,
            "state": "DONE",
            "cause": None,
            "attempts": 0,
            "seconds": 1.0,
            **COUNTS,
            "targets": [{"target": f"T {name}", "state": "DONE", "rows_written": 10}],
        }
        for name in names
    ]
    receipt(place, "d", "SUCCESS", tables=rows)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("graphs")
    home = Home(folder / ".seatunnel")
    file = Path(folder / "chain.conf")
    file.write_text(CHAIN)
    app.run(file, app.RunOptions({}, "chain", local=True), home, lambda _: None, lambda _: None)
    big(home, 1_000)
    with serving(folder, home=home) as served:
        yield served


def test_the_graph_of_a_real_run(own: Served) -> None:
    """Its steps with places, states and rows."""
    found = own.get("runs/chain/graph").json()
    nodes: dict[str, Any] = {one["id"]: one for one in found["nodes"]}
    edges = {(one["from"], one["to"]): one["rows"] for one in found["edges"]}

    assert {id: (one["kind"], one["plugin"]) for id, one in nodes.items()} == {
        "in": ("source", "FakeSource"), "twice": ("transform", "Copy"),
        "one": ("sink", "Console"), "two": ("sink", "Console"),
    }  # fmt: skip
    assert {id: one["tables"] for id, one in nodes.items()} == {key: {"DONE": 1} for key in nodes}
    assert nodes["in"]["rows_out"] == 20
    assert set(edges) == {("in", "twice"), ("in", "two"), ("twice", "one")}
    assert edges["in", "twice"] == edges["in", "two"] == 20
    assert nodes["in"]["x"] < nodes["twice"]["x"] < nodes["one"]["x"]
    assert all(one["points"][0][0] < one["points"][-1][0] <= found["width"] for one in found["edges"])


def test_geometry_is_fetched_once_and_counts_are_new(own: Served) -> None:
    """U11: The tag of the geometry is its digest; a tag of the whole never hides other counts."""
    run_job(own.home, "later", rows=5)
    with own.client() as client:
        at = "/api/v1/runs/later/graph"
        geometry, counts, whole = (client.get(at, params={"part": one}) for one in ("geometry", "counts", "whole"))
        digest = geometry.json()["digest"]
        assert geometry.headers["etag"] == f'"{digest}"' and counts.json()["digest"] == digest
        assert "tables" not in geometry.json()["nodes"][0]
        for part, answer in (("geometry", geometry), ("counts", counts), ("whole", whole)):
            headers = {"If-None-Match": f'"x", W/{answer.headers["etag"]}'}
            same = client.get(at, params={"part": part}, headers=headers)
            assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", answer.headers["etag"])
        tags = {part.headers["etag"] for part in (geometry, counts, whole)}
        assert len(tags) == 3
        place = own.home.place("later")
        told = place.read("receipt")
        assert told is not None
        told.pop("seal", None)
        told["tables"][0]["rows_read"] = 77
        write_json(place.path / "receipt.json", told, durable=False)
        changed = client.get(at, headers={"If-None-Match": whole.headers["etag"]})
        assert changed.status_code == 200 and changed.json()["nodes"][0]["rows_out"] == 77
        unchanged = client.get(at, params={"part": "geometry"}, headers={"If-None-Match": geometry.headers["etag"]})
        assert unchanged.status_code == 304


def test_a_part_that_does_not_exist_is_refused(own: Served) -> None:
    """With the valid ones."""
    assert "geometry" in own.get("runs/chain/graph", part="geometri").json()["remedy"]
    assert own.get("runs/none/graph").status_code == 404


def test_the_lineage_of_a_run_is_that_of_its_columns(own: Served) -> None:
    """As `plan --column-lineage` shows it; the run of the plan that is stored has it."""
    found = own.get("runs/chain/lineage").json()
    (copied,) = (one for one in found["lineage"] if one["step"] == "one")

    assert copied["columns"]["again"] == [
        {"step": "in", "table": "shop.t", "column": "name", "kind": copied["columns"]["again"][0]["kind"]}
    ]
    assert (found["sources"], found["total"], found["next"]) == ([{"step": "in", "table": "shop.t"}], 2, None)
    first = own.get("runs/chain/lineage", limit=1).json()
    second = own.get("runs/chain/lineage", limit=1, after=first["next"]).json()
    assert [*first["lineage"], *second["lineage"]] == found["lineage"]
    assert own.get("runs/chain/lineage", q="nothing").json()["total"] == 0
    assert (own.get("runs/big/lineage").status_code, own.get("runs/none/lineage").status_code) == (404, 404)


def test_target_tables_are_listed_without_their_columns(own: Served) -> None:
    """Each with the key of its own route: both targets are the console."""
    found = own.get("runs/chain/lineage", part="tables").json()
    assert [(one["key"], one["step"], one["columns"], one["unknown"]) for one in found["tables"]] == [
        ("the console", "one", 3, 0), ("the console~2", "two", 2, 0),
    ]  # fmt: skip
    assert found["tables"][0]["sources"] == [{"step": "in", "table": "shop.t"}]
    second = own.get("runs/chain/lineage", part="tables", skip=1).json()
    assert (second["tables"], second["total"]) == (found["tables"][1:], 2)
    assert "tables" in own.get("runs/chain/lineage", part="table").json()["remedy"]


def test_one_target_table_has_equal_lists_of_uses_once(own: Served) -> None:
    """The source columns are numbered; each list is that of the whole answer."""
    whole = {one["key"]: one for one in own.get("runs/chain/lineage").json()["lineage"]}
    for key in ("the console", "the console~2"):
        found = own.get(f"runs/chain/lineage/{key}").json()
        uses = [[_named(found, use) for use in each] for each in found["uses"]]
        assert {one["name"]: uses[one["uses"]] for one in found["columns"]} == whole[key]["columns"]
        assert uses[found["rows"]] == whole[key]["rows"]
    assert found["sources"] == [{"step": "in", "table": "shop.t", "columns": ["id", "name"]}]
    refused = own.get("runs/chain/lineage/none")
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (404, "unknown-table")


def test_a_lineage_of_too_many_uses_is_not_stored(own: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """320 columns after a step that does not declare its lineage: 102,400 uses. The run itself succeeds."""
    monkeypatch.setattr(Filter, "column_lineage", Transform.column_lineage)
    for columns, status in ((20, 200), (320, 404)):
        names = [f"c{at}" for at in range(columns)]
        run, file = f"wide-{columns}", own.home.path.parent / f"wide-{columns}.conf"
        file.write_text(
            WIDE.replace("FIELDS", ", ".join(f"{name} = int" for name in names)).replace("NAMES", ", ".join(names))
        )
        app.run(file, app.RunOptions({}, run, local=True), own.home, lambda _: None, lambda _: None)
        found = own.get(f"runs/{run}/lineage")
        assert (found.status_code, own.get(f"runs/{run}").json()["state"]) == (status, "SUCCESS")
    assert "100,000 uses" in found.json()["remedy"]
    assert len(own.get("runs/wide-20/lineage/the console").json()["uses"]) == 2


def _named(found: dict[str, Any], use: dict[str, Any]) -> dict[str, Any]:
    source = found["sources"][use["source"]]
    about = {"step": source["step"], "table": source["table"], "column": source["columns"][use["column"]]}
    return {**about, "kind": use["kind"], **({"masking": True} if use["masking"] else {})}


def test_a_wide_table_of_unknown_lineage_is_a_small_answer() -> None:
    """300 columns that each depend on 300: 90,000 uses, of which each list is the same."""
    names = [f"c{at}" for at in range(300)]
    uses = [{"step": "in", "table": "t", "column": name, "kind": "TRANSFORMATION"} for name in names]
    about = {"key": "k", "step": "out", "target": "k", "table": "t", "columns": dict.fromkeys(names, uses), "rows": []}
    found = lineage_view.shared({**about, "unknown": names})
    assert [len(one) for one in found["uses"]] == [300, 0]
    assert len(json.dumps(found)) < 50_000
    assert lineage_view.line({**about, "unknown": names})["unknown"] == 300


def test_a_thousand_tables_are_one_small_answer(own: Served) -> None:
    """U10: No node for each table."""
    with own.client(Role.READ) as client:
        answer, again = (client.get("/api/v1/runs/big/graph") for _ in range(2))

    assert again.json() == answer.json()
    assert [one["tables"] for one in answer.json()["nodes"]] == [{"DONE": 1_000}] * 3
    assert len(answer.content) < 4_000
