"""How quick the page is, in Chromium, over runs of 1 to 10,000 tables and a home of 10,000 runs: the times of A1,
A2, A3, A4, A5, A7, A8, A11 and A23.

    python -m bench.page [--rounds 7]

Each figure is the median of its rounds; that of A4 "95 of 100" is of all changes of a round.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from statistics import median

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, expect

from bench import pairs
from e2e.page.acting_driver import ActingDriver, acting_driver
from e2e.page.browser import chromium, context_of, visit
from e2e.page.homes import sizes
from e2e.page.measured import (
    USABLE,
    answered,
    busy,
    busy_per_key,
    cursor_of_runs,
    filtered,
    page_of_runs,
    scrolled,
    seen_after,
)
from e2e.page.wrong_jobs import RIGHT
from e2e.server.running import client, server, token_of
from seatunnel_py.runtime.storage.home import Home
from tests.control.homes import ended_runs

_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_PROBLEM = """
async () => {
  const began = performance.now();
  while (!document.querySelector('.problems')?.textContent.includes('unknown block')) {
    if (performance.now() - began > 20000) throw new Error('there is no problem');
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - began;
}
"""
PAUSE_MS = 300
"""As in ``edit/checking.ts``."""
STREAMS, CHANGES = 19, 20
_ROWS = itertools.count(1_000, 7)
BARS_MS = {
    "A1 first paint": 400.0,
    "A1 list of 105 runs": 800.0,
    "A2 job of 1,000 tables": 1_000.0,
    "A2 answer with 100 tables": 80.0,
    "A3 key in 2,000 lines": 16.0,
    "A3 problem after a pause": 700.0,
    "A4 change, middle": 1_000.0,
    "A4 change, 95 of 100": 1_500.0,
    "A7 draw 50 steps": 100.0,
    "A7 second of changes": 150.0,
    "A5 frame, middle": 20.0,
    "A5 frame, 99 of 100": 50.0,
    "A8 filter of 10,000 tables": 200.0,
    "A11 answer beside 9 tabs": 300.0,
    "A23 list of 10,000 runs": 1_000.0,
    "A23 page 50 of them": 200.0,
}
OLD_RUNS = 10_000


def of_runs(context: BrowserContext, url: str) -> dict[str, float]:
    """The list of runs, loaded with an empty cache."""
    context.add_init_script(USABLE)
    page = visit(context, url).open("")
    expect(page.locator(".runs tbody tr")).to_have_count(50)
    return {"A1 first paint": page.evaluate(_PAINT), "A1 list of 105 runs": page.evaluate("window.usable")}


def of_a_job(context: BrowserContext, url: str) -> dict[str, float]:
    """A job of a thousand tables, up to its links."""
    one, began = visit(context, url), time.perf_counter()
    page = one.open("jobs/thousand")
    expect(page.get_by_role("link", name="all 1,000")).to_be_visible()
    return {"A2 job of 1,000 tables": (time.perf_counter() - began) * 1_000}


def of_an_editor(context: BrowserContext, url: str) -> dict[str, float]:
    """A job file of two thousand lines: the main thread for each key, and a problem after the pause of typing."""
    page = visit(context, url).open("edit/long")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    took = busy_per_key(page, "# a comment of some letters, all of them typed at once ")
    page.keyboard.press("Enter")
    page.wait_for_timeout(1_500)
    page.keyboard.type("enf {}")
    shown = page.evaluate(_PROBLEM)
    return {"A3 key in 2,000 lines": took, "A3 problem after a pause": shown - PAUSE_MS}


def ten_thousand(context: BrowserContext, url: str) -> Page:
    """The list of ten thousand tables, in a new tab: one that another tab covers draws no frames."""
    page = visit(context, url).open("jobs/ten-thousand/tables")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "10001")
    return page


def of_tables(context: BrowserContext, url: str) -> dict[str, float]:
    """Ten thousand tables: scrolled from end to end, then filtered."""
    frames = scrolled(ten_thousand(context, url))["frames"]
    took = filtered(ten_thousand(context, url))
    assert took is not None
    ranks = {"A5 frame, middle": frames[len(frames) // 2], "A5 frame, 99 of 100": frames[int(len(frames) * 0.99)]}
    return {**ranks, "A8 filter of 10,000 tables": took}


def of_changes(browser: Browser, url: str, folder: Path, driver: ActingDriver) -> dict[str, float]:
    """A live job of 50 steps, beside 19 other streams: from a file of the driver to the screen, and the main thread."""
    with ExitStack() as stack:
        http = stack.enter_context(client(url, folder))
        for _ in range(STREAMS):
            stack.enter_context(_other_stream(http))
        context = stack.enter_context(closing(context_of(browser, token_of(folder))))
        page = visit(context, url).open("jobs/wide/checkpoints")
        expect(page.locator(".light")).to_have_text("live")
        overview = page.get_by_role("tab", name="Overview")
        steps = page.locator(".drawing .node")
        drawn = busy(page, lambda: (overview.click(), expect(steps).to_have_count(50)))
        waits = sorted(_seen(page, driver) for _ in range(CHANGES))
        spent = busy(page, lambda: [(driver.write(next(_ROWS)), page.wait_for_timeout(1_000)) for _ in range(10)]) / 10
    middle = {"A4 change, middle": median(waits), "A4 change, 95 of 100": waits[int(len(waits) * 0.95)]}
    return {**middle, "A7 draw 50 steps": drawn, "A7 second of changes": spent}


def _seen(page: Page, driver: ActingDriver) -> float:
    rows = next(_ROWS)
    page.wait_for_timeout(random.uniform(0, 1_000))  # the look of the server has a period of a second
    return seen_after(page, f"{len(driver.tables) * rows:,}", lambda: driver.write(rows))


@contextmanager
def _other_stream(http: httpx.Client) -> Iterator[None]:
    """A stream that a thread reads until the end of the block."""
    with http.stream("GET", "/api/v1/live?topics=runs,run:wide") as answer:
        reading = threading.Thread(target=_read, args=[answer], daemon=True)
        reading.start()
        try:
            yield
        finally:  # a connection that is closed while a thread reads it stays open until that ends
            answer.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            reading.join()


def _read(stream: httpx.Response) -> None:
    with suppress(httpx.HTTPError, httpx.StreamError, OSError):
        for _ in stream.iter_raw():
            pass


def of_tabs(context: BrowserContext, url: str) -> dict[str, float]:
    """Nine tabs of one browser."""
    tabs: list[Page] = [visit(context, url).open("jobs/twenty") for _ in range(9)]
    for page in tabs:
        expect(page.get_by_text("All 20 tables are done.")).to_be_visible()
    return {"A11 answer beside 9 tabs": answered(tabs[-1])}


def of_answers(url: str, folder: Path) -> dict[str, float]:
    """A page of a thousand tables, without a browser."""
    with client(url, folder) as http:
        http.get("/api/v1/runs/thousand/tables?limit=100").raise_for_status()
        began = time.perf_counter()
        http.get("/api/v1/runs/thousand/tables?limit=100").raise_for_status()
        return {"A2 answer with 100 tables": (time.perf_counter() - began) * 1_000}


def of_old_runs(browser: Browser, rounds: int) -> dict[str, list[float]]:
    """A home of many old runs: its list, with an empty cache, and a page in the middle of it."""
    found: dict[str, list[float]] = {"A23 list of 10,000 runs": [], "A23 page 50 of them": []}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        ended_runs(folder / ".seatunnel", OLD_RUNS)
        with server(folder) as (_, url):
            with client(url, folder) as http:
                after = cursor_of_runs(http, 49)
            for _ in range(rounds):
                context = context_of(browser, token_of(folder))
                found["A23 list of 10,000 runs"].append(of_runs(context, url)["A1 list of 105 runs"])
                found["A23 page 50 of them"].append(page_of_runs(context.pages[0], after))
                context.close()
    return found


PARTS: tuple[Callable[[BrowserContext, str], dict[str, float]], ...] = (
    of_runs,
    of_a_job,
    of_an_editor,
    of_tables,
    of_tabs,
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args(arguments)
    found: dict[str, list[float]] = {name: [] for name in BARS_MS}
    with tempfile.TemporaryDirectory() as directory, chromium() as browser:
        folder = Path(directory)
        sizes(folder / ".seatunnel")
        with server(folder) as (_, url), acting_driver(Home(folder / ".seatunnel"), "wide") as driver:
            long = RIGHT + "".join(f"# line {at} of a long job file\n" for at in range(2_000))
            with client(url, folder) as http:
                http.post("/api/v1/definitions", json={"id": "long", "text": long}).raise_for_status()
            for _ in range(given.rounds):
                taken = of_answers(url, folder) | of_changes(browser, url, folder, driver)
                for part in PARTS:
                    context = context_of(browser, token_of(folder))
                    taken |= part(context, url)
                    context.close()
                for name, value in taken.items():
                    found[name].append(value)
        found |= of_old_runs(browser, given.rounds)
    for name, values in found.items():
        print(f"{name:28} median {median(values):7.1f} ms   {min(values):.1f} - {max(values):.1f}")
    print(json.dumps({"benchmark": "page", "milliseconds": found}))
    for name, values in found.items():
        pairs.verdict(name, median(values), BARS_MS[name], at_most=True)


if __name__ == "__main__":
    main()
