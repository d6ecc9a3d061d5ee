"""A page in Chromium that shows a job of 1,000 tables, of which 200 change each second, for ten minutes (A6).

python -m bench.page_changes [--minutes 10]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import expect

from bench import pairs
from e2e.page.acting_driver import many_tables
from e2e.page.browser import chromium, context_of, visit
from e2e.page.many_changes import SCROLLED, TABLES, UnderChanges, under_changes
from e2e.server.running import server, token_of
from seatunnel_py.runtime.storage.home import Home

BUSY_MAX, TASK_MS_MAX, HEAP_BYTES_MAX = 0.15, 50.0, 5_000_000


def measured(minutes: float) -> UnderChanges:
    """One page, one server, one driver."""
    with tempfile.TemporaryDirectory() as directory, chromium() as browser:
        folder = Path(directory)
        with many_tables(Home(folder / ".seatunnel"), "many", TABLES) as driver, server(folder) as (_, url):
            page = visit(context_of(browser, token_of(folder)), url).open("jobs/many/tables")
            expect(page.locator(".light")).to_have_text("live")
            found = under_changes(page, driver, minutes * 60)
            expect(page.locator(".light")).to_have_text("live")
            return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page_changes", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    found = measured(parser.parse_args(arguments).minutes)
    tasks = f"{found.long_tasks} tasks above 50 ms (longest {found.longest_ms:.0f} ms)"
    print(f"{found.seconds:.0f} s: main thread {found.busy:.1%} of a core, {tasks}")
    print(f"frames {found.frame_ms[0]:.1f} ms, 99 of 100 {found.frame_ms[1]:.1f} ms; {found.updates} updates seen")
    print(f"heap {found.grown_bytes / 1e6:+.2f} MB, nodes {found.grown_nodes:+d}, rows in the document {found.rows}")
    print(json.dumps({"benchmark": "page_changes", **found.plain()}))
    pairs.verdict("A6 main thread, part of a core", found.busy, BUSY_MAX, at_most=True)
    pairs.verdict("A6 longest task, ms", found.longest_ms, TASK_MS_MAX, at_most=True)
    pairs.verdict("A6 growth of the heap, bytes", found.grown_bytes, HEAP_BYTES_MAX, at_most=True)
    assert found.focused and found.scrolled == SCROLLED, "the focus or the place in the list has moved"


if __name__ == "__main__":
    main()
