"""A6: 200 changes a second of 1,000 tables move nothing, and leave nothing behind. `bench.page_changes` does it for ten
minutes, with the time of the main thread and of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from e2e.page.acting_driver import ActingDriver, many_tables
from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.many_changes import SCROLLED, TABLES, under_changes
from e2e.server.running import server, token_of
from seatunnel_py.runtime.storage.home import Home

SECONDS = 20
HEAP_BYTES_MAX = 5_000_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, ActingDriver]]:
    """A server, and a driver of a thousand tables."""
    folder: Path = tmp_path_factory.mktemp("busy")
    home = Home(folder / ".seatunnel")
    with many_tables(home, "many", TABLES) as driver, server(folder) as (_, url):
        yield Site(url, token_of(folder), folder), driver


def test_a6_many_changes_move_nothing_and_leave_nothing_behind(
    busy: tuple[Site, ActingDriver], tab: Callable[..., Visit]
) -> None:
    """Neither focus nor scroll; no rows and no memory beside those that are shown; each second is on the screen."""
    site, driver = busy
    page = tab(site).open("jobs/many/tables")
    expect(page.locator(".light")).to_have_text("live")
    found = under_changes(page, driver, SECONDS)
    assert found.focused and found.scrolled == SCROLLED, found
    assert found.rows <= 80 and found.grown_nodes <= 500, found
    assert found.grown_bytes < HEAP_BYTES_MAX, found
    assert found.shift < 0.01, found
    assert found.updates > 1, found
    expect(page.locator(".light")).to_have_text("live")
