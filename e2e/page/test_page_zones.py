"""Times of the page in browsers of three zones, over a night in which an hour comes twice (A28)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.homes import checkpointed, of_tables
from e2e.server.running import server, token_of
from seatunnel_py.runtime.storage.home import Home

Tab = Callable[..., Visit]
NIGHT = [datetime(2026, 11, 1, hour, 30, tzinfo=UTC).timestamp() for hour in (5, 6)]
"""Half past one in New York, and half past one again."""
IN_UTC = ["2026-11-01 06:30:00", "2026-11-01 05:30:00"]
ZONES = {
    "UTC": (IN_UTC, ["GMT+00:00", "GMT+00:00"]),
    "Asia/Kathmandu": (["2026-11-01 12:15:00", "2026-11-01 11:15:00"], ["GMT+05:45", "GMT+05:45"]),
    "America/New_York": (["2026-11-01 01:30:00", "2026-11-01 01:30:00"], ["GMT-05:00", "GMT-04:00"]),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over a run with two checkpoints of that night, of an hour and a half each."""
    folder = tmp_path_factory.mktemp("night")
    home = Home(folder / ".seatunnel")
    of_tables(home, "night", 1, 0, 60, "customers")
    checkpointed(home, "night", NIGHT, 5_400)
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def shown(page: Page) -> tuple[list[str], list[str], list[str]]:
    """The times of the checkpoints as they stand there, newest first; their offsets on hover; their durations."""
    lines = page.get_by_role("tabpanel").locator("tbody tr")
    expect(lines).to_have_count(2)
    times = lines.locator("time")
    hints: list[Any] = [times.nth(at).get_attribute("title") for at in range(2)]
    return times.all_inner_texts(), [one.rpartition(" ")[2] for one in hints], lines.locator("td:nth-child(5)").all_inner_texts()  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_a28_times_are_in_the_zone_of_the_browser_or_in_utc(night: Site, tab: Tab, zone: str) -> None:
    """One choice for all pages, also of another tab, which a reload keeps; the zone is shown, and durations are the
    same in each."""
    one = tab(night, timezone_id=zone)
    page = one.open("jobs/night/checkpoints")
    times, offsets = ZONES[zone]
    assert shown(page)[:2] == (times, offsets)
    other = one.page.context.new_page()
    other.goto(f"{night.url}/jobs/night/checkpoints")
    expect(other.locator("time").first).to_have_text(times[0])

    page.get_by_role("button", name="times in").click()
    expect(page.get_by_role("button", name="times in")).to_have_text("times in UTC")
    assert shown(page) == (IN_UTC, ["UTC", "UTC"], ["45 min", "45 min"])
    expect(page.locator("figcaption span").first).to_have_text("05:30:00")
    expect(other.locator("time").first).to_have_text(IN_UTC[0])
    page.reload()
    assert shown(page)[0] == IN_UTC
    page.goto(night.url)
    assert str(page.locator("tbody time").first.get_attribute("title")).endswith(" UTC")
    page.get_by_role("button", name="times in").click()
    expect(page.get_by_role("button", name="times in")).not_to_have_text("times in UTC")
    page.goto(f"{night.url}/jobs/night/checkpoints")
    assert shown(page)[0] == times
