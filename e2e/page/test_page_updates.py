"""Changes of a driver as they come to the page: by the stream, and without a move (A4, A7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.page.acting_driver import ActingDriver, acting_driver
from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.measured import PLACES, seen_after
from seatunnel_py.runtime.storage.home import Home

Tab = Callable[..., Visit]
SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifted += one.value; })
  .observe({type: 'layout-shift'});
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def driver(site: Site) -> Iterator[ActingDriver]:
    """A driver of a job with 50 steps."""
    with acting_driver(Home(site.folder / ".seatunnel"), "wide") as made:
        yield made


def live(one: Visit) -> Page:
    """The overview of the job, drawn, with an open stream."""
    page = one.open("jobs/wide")
    expect(page.locator(".light")).to_have_text("live")
    expect(page.locator(".drawing .node")).to_have_count(50)
    expect(page.locator(".loading, .awaited")).to_have_count(0)
    return page


def test_a4_a_change_comes_by_the_stream(site: Site, tab: Tab, driver: ActingDriver) -> None:
    """No question is needed: while no other request is answered, each change is on the screen. `bench.page` has the
    time."""
    page = live(tab(site))
    page.route("**/api/v1/**", lambda route: route.abort())
    for rows in (40, 41, 42):
        text = f"{30 * rows:,}"
        assert seen_after(page, text, lambda rows=rows: driver.write(rows)) > 0
    expect(page.locator(".light")).to_have_text("live")


def test_a7_a_live_graph_does_not_move(site: Site, tab: Tab, driver: ActingDriver) -> None:
    """50 nodes and 80 edges or more: their numbers change, and no place on the screen does, nor that of other parts."""
    page = live(tab(site))
    before = page.evaluate(PLACES)
    assert len(before) >= 50 + 80
    page.evaluate(SHIFTS)
    shown = page.locator(".drawing .node-source .node-rows").first
    for rows in (5_000, 70_000, 8_000_000):
        old = shown.text_content()
        driver.write(rows)
        expect(shown).not_to_have_text(old or "")
        assert page.evaluate(PLACES) == before
    assert page.evaluate("window.shifted") < 0.001  # "9 s" that becomes "10 s" moves the words after it
