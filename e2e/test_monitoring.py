"""The alerts and the dashboard that `seatunnel init monitoring` writes: every name and label in them is in a real scrape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from e2e.support import IN_PROCESS, finish, seatunnel, start, wait_alive, wait_for, write_job

JOB = """
    env { job.mode = STREAMING, job.name = shop, checkpoint.interval = 300, metrics.tables = "top(5)" }
    source { FakeSource { row.num = 20000, split.num = 200, split.read-interval = 100,
                          schema { table = "shop.events", fields { id = bigint } } } }
    sink { LocalFile { path = "out", file_format_type = csv } }
"""
Scraped = dict[str, dict[str, set[str]]]
"""Values of each label, by the name of a sample."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monitoring")
    assert seatunnel(folder, "init", "monitoring", "--to", "files").code == 0
    return folder


@pytest.fixture(scope="module")
def scraped(home: Path) -> Scraped:
    """All samples of a run, while it is alive and has a committed checkpoint."""
    write_job(home, JOB)
    run = start(home, "run", "job.conf", "--job-id", "shop-1", program=IN_PROCESS)
    history = home / ".seatunnel/jobs/shop-1/counters.json"

    def counted() -> Any:
        return history.exists() and "commit" in json.loads(history.read_text())["checkpoints"]["phases"]

    wait_alive(run, "a committed checkpoint in the record", counted)
    text = seatunnel(home, "jobs", "metrics").out
    assert seatunnel(home, "jobs", "cancel", "shop-1").code == 0
    finish(run)
    found: Scraped = {}
    families: list[Metric] = list(text_string_to_metric_families(text))
    for family in families:
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return found


def alerts(home: Path) -> Iterator[tuple[str, str]]:
    (group,) = yaml.safe_load((home / "files/alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        assert {"summary", "description"} <= rule["annotations"].keys() and rule["labels"]["severity"]
        yield rule["alert"], rule["expr"]


def dashboard(home: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((home / "files/dashboard.json").read_text())
    return read


def expressions(home: Path) -> Iterator[tuple[str, str]]:
    """All of both files, as Prometheus gets them."""
    yield from alerts(home)
    for panel in dashboard(home)["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*")


def selectors(node: Any) -> Iterator[promql.VectorSelector]:
    """All selectors of an expression."""
    match node:
        case promql.VectorSelector():
            yield node
        case promql.MatrixSelector():
            yield node.vector_selector
        case promql.BinaryExpr():
            yield from selectors(node.lhs)
            yield from selectors(node.rhs)
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from selectors(node.expr)
        case promql.Call():
            for one in node.args:
                yield from selectors(one)
        case promql.NumberLiteral() | promql.StringLiteral():
            return
        case _:
            raise AssertionError(f"{type(node)} is not read by this test")


def grouped(node: Any) -> Iterator[tuple[set[str], list[promql.VectorSelector]]]:
    """Labels that an expression groups or joins by, with the selectors that must have them."""
    match node:
        case promql.AggregateExpr():
            if node.modifier is not None:
                yield set(node.modifier.labels), list(selectors(node.expr))
            yield from grouped(node.expr)
        case promql.BinaryExpr():
            if node.modifier is not None and node.modifier.matching is not None:
                yield set(node.modifier.matching.labels), list(selectors(node))
            yield from grouped(node.lhs)
            yield from grouped(node.rhs)
        case promql.ParenExpr() | promql.UnaryExpr():
            yield from grouped(node.expr)
        case promql.Call():
            for one in node.args:
                yield from grouped(one)
        case _:
            return


def test_every_name_and_label_is_in_a_real_scrape(home: Path, scraped: Scraped) -> None:
    """U4."""
    used = set()
    for title, text in expressions(home):
        tree = promql.parse(text)
        for one in selectors(tree):
            assert one.name in scraped, f"{title}: no series {one.name}"
            used.add(one.name)
            for matcher in one.matchers.matchers:
                values = scraped[one.name].get(matcher.name)
                assert values, f"{title}: {one.name} has no label {matcher.name}"
                literals = {value for value in matcher.value.split("|") if value not in ("", ".*")}
                assert literals <= values, f"{title}: {one.name} has no {matcher.name} {literals - values}"
        for labels, some in grouped(tree):
            for one in some:
                missing = labels - scraped[one.name].keys()
                assert not missing, f"{title}: {one.name} has no {missing}"
    assert len(used) > 15


def test_the_test_would_notice_a_wrong_name(scraped: Scraped) -> None:
    assert [one.name for one in selectors(promql.parse("sum by (job) (rate(a[5m])) / on (job) b > time() - c"))] == [
        "a", "b", "c",
    ]  # fmt: skip
    assert "seatunnel_rows_total" not in scraped and "host" not in scraped["seatunnel_job_up"]
    with pytest.raises(ValueError, match=r"\S"):
        promql.parse("sum by (job (rate(a[5m]))")


def test_the_dashboard_has_a_place_for_each_panel(home: Path, scraped: Scraped) -> None:
    found = dashboard(home)
    places = set()
    for panel in found["panels"]:
        grid = panel["gridPos"]
        assert grid["x"] >= 0 and grid["x"] + grid["w"] <= 24 and panel["title"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not cells & places, f"{panel['title']} covers another"
        places |= cells
    assert len({panel["id"] for panel in found["panels"]}) == len(found["panels"])
    (job,) = [one for one in found["templating"]["list"] if one["name"] == "job"]
    assert job["definition"] == "label_values(seatunnel_job_up, job)" and scraped["seatunnel_job_up"]["job"] == {"shop"}


def test_it_is_written_once(home: Path) -> None:
    again = wait_for("the command", lambda: seatunnel(home, "init", "monitoring", "--to", "files"))
    assert again.code == 1 and "files is there already" in again.err
    assert {path.name for path in (home / "files").iterdir()} == {"alerts.yml", "dashboard.json"}
