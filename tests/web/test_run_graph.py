"""The graph of a run: of a real one, and of one with a thousand tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json
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


def test_a_thousand_tables_are_one_small_answer(own: Served) -> None:
    """U10: No node for each table."""
    with own.client(Role.READ) as client:
        answer, again = (client.get("/api/v1/runs/big/graph") for _ in range(2))

    assert again.json() == answer.json()
    assert [one["tables"] for one in answer.json()["nodes"]] == [{"DONE": 1_000}] * 3
    assert len(answer.content) < 4_000
