"""The way from the page of a job to the reason why one of its tables is late (A32)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.conftest import Databases
from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site, rows
from e2e.page.homes import at_work, names, of_tables, table
from e2e.page.test_page_live import JOB_SECONDS
from e2e.page.test_page_state import begun
from e2e.server.running import server, token_of
from seatunnel_py.runtime.storage.home import Home

Tab = Callable[..., Visit]
LATE = "logistics.item_008"
WAITS = f"Jdbc-sink-1[{LATE}] waits for the target since 40 s"
BAD = 12


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over a run of a thousand tables of which one is late, and one of which twelve have failed."""
    folder = tmp_path_factory.mktemp("many")
    home, rng = Home(folder / ".seatunnel"), random.Random(7)
    of_tables(home, "ended", 1_000, BAD, 600)
    tables = [table(one, "RUNNING" if one == LATE else "DONE", rng.randrange(1, 9_000), rng) for one in names(1_000)]
    assert sum(one["state"] == "RUNNING" for one in tables) == 1
    with at_work(home, "late", tables, {LATE: [WAITS]}), server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def clicks(page: Page) -> int:
    """How many clicks the page has seen since it was loaded."""
    found: int = page.evaluate("window.clicks")
    return found


def counted(tab: Tab, site: Site, path: str) -> Page:
    """A page that counts its clicks."""
    one = tab(site)
    one.page.add_init_script("window.clicks = 0; addEventListener('click', () => { window.clicks += 1; }, true);")
    return one.open(path)


def test_a32_the_reason_of_one_late_table_of_a_thousand_is_one_click_away(many: Site, tab: Tab) -> None:
    """From the overview: tables that are not done stand before those that are; its driver names the reason."""
    page = counted(tab, many, "jobs/late")
    page.get_by_role("link", name=LATE).click()
    panel = page.get_by_role("complementary", name="table")
    expect(panel.get_by_role("region", name="waits")).to_contain_text(WAITS)
    expect(panel.get_by_role("region", name="waits")).to_contain_text("The last row moved 40 s ago.")
    assert clicks(page) == 1
    page.locator("[data-filter]").fill("web.account_000")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "2")
    rows(page).first.click()
    expect(panel.get_by_role("heading", name="web.account_000")).to_be_visible()
    expect(panel.get_by_role("region", name="waits")).to_have_count(0)  # it is done


def test_a32_the_cause_of_each_failed_table_is_two_clicks_away(many: Site, tab: Tab) -> None:
    """Of all twelve: the list of all tables begins with them."""
    page = counted(tab, many, "jobs/ended")
    for at in range(BAD):
        page.goto(f"{many.url}/jobs/ended")
        page.get_by_role("link", name="all 1,000").click()
        expect(rows(page).nth(BAD - 1)).to_contain_text("isolated")
        rows(page).nth(at).click()
        panel = page.get_by_role("complementary", name="table")
        name = panel.get_by_role("heading").first.inner_text()
        expect(panel.locator(".failed")).to_contain_text(name)
        assert clicks(page) == 2


def test_a32_a_locked_target_is_named(databases: Databases, tab: Tab, tmp_path_factory: pytest.TempPathFactory) -> None:
    """By a real driver: its table waits for a lock of a session of the target."""
    with databases.connect(databases.target) as setting:
        setting.execute("CREATE TABLE slow (id bigint)")
    sink = f"{databases.jdbc(databases.target)}, generate_sink_sql = true, database = {databases.target}"
    text = (
        "env { checkpoint.interval = 500, unit.rows = 50 }\n"
        'source { FakeSource { row.num = 500, split.num = 5, schema { table = "shop.slow", fields { id = bigint } } } }\n'
        f'sink {{ Jdbc {{ {sink}, table = "public.slow" }} }}'
    )
    folder = tmp_path_factory.mktemp("locked")
    (folder / ".seatunnel").mkdir(mode=0o700)
    with server(folder) as (_, url):
        site = Site(url, token_of(folder), folder)
        with databases.connect(databases.target) as holder, holder.transaction():
            holder.execute("LOCK TABLE slow IN SHARE MODE")
            page = counted(tab, site, f"jobs/{begun(site, 'locked', text)}")
            page.get_by_role("link", name="shop.slow").click(timeout=JOB_SECONDS)
            waits = page.get_by_role("complementary", name="table").get_by_role("region", name="waits")
            expect(waits.locator("p").first).to_be_visible(timeout=JOB_SECONDS)
            assert clicks(page) == 1
            until = time.monotonic() + JOB_SECONDS / 1_000
            while "for a lock that session" not in waits.inner_text():  # until its driver has met the lock
                assert time.monotonic() < until, waits.inner_text()
                waits.get_by_role("button", name="Ask again").click()
                page.wait_for_timeout(1_000)
        expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
