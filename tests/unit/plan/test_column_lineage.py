"""Column lineage over a plan: steps composed, tables merged, steps that do not tell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from seatunnel_plugins.transforms.columns.filter import Filter
from seatunnel_py import app
from seatunnel_py.api import Batch, ColumnLineage, ColumnUse, LineageKind, Rejected, TableSchema, Transform
from seatunnel_py.plan.tables.column_lineage import composed, lineage_of

IDENTITY, CHANGED, SUM = LineageKind.IDENTITY, LineageKind.TRANSFORMATION, LineageKind.AGGREGATION


def lineages(place: Path, sources: list[dict[str, Any]], transforms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lineage of each table of a sink that takes the last step."""
    last = (transforms or sources)[-1]["plugin_output"]
    sink = {"plugin_name": "Console", "plugin_input": last}
    job = {"env": {"job.mode": "BATCH"}, "source": sources, "transform": transforms, "sink": [sink]}
    file = place / "job.json"
    file.write_text(json.dumps(job))
    with app.planned(file, {}) as (planned, _):
        return [one.to_plain() for one in lineage_of(planned.graph)]


def source(name: str, table: str, /, **fields: str) -> dict[str, Any]:
    return {"plugin_name": "FakeSource", "plugin_output": name, "schema": {"table": table, "fields": fields}}


def shown(uses: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['step']}:{one['table']}.{one['column']} {one['kind']}{'*' * one.get('masking', False)}" for one in uses
    ]


def test_steps_are_composed(tmp_path: Path) -> None:
    """A column that was masked stays masked, and a step that only copies it keeps the kind."""
    key = "base64:MDEyMzQ1Njc4OWFiY2RlZg=="
    steps = [
        {"plugin_name": "FieldEncrypt", "plugin_input": "a", "plugin_output": "b", "fields": ["name"], "key": key},
        {"plugin_name": "Copy", "plugin_input": "b", "plugin_output": "c", "fields": {"other": "name"}},
        {
            "plugin_name": "DataValidator", "plugin_input": "c", "plugin_output": "d", "row_error_handle_way": "SKIP",
            "field_rules": [{"field_name": "other", "rule_type": "NOT_NULL"}],
        },
        {"plugin_name": "Filter", "plugin_input": "d", "plugin_output": "e", "include_fields": ["id", "other"]},
    ]  # fmt: skip
    (found,) = lineages(tmp_path, [source("a", "db.t", id="bigint", name="string")], steps)
    assert {name: shown(uses) for name, uses in found["columns"].items()} == {
        "id": ["a:db.t.id IDENTITY"],
        "other": ["a:db.t.name TRANSFORMATION*"],
    }
    assert shown(found["rows"]) == ["a:db.t.name FILTER*"]
    assert found["unknown"] == []


def test_a_merged_table_depends_on_all_of_its_parts(tmp_path: Path) -> None:
    merge = {"plugin_name": "TableMerge", "plugin_input": ["a", "b"], "plugin_output": "m", "table": "both"}
    found = lineages(tmp_path, [source("a", "db.x", id="bigint"), source("b", "db.y", id="bigint")], [merge])
    uses = sorted({use for one in found for use in shown(one["columns"]["id"])})
    assert uses == ["a:db.x.id IDENTITY", "b:db.y.id IDENTITY"]


def test_a_step_that_does_not_tell_depends_on_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "column_lineage", Transform.column_lineage)
    steps = [
        {"plugin_name": "Filter", "plugin_input": "a", "plugin_output": "b", "include_fields": ["id"]},
        {"plugin_name": "Copy", "plugin_input": "b", "plugin_output": "c", "fields": {"two": "id"}},
    ]
    (found,) = lineages(tmp_path, [source("a", "db.t", id="bigint", name="string")], steps)
    every = ["a:db.t.id TRANSFORMATION", "a:db.t.name TRANSFORMATION"]
    assert {name: shown(uses) for name, uses in found["columns"].items()} == {"id": every, "two": every}
    assert found["unknown"] == ["id", "two"]
    assert shown(found["rows"]) == ["a:db.t.id FILTER", "a:db.t.name FILTER"]


@pytest.mark.parametrize(
    ("inner", "outer", "both"),
    [
        (IDENTITY, IDENTITY, IDENTITY),
        (IDENTITY, CHANGED, CHANGED),
        (CHANGED, IDENTITY, CHANGED),
        (SUM, CHANGED, SUM),
        (CHANGED, SUM, SUM),
        (LineageKind.WINDOW, CHANGED, LineageKind.WINDOW),
        (SUM, LineageKind.FILTER, LineageKind.FILTER),
    ],
)
def test_kinds_are_composed(inner: LineageKind, outer: LineageKind, both: LineageKind) -> None:
    assert composed(inner, outer) is both


class Plain(Transform):
    """As an author writes it who does not know of lineage."""

    def output(self) -> TableSchema | None:
        return None

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield batch


def test_lineage_is_optional() -> None:
    assert Plain().column_lineage() is None
    assert ColumnLineage({"a": (ColumnUse("b"),)}).rows == ()
