"""Savepoints and checkpoints of a run on the page: each act is announced, and does what was announced (A20)."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.measured import serious
from e2e.page.test_page_live import JOB_SECONDS, get
from e2e.server.running import client, server, token_of
from e2e.support import SEATUNNEL
from seatunnel_py.runtime.storage.home import Home

ROWS = 2_400
Tab = Callable[..., Visit]
ENV = "env { job.name = slow, checkpoint.interval = 500, read_limit.rows_per_second = 120, unit.rows = 20 }"
SOURCE = """
source { FakeSource { row.num = 2400, split.num = 40, auto.increment.enabled = true, string.length = 5
                      schema { table = "shop.orders", fields { id = bigint, name = string } } } }
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over an empty home, beside an empty table."""
    folder = tmp_path_factory.mktemp("state")
    with closing(sqlite3.connect(folder / "target.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def begun(site: Site, id: str, text: str) -> str:
    """Store a job file and start it; returns the id of its run."""
    with client(site.url, site.folder) as http:
        made = http.post("/api/v1/definitions", json={"id": id, "text": text})
        assert made.status_code == 201, made.text
        run: str = http.post(f"/api/v1/definitions/{id}/runs", json={}).json()["job_id"]
    return run


def printed(site: Site, *words: str) -> str:
    """What the command line prints about the home of the server."""
    environment = {**os.environ, "SEATUNNEL_HOME": str(site.folder / ".seatunnel")}
    return subprocess.run(
        [*SEATUNNEL, *words], cwd=site.folder, env=environment, capture_output=True, text=True, check=False
    ).stdout


def announced(page: Page) -> list[str]:
    """The changes that stand on the page."""
    found = page.get_by_role("region", name="announcement").get_by_role("list", name="changes")
    expect(found).to_be_visible(timeout=JOB_SECONDS)
    return [re.sub(r"\s+", " ", one).strip() for one in found.locator("li").all_inner_texts()]


def worded(changes: list[dict[str, str]]) -> list[str]:
    """Changes of `plan --restore latest --json` in the words of the page."""
    more = ("", " wants --accept-changes")
    return [f"{one['fate']} {one['what']}: {one['follows']}{more[bool(one['needs'])]}" for one in changes]


def state(page: Page) -> Locator:
    return page.locator(".job-title .state")


def rows_read(page: Page, least: int) -> None:
    """Wait until the run has read so many rows."""
    page.wait_for_function(
        "least => Number([...document.querySelectorAll('.fact')].find(one => one.textContent.startsWith('rows read'))?.querySelector('dd').textContent.replace(',', '')) >= least",
        arg=least, timeout=JOB_SECONDS,
    )  # fmt: skip


def of_this_run(site: Site, run: str) -> list[dict[str, Any]]:
    """The events of a run that tell which changes a driver has met."""
    lines = Home(site.folder / ".seatunnel").place(run).events.read_text().splitlines()
    return [one for one in map(json.loads, lines) if "changes" in one]


def test_a20_a_restore_with_another_text_changes_what_was_announced(fresh: Site, tab: Tab) -> None:
    """Savepoint, stop, another revision, restore: the page announces what `plan --restore latest` prints, the driver
    meets these changes and no other, and each row is in the target once."""
    target = (
        f'{fresh.folder}/target.db", driver = sqlite, generate_sink_sql = true, table = orders, primary_keys = ["id"]'
    )
    text = f'{ENV}{SOURCE}sink {{ Jdbc {{ url = "jdbc:sqlite:{target} }} }}'
    run = begun(fresh, "orders", text)
    page = tab(fresh).open(f"jobs/{run}")
    expect(state(page)).to_have_text("running", timeout=JOB_SECONDS)
    rows_read(page, 300)
    page.get_by_role("tab", name="Savepoints").click()
    page.get_by_label("name of the next savepoint").fill("before-change")
    page.get_by_role("button", name="Take one now").click()
    expect(page.locator(".progress.done")).to_be_visible(timeout=JOB_SECONDS)
    saved = page.get_by_role("region", name="savepoints").locator("tbody tr")
    expect(saved).to_have_count(1)
    expect(saved).to_contain_text("before-change")
    page.get_by_role("button", name="Stop").click()
    expect(state(page)).to_have_text("stopped", timeout=JOB_SECONDS)
    expect(saved).to_have_count(2)
    changed = text.replace("read_limit.rows_per_second = 120, ", "").replace("string.length = 5", "string.length = 9")
    with client(fresh.url, fresh.folder) as http:
        put = http.put("/api/v1/definitions/orders", json={"text": changed}, headers={"If-Match": '"1"'})
    assert put.status_code == 200, put.text

    page.get_by_role("button", name="Restore…").click()
    assert announced(page) == ["kept shop.orders: goes on where it stood"]
    page.get_by_label("revision of the job file").select_option(label="revision 2, the newest")
    expect(page.get_by_text("string.length", exact=False)).to_be_visible(timeout=JOB_SECONDS)
    shown = announced(page)
    (fresh.folder / "changed.conf").write_text(changed)
    plan = json.loads(printed(fresh, "plan", "changed.conf", "--job-id", run, "--restore", "latest", "--json"))
    assert shown == worded(plan["changes"]) and len(shown) == 2
    assert serious(page) == []
    before = len(of_this_run(fresh, run))
    page.get_by_role("button", name="Restore, with these changes").click()
    expect(page.locator(".progress")).to_contain_text("asked to restore")
    expect(state(page)).to_have_text("succeeded", timeout=JOB_SECONDS)
    (met,) = of_this_run(fresh, run)[before:]
    assert [one.replace("(wants", "wants").removesuffix(")") for one in met["changes"]] == shown
    assert get(fresh, f"runs/{run}")["receipt"]["totals"]["rows_read"] == ROWS
    with closing(sqlite3.connect(fresh.folder / "target.db")) as connection:
        found = connection.execute("SELECT id, length(name) FROM orders ORDER BY id").fetchall()
    assert [id for id, _ in found] == list(range(1, ROWS + 1))
    assert {length for _, length in found} == {5, 9}

    page.get_by_role("region", name="savepoints").get_by_role("button", name="New run from it…").first.click()
    (fate,) = (one for one in announced(page) if "string.length" in one)
    assert fate.startswith("changed source")


def test_a20_a_rewind_repeats_the_rows_that_were_announced(fresh: Site, tab: Tab) -> None:
    """In the words of `state rewind`: the next driver begins at the announced checkpoint, and exactly the rows read
    since then come a second time."""
    run = begun(fresh, "lines", f"{ENV}{SOURCE}sink {{ Console {{}} }}")
    page = tab(fresh).open(f"jobs/{run}")
    expect(state(page)).to_have_text("running", timeout=JOB_SECONDS)
    rows_read(page, 600)
    page.get_by_role("button", name="Stop").click()
    expect(state(page)).to_have_text("stopped", timeout=JOB_SECONDS)
    page.get_by_role("tab", name="Savepoints").click()
    kept = page.get_by_role("region", name="kept checkpoints").locator("tbody tr")
    expect(kept.first).to_contain_text("goes on here")
    numbers = [int(one) for one in kept.locator("td:nth-child(2)").all_inner_texts()]
    rows = [int(one.replace(",", "")) for one in kept.locator("td:nth-child(5)").all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) >= 3
    at = next(at for at in range(1, len(numbers)) if 0 < rows[at] < rows[0])
    kept.nth(at).get_by_role("button", name="Rewind to it…").click()
    shown = announced(page)
    words = printed(fresh, "state", "rewind", f"{run}@{numbers[at]}", "--table", "shop.orders")
    assert shown == [one.strip() for one in words.splitlines()] and "appear twice" in shown[1]
    expect(kept).to_have_count(len(numbers))

    page.get_by_role("button", name="Rewind", exact=True).click()
    expect(page.locator(".progress.done")).to_contain_text("The next driver begins there.")
    expect(kept).to_have_count(len(numbers) - at)
    expect(kept.first).to_contain_text("goes on here")
    assert kept.first.locator("td:nth-child(2)").inner_text() == str(numbers[at])
    before = lines(fresh, run)  # a unit that was at work at the end may have written more than the savepoint has
    assert len(before) == before.total() >= rows[0]
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(state(page)).to_have_text("succeeded", timeout=JOB_SECONDS)
    after = lines(fresh, run)
    assert sorted(after) == list(range(1, ROWS + 1))
    again = {row for row, times in after.items() if times > 1}
    waited = "had still to commit" in shown[1]
    assert again == {row for row in before if row >= min(again)}
    assert min(again) <= rows[at] if waited else min(again) == rows[at] + 1
    assert max(after.values()) == 2


def lines(site: Site, run: str) -> Counter[int]:
    """The rows that the drivers of a run have printed, and how often."""
    output = (site.folder / f".seatunnel/server/output/{run}.log").read_text()
    return Counter(int(one) for one in re.findall(r"SeaTunnelRow#kind=INSERT : (\d+),", output))


def test_a_state_that_allows_no_act_offers_none(fresh: Site, tab: Tab) -> None:
    """A20: A run that has ended well is not restored, and keeps no checkpoint; an unknown savepoint has no button."""
    (run,) = (one["job_id"] for one in get(fresh, "runs?q=orders")["runs"])
    page = tab(fresh).open(f"jobs/{run}/state?ask=restore")
    expect(page.get_by_role("region", name="savepoints").locator("tbody tr")).to_have_count(2)
    expect(page.get_by_text("No checkpoint is kept.")).to_be_visible()
    expect(page.get_by_role("region", name="announcement")).to_have_count(0)
    page = tab(fresh).open(f"jobs/{run}/state?ask=start&savepoint=no-such")
    box = page.get_by_role("region", name="announcement")
    expect(box.get_by_role("alert")).to_contain_text("no-such", timeout=JOB_SECONDS)
    expect(box.get_by_role("button", name="Start a new run from it")).to_have_count(0)
