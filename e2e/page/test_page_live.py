"""The page of a home that changes: a demo job from its start to its end, killed drivers and servers, hidden tabs."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site, rows
from e2e.page.homes import of_tables
from e2e.server.running import client, server, token_of
from seatunnel_py.runtime.storage.home import Home
from tests.servers.process_tree import descendants

SLOWER = 6
"""How much longer the bars may take here: tests run beside others."""
Tab = Callable[..., Visit]
JOB_SECONDS = 240_000
"""How long a demo job may take here, with the start of its driver, in milliseconds."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over an empty home."""
    folder = tmp_path_factory.mktemp("fresh")
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def get(site: Site, path: str) -> Any:
    """An answer of the interface."""
    with client(site.url, site.folder) as http:
        answer = http.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def run_of(page: Page) -> str:
    """The id of the run that is shown."""
    found = re.search(r"/jobs/([^/?]+)", page.url)
    assert found is not None
    return found[1]


def kill(site: Site, run: str) -> None:
    """Kill the driver of a run, with all that it has started."""
    pid = get(site, f"runs/{run}")["job"]["pid"]
    for one in [pid, *descendants(pid)]:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_a31_one_click_on_an_empty_home_runs_the_demo_to_its_end(fresh: Site, tab: Tab) -> None:
    """By the link of a terminal, which is good for one login. The page shows rows while they move, and the end; its
    numbers are those of the receipt."""
    link = fresh.link()
    page = tab(fresh, token=False).open(link)
    expect(page.get_by_text("No job has run in this home yet.")).to_be_visible()
    page.get_by_role("button", name="Start the demo job").click()
    expect(page.get_by_role("heading", name="demo: a shop")).to_be_visible(timeout=JOB_SECONDS)
    expect(page.locator(".job-title .state")).to_have_text("running", timeout=JOB_SECONDS)
    read = page.locator(".fact", has_text="rows read").locator("dd")
    seen = set()
    until = time.monotonic() + JOB_SECONDS / 1000
    while "running" in page.locator(".job-title .state").inner_text() and time.monotonic() < until:
        seen.add(read.inner_text())
        page.wait_for_timeout(300)
    expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
    expect(read).to_have_text("2,000")
    assert len(seen - {"–"}) >= 3, seen
    assert get(fresh, f"runs/{run_of(page)}")["receipt"]["totals"]["rows_read"] == 2_000
    expect(page.get_by_text("All 4 tables are done.")).to_be_visible()
    expect(page.get_by_role("region", name="steps").get_by_text("2,000 rows").first).to_be_visible()
    expect(page.get_by_role("tabpanel").locator(".state", has_text="done")).to_have_count(4)
    for name, shown in (("Checkpoints", "completed"), ("Log", "SeaTunnelRow"), ("Plan as run", "FakeSource")):
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tabpanel").get_by_text(shown).first).to_be_visible()
    page.get_by_role("link", name="Jobs").click()
    expect(rows(page)).to_have_count(1)
    stored = page.get_by_role("region", name="stored job files")
    expect(stored.get_by_role("button", name="Start")).to_be_enabled()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()
    page = tab(fresh, token=False).open(link)
    expect(page.get_by_text("the code is not valid")).to_be_visible()


def test_a10_a_killed_driver_is_shown_at_once(fresh: Site, tab: Tab) -> None:
    """U45: The state, the next step, the restore that the page asks for, and the failure among the failures."""
    page = tab(fresh).open("")
    stored = page.get_by_role("region", name="stored job files")
    if stored.count() == 0 and page.get_by_role("button", name="Start the demo job").count():
        page.get_by_role("button", name="Start the demo job").click()
    else:
        stored.get_by_role("button", name="Start").click()
    state = page.locator(".job-title .state")
    expect(state).to_have_text("running", timeout=JOB_SECONDS)
    expect(page.locator(".fact", has_text="rows read").locator("dd")).not_to_have_text(
        re.compile("^[–0]$"), timeout=JOB_SECONDS
    )
    began = time.monotonic()
    kill(fresh, run_of(page))
    expect(state).to_have_text("killed")
    assert time.monotonic() - began <= 2 * SLOWER
    expect(page.get_by_text("Restore: it goes on from its newest checkpoint.")).to_be_visible()
    page.get_by_role("button", name="Restore…").click()
    expect(page.get_by_text("kept 4 tables: go on where they stood")).to_be_visible()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.locator(".progress")).to_contain_text("asked to restore")
    expect(state).to_have_text("running", timeout=JOB_SECONDS)
    expect(page.locator(".progress")).to_contain_text("The run goes on.")
    expect(state).to_have_text("succeeded", timeout=JOB_SECONDS)
    page.get_by_role("tab", name="Overview").click()
    expect(page.locator(".fact", has_text="rows read").locator("dd")).to_have_text("2,000")
    page.get_by_role("tab", name="Failures").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("it was killed, or the machine stopped")


def test_a_stop_is_asked_and_answered_by_the_driver(fresh: Site, tab: Tab) -> None:
    """U45: The button shows that it has asked; the line then shows the answer."""
    page = tab(fresh).open("")
    page.get_by_role("region", name="stored job files").get_by_role("button", name="Start").click()
    expect(page.locator(".job-title .state")).to_have_text("running", timeout=JOB_SECONDS)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".progress.asked")).to_contain_text("asked to stop after a savepoint")
    expect(page.locator(".progress.done")).to_be_visible(timeout=JOB_SECONDS)
    expect(page.locator(".job-title .state")).to_have_text("stopped", timeout=JOB_SECONDS)


def test_a_driver_that_ends_before_the_job_begins_is_shown_with_its_output(fresh: Site, tab: Tab) -> None:
    """U1: Such a run has no directory: only the server knows of it."""
    text = 'source { FakeSource { schema { fields { id = bigint } } } }\nsink { LocalFile { path = /x, file_format_type = "${MISSING}" } }'
    with client(fresh.url, fresh.folder) as http:
        assert http.post("/api/v1/definitions", json={"id": "wrong", "text": text}).status_code == 201
        run = http.post("/api/v1/definitions/wrong/runs", json={}).json()["job_id"]
    page = tab(fresh).open(f"jobs/{run}")
    expect(page.get_by_text("before it began the job")).to_be_visible(timeout=JOB_SECONDS)
    expect(page.get_by_role("region", name="output of the driver")).to_contain_text("MISSING")


def test_a16_a_reader_may_look_and_no_more(fresh: Site, tab: Tab) -> None:
    """U28: Acts are disabled, with the role that they need; the interface refuses them as well."""
    with client(fresh.url, fresh.folder) as http:
        made = http.post("/api/v1/tokens", json={"name": f"r{time.time_ns()}", "role": "read"})
    assert made.status_code == 201, made.text
    page = tab(Site(fresh.url, made.json()["token"], fresh.folder)).open("")
    start = page.get_by_role("button", name="Start").first
    expect(start).to_be_disabled()
    assert start.get_attribute("title") in ("This needs the role operate.", "This needs the role edit.")


def test_a9_a_killed_server_is_seen_and_found_again(browser: Browser, tab: Tab, tmp_path: Path) -> None:
    """U19: The bar within 3 s, grey numbers, the page as it was, and live again within 5 s after the start; no reload."""
    of_tables(Home(tmp_path / ".seatunnel"), "twenty", 20, 2, 60, "shop to warehouse")
    with server(tmp_path) as (process, url):
        site = Site(url, token_of(tmp_path), tmp_path)
        page = tab(site).open("jobs/twenty/tables")
        expect(page.locator(".light")).to_have_text("live")
        page.evaluate("window.marker = 1")
        process.kill()
        began = time.monotonic()
        expect(page.locator(".lost")).to_contain_text("Connection lost since")
        assert time.monotonic() - began <= 3 * SLOWER
        expect(page.locator(".page.stale")).to_have_count(1)
        expect(rows(page)).to_have_count(20)
    with server(tmp_path, "--port", url.rpartition(":")[2]):
        began = time.monotonic()
        expect(page.locator(".light")).to_have_text("live", timeout=20_000)
        assert time.monotonic() - began <= 5 * SLOWER
        expect(page.locator(".lost, .page.stale")).to_have_count(0)
        of_tables(Home(tmp_path / ".seatunnel"), "later", 3, 0, 1, "after the restart")
        page.get_by_role("link", name="Jobs").click()
        expect(page.get_by_role("link", name="after the restart")).to_be_visible(timeout=20_000)
        assert page.evaluate("window.marker") == 1
        page.goto("about:blank")


def test_a26_a_hidden_tab_has_no_stream(fresh: Site, tab: Tab) -> None:
    """It is closed after a minute, of a clock that the test moves, and the state is right when the tab is shown."""
    one = tab(fresh)
    page = one.page
    page.clock.install()
    one.open("")
    expect(page.locator(".light")).to_have_text("live")
    hide = "hidden => { Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden}); document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, True)
    page.clock.fast_forward(30_000)
    expect(page.locator(".light")).to_have_text("live")
    page.clock.fast_forward(31_000)
    expect(page.locator(".light")).to_have_text("paused")
    until = time.monotonic() + 60
    while streams_of(fresh) > 0:
        assert time.monotonic() < until
        time.sleep(0.1)
    page.evaluate(hide, False)
    expect(page.locator(".light")).to_have_text("live", timeout=2_000 * SLOWER)


def streams_of(site: Site) -> int:
    """How many streams the server has open."""
    with client(site.url, site.folder) as http:
        text = http.get("/metrics").text
    found = re.search(r"^seatunnel_live_streams (\d+)", text, flags=re.MULTILINE)
    assert found is not None
    return int(found[1])
