"""The memory of a page that stays open: a job of 1,000 tables, of which 200 change each second (issue 26, bar 6).

    python -m bench.page_memory [--minutes 60]

The browser runs without a debugger, which would keep the answers of the server in the page's process: Playwright logs
in, opens the page and leaves. The figure is the anonymous memory of the largest renderer process. It holds the page's
heap, its document and what was drawn of it.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from bench import pairs
from e2e.page.acting_driver import many_tables
from e2e.page.browser import WORDS
from e2e.page.many_changes import TABLES, change_tables
from e2e.server.running import server, token_of
from seatunnel_py.runtime.storage.home import Home
from tests.servers.chromium import find
from tests.servers.process_tree import descendants, kill_tree, memory_mb

PAGE_MB_MAX = 150.0
START_SECONDS_MAX = 30.0


@contextmanager
def browser(folder: Path) -> Iterator[tuple[int, str]]:
    """A browser of its own; its process and the address of its debugger."""
    words = [str(find()), "--headless", "--remote-debugging-port=0", f"--user-data-dir={folder}", *WORDS]
    process = subprocess.Popen([*words, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS_MAX
        while not (place := folder / "DevToolsActivePort").exists():
            assert time.monotonic() < until, "the browser does not start"
            time.sleep(0.1)
        yield process.pid, f"http://127.0.0.1:{place.read_text().split()[0]}"
    finally:
        kill_tree(process)


def open_page(debugger: str, url: str, token: str) -> None:
    """Log in, open the tables of the job, and leave the browser to itself."""
    with sync_playwright() as playwright:
        context = playwright.chromium.connect_over_cdp(debugger).contexts[0]
        page = context.pages[0]
        page.goto(f"{url}/jobs/many/tables")
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(TABLES + 1))


def page_mb(process: int) -> float:
    """The memory of the largest renderer below a browser."""
    return max(memory_mb(pid, "RssAnon") or 0.0 for pid in descendants(process) if _is_renderer(pid))


def _is_renderer(pid: int) -> bool:
    with suppress(OSError):
        return b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page_memory", description=__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    minutes = parser.parse_args(arguments).minutes
    rows, rng, found = [1_000] * TABLES, random.Random(6), []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        folder = Path(directory)
        with (
            many_tables(Home(folder / ".seatunnel"), "many", TABLES) as driver,
            server(folder) as (_, url),
            browser(folder / "browser") as (process, debugger),
        ):
            open_page(debugger, url, token_of(folder))
            for minute in range(1, minutes + 1):
                until = time.monotonic() + 60.0
                while time.monotonic() < until:
                    change_tables(driver, rows, rng)
                    time.sleep(1.0)
                found.append(round(page_mb(process), 1))
                if minute in (1, 2, 5) or minute % 10 == 0:
                    print(f"after {minute} min: {found[-1]:.0f} MB", flush=True)
    print(json.dumps({"benchmark": "page memory", "megabytes": found}))
    pairs.verdict(f"memory of the page after {minutes} min, MB", found[-1], PAGE_MB_MAX, at_most=True)


if __name__ == "__main__":
    main()
