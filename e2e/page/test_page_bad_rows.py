"""Bad rows of a real run on the page: found, understood, mended, delivered (A21)."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.measured import serious
from e2e.page.test_page_live import JOB_SECONDS, get
from e2e.page.test_page_state import begun
from e2e.server.running import client, server, token_of

ROWS = {"orders": 40, "people": 30}
BAD = {"orders": [3, 17, 21], "people": [5]}
SECRET = "canary-of-a-row"
Tab = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


def step(folder: Path, table: str, pattern: str) -> tuple[str, str, str]:
    """A source, a validator and a sink for a table."""
    source = f"""LocalFile {{ path = "{folder}/{table}.json", file_format_type = json, plugin_output = read_{table}
        schema {{ table = "shop.{table}", fields {{ id = bigint, name = string }} }} }}"""
    rule = f'{{ field_name = name, rule_type = REGEX, pattern = "{pattern}" }}'
    check = f"DataValidator {{ plugin_input = read_{table}, plugin_output = valid_{table}, field_rules = [ {rule} ] }}"
    sink = f"""Jdbc {{ url = "jdbc:sqlite:{folder}/target.db", driver = sqlite, generate_sink_sql = true
        plugin_input = valid_{table}, table = {table}, primary_keys = ["id"] }}"""
    return source, check, sink


def job(folder: Path, pattern: str) -> str:
    """A job of two tables that sets aside rows whose names do not match."""
    parts = zip(*(step(folder, table, pattern) for table in ROWS), strict=True)
    named = ["\n".join(one) for one in parts]
    env = "env { job.name = bad, error.max-rows = 10 }"
    return f"{env}\nsource {{ {named[0]} }}\ntransform {{ {named[1]} }}\nsink {{ {named[2]} }}\n"


def row(table: str, at: int) -> dict[str, Any]:
    return {"id": at, "name": f"{SECRET} {at}" if at in BAD[table] else f"n{at}"}


def busy_at_first(page: Page) -> list[str]:
    """Let the server be too busy for the next two deliveries; the answers that it gave."""
    given: list[str] = []

    def refuse(route: Route) -> None:
        if len(given) == 2 or "dry=true" in route.request.url:
            route.continue_()
            return
        given.append("busy")
        problem = {
            "type": "urn:seatunnel:problem:busy",
            "detail": "2 job files are being looked at",
            "remedy": "ask again",
        }
        route.fulfill(status=503, content_type="application/problem+json", body=json.dumps(problem))

    page.route(re.compile("/quarantine/replay"), refuse)
    return given


def delivered(folder: Path, table: str) -> list[int]:
    """The ids that the target has."""
    with closing(sqlite3.connect(folder / "target.db")) as connection:
        return [id for (id,) in connection.execute(f"SELECT id FROM {table} ORDER BY id")]


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with a run that has set rows of two tables aside."""
    folder = tmp_path_factory.mktemp("bad")
    with closing(sqlite3.connect(folder / "target.db")) as connection:
        for table, number in ROWS.items():
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT)")
            lines = [json.dumps(row(table, at)) + "\n" for at in range(number)]
            (folder / f"{table}.json").write_text("".join(lines))
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def test_a21_bad_rows_are_found_mended_and_delivered_once(bad: Site, tab: Tab) -> None:
    """From the count of a run to its rows and their causes; values are masked for a token without the right `data`. The
    page announces how many rows of which tables a delivery takes, first of one table, then of all."""
    run = begun(bad, "bad", job(bad.folder, "^n[0-9]+$"))
    page = tab(bad).open(f"jobs/{run}")
    expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
    expect(page.locator(".fact", has_text="rejected").locator("dd")).to_have_text("4")
    page.get_by_role("tab", name="Tables").click()
    page.get_by_role("row").filter(has_text="shop.orders").click()
    page.get_by_role("link", name="look at the rejected rows").click()
    counts = page.get_by_role("region", name="bad rows")
    expect(counts.locator("tbody tr")).to_have_count(2, timeout=JOB_SECONDS)
    expect(counts.locator("tbody tr", has_text="shop.orders")).to_contain_text("3 × valid_orders")
    listed = page.get_by_role("region", name="rows").last
    expect(listed.locator("tbody tr")).to_have_count(3)
    expect(listed.get_by_text("values are masked")).to_be_visible()
    expect(listed.locator(".values .tone-bad").first).to_have_text("name")
    assert SECRET not in page.content()
    assert serious(page) == []
    assert len(delivered(bad.folder, "orders")) == ROWS["orders"] - len(BAD["orders"])

    with client(bad.url, bad.folder) as http:
        mended = {"text": job(bad.folder, "^[a-z0-9 -]+$")}
        assert http.put("/api/v1/definitions/bad", json=mended, headers={"If-Match": '"1"'}).status_code == 200
    counts.locator("tbody tr", has_text="shop.orders").get_by_role("button", name="Deliver…").click()
    box = page.get_by_role("region", name="announcement")
    expect(box.get_by_role("list", name="changes").locator("li")).to_have_text(
        ["through revision 2: 3 rows of shop.orders"], timeout=JOB_SECONDS
    )
    box.get_by_role("button", name="Deliver").click()
    expect(page.locator(".progress.done")).to_contain_text("The delivery has begun.")
    expect(counts.get_by_text("Newest delivery:")).to_be_visible(timeout=JOB_SECONDS)
    expect(counts.locator(".note .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
    expect(counts.locator("tbody tr", has_text="shop.orders").locator("td").nth(3)).to_have_text("3", timeout=60_000)
    assert delivered(bad.folder, "orders") == list(range(ROWS["orders"]))
    assert len(delivered(bad.folder, "people")) == ROWS["people"] - 1

    counts.get_by_role("button", name="Deliver all…").click(timeout=JOB_SECONDS)
    expect(box.get_by_role("list", name="changes").locator("li")).to_have_text(
        ["through revision 2: 1 row of shop.people"], timeout=JOB_SECONDS
    )
    answers = busy_at_first(page)
    box.get_by_role("button", name="Deliver").click()
    expect(counts.get_by_text("all were delivered")).to_be_visible(timeout=JOB_SECONDS)
    assert len(answers) == 2, "a server that is too busy is asked again, and then does it once"
    assert delivered(bad.folder, "people") == list(range(ROWS["people"]))
    assert get(bad, f"runs/{run}/quarantine")["waiting"] == 0


def test_a21_values_are_for_tokens_with_the_right_data(bad: Site, tab: Tab) -> None:
    """And are text, whatever they hold; the run of this file has delivered its rows, so another one sets them aside."""
    run = begun(bad, "again", job(bad.folder, "^n[0-9]+$").replace("job.name = bad", "job.name = again"))
    with client(bad.url, bad.folder) as http:
        made = http.post("/api/v1/tokens", json={"name": "data", "role": "read", "data": True})
    assert made.status_code == 201, made.text
    page = tab(Site(bad.url, made.json()["token"], bad.folder)).open(f"jobs/{run}")
    expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
    page.get_by_role("tab", name="Bad rows").click()
    listed = page.get_by_role("region", name="rows").last
    expect(listed.locator("tbody tr")).to_have_count(4, timeout=JOB_SECONDS)
    expect(listed).to_contain_text(f"{SECRET} 17")
    expect(listed.get_by_text("values are masked")).to_have_count(0)
    page.get_by_role("button", name="Deliver all…").click()
    button = page.get_by_role("region", name="announcement").get_by_role("button", name="Deliver")
    expect(button).to_have_count(0)  # the announcement itself needs the role operate
    expect(page.get_by_role("region", name="announcement").get_by_role("alert")).to_contain_text("operate")
