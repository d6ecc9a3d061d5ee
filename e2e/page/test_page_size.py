"""The page over a home of 10,000 runs (A23), and over a log of a GiB (A22)."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site, rows
from e2e.page.homes import at_work, table
from e2e.page.measured import USABLE, cursor_of_runs, page_of_runs
from e2e.page.test_page_live import SLOWER
from e2e.server.running import client, server, token_of
from seatunnel_py.control.driver_files import output_file
from seatunnel_py.runtime.storage.home import Home
from tests.control.homes import ended_runs

Tab = Callable[..., Visit]
RUNS = 10_000
GIB = 2**30
HEAP_BYTES = 150 * 10**6
FIRST, LAST = "INFO the first line of the log", "ERROR the last line of the log"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over 10,000 old runs."""
    folder = tmp_path_factory.mktemp("old")
    ended_runs(folder / ".seatunnel", RUNS)
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def test_a23_ten_thousand_runs_are_listed(old: Site, tab: Tab) -> None:
    """The first page, the fiftieth, and one run of all that is searched for; each in its time, times six: tests run
    beside others, and `bench.page` has the times."""
    one = tab(old)
    one.page.add_init_script(USABLE)
    page = one.open("")
    expect(rows(page)).to_have_count(50)
    expect(page.get_by_text("10,000 runs")).to_be_visible()
    assert page.evaluate("window.usable") <= 1_000 * SLOWER
    with client(old.url, old.folder) as http:
        after = cursor_of_runs(http, 49)
    assert page_of_runs(page, after) <= 200 * SLOWER
    page.goto(f"{old.url}/?after={after}")
    expect(rows(page)).to_have_count(50)
    expect(rows(page).first).to_contain_text(f"run-{RUNS - 1 - 49 * 50:05}")
    page.get_by_role("button", name="Next page").click()
    expect(rows(page).first).to_contain_text(f"run-{RUNS - 1 - 50 * 50:05}")
    page.locator("[data-filter]").fill("run-07")
    expect(page.get_by_text("1,000 runs")).to_be_visible()
    page.locator("[data-filter]").fill("run-07777")
    expect(rows(page)).to_have_count(1)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    """A server over a run that is alive, with an output of a GiB."""
    folder = tmp_path_factory.mktemp("logged")
    home = Home(folder / ".seatunnel")
    tables = [table("shop.orders", "RUNNING", 10, random.Random(1))]
    with at_work(home, "logged", tables, {}), server(folder) as (_, url):
        path = output_file(home.path, "logged")
        path.parent.mkdir(parents=True, exist_ok=True)
        block = b"".join(b"INFO a line like many others, of the run, %06d\n" % at for at in range(20_000))
        with path.open("wb") as file:
            file.write(f"{FIRST}\n".encode())
            width = len(block) // 20_000
            while (rest := (GIB - file.tell() - 100) // width * width) > 0:
                file.write(block[:rest])
            file.write(b"x" * (GIB - file.tell() - len(LAST) - 2) + b"\n")
            file.write(f"{LAST}\n".encode())
        assert path.stat().st_size == GIB
        yield Site(url, token_of(folder), folder), path
        path.unlink()


def heap(page: Page) -> int:
    """Bytes of the scripts of a page, after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    found: dict[str, Any] = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return int(found["JSHeapUsedSize"])


def timed(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def test_a22_a_log_of_a_gib_is_read_followed_and_searched(logged: tuple[Site, Path], tab: Tab) -> None:
    """Its end, its start, windows between, and a text in a window; then it grows by 10 MB a second, and the page shows
    its newest lines. Only what is in view is in the document, and the page needs little memory."""
    site, path = logged
    page = tab(site).open("jobs/logged/log")
    lines = page.locator(".log-lines")
    shown = page.locator(".log-line")
    expect(lines).to_contain_text(LAST)
    expect(page.get_by_text("1.0 GiB")).to_be_visible()
    assert shown.count() <= 80
    acts = page.locator(".log .acts")

    def to(name: str, text: str | re.Pattern[str]) -> None:
        acts.get_by_role("button", name=name, exact=True).click()
        expect(lines).to_contain_text(text)

    assert timed(lambda: to("Start", FIRST)) <= 0.3 * SLOWER
    to("Later", "INFO a line like many others")
    expect(lines).not_to_contain_text(FIRST)
    to("Earlier", FIRST)
    expect(acts.get_by_role("button", name="Earlier")).to_be_disabled()
    page.keyboard.press("/")
    page.keyboard.type("001003")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(page.locator(".log-hit")).to_have_text("INFO a line like many others, of the run, 001003")
    page.get_by_label("find in these lines").fill("")
    assert timed(lambda: to("End", LAST)) <= 0.3 * SLOWER
    to("Earlier", "INFO a line like many others")
    expect(lines).not_to_contain_text(LAST)
    to("End", LAST)
    assert shown.count() <= 80 and heap(page) <= HEAP_BYTES

    over = threading.Event()
    marks = [0]

    def grow() -> None:
        filler = b"INFO a line that comes while others are read\n" * 22_000
        with path.open("ab") as file:
            while not over.wait(0.1):
                marks[0] += 1
                file.write(filler + b"INFO mark %06d\n" % marks[0])
                file.flush()

    growing = threading.Thread(target=grow)
    growing.start()
    try:
        for _ in range(3):
            page.wait_for_timeout(2_500)
            newest = page.evaluate("[...document.querySelectorAll('.log-line')].at(-1).textContent")
            assert "while others are read" in newest or "mark" in newest, newest
    finally:
        over.set()
        growing.join()
    expect(lines).to_contain_text(f"mark {marks[0]:06}")
    assert shown.count() <= 80 and heap(page) <= HEAP_BYTES
