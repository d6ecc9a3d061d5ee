"""A page that shows a job of a thousand tables while two hundred of them change each second (A6)."""

from __future__ import annotations

import random
import time
from dataclasses import asdict, dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page, expect

from e2e.page.acting_driver import ActingDriver

TABLES, CHANGES = 1_000, 200
SETTLE_SECONDS = 5
SCROLLED = 3_000
SCROLLED_ROW = 120  # in view after that
_SCROLL = """
top => {
  document.querySelector('[role=grid]').scrollTop = top;
  document.querySelector('[data-filter]').focus();
}
"""
_WATCH = """
() => {
  window.long = [];
  window.frames_ = [];
  window.shift = 0;
  new PerformanceObserver(list => window.long.push(...list.getEntries().map(one => one.duration)))
    .observe({type: 'longtask'});
  new PerformanceObserver(list => { for (const one of list.getEntries()) window.shift += one.value; })
    .observe({type: 'layout-shift'});
  let last = performance.now();
  const frame = now => { window.frames_.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}
"""
_SEEN = """
() => ({
  top: document.querySelector('[role=grid]').scrollTop,
  focused: document.activeElement?.hasAttribute('data-filter') ?? false,
  rows: document.querySelectorAll('.lines [role=row]').length,
  long: window.long, shift: window.shift, frames: window.frames_.sort((a, b) => a - b),
})
"""


@dataclass(frozen=True, slots=True)
class UnderChanges:
    """``busy``: part of a core of the main thread; ``longest_ms``: of its tasks, 0: none above 50 ms; ``grown_bytes``:
    of the heap, ``grown_nodes``: of the document, both after a collection; ``frame_ms``: the middle one and that of 99
    of 100; ``rows``: in the document; ``updates``: texts of the total that the page has shown."""

    seconds: float
    busy: float
    long_tasks: int
    longest_ms: float
    grown_bytes: int
    grown_nodes: int
    frame_ms: tuple[float, float]
    shift: float
    rows: int
    focused: bool
    scrolled: float
    updates: int

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def under_changes(page: Page, driver: ActingDriver, seconds: float) -> UnderChanges:
    """The figures of a page that is at the tables of the driver's job, after so many seconds of changes."""
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(TABLES + 1))
    rows, rng = [1_000] * TABLES, random.Random(6)
    page.evaluate(_SCROLL, SCROLLED)
    expect(page.locator(f'[aria-rowindex="{SCROLLED_ROW}"]')).to_contain_text("warehouse.")
    change_for(page, driver, rows, rng, SETTLE_SECONDS)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.evaluate(_WATCH)
    before = _collected(session)
    began = time.monotonic()
    updates = change_for(page, driver, rows, rng, seconds)
    spent = time.monotonic() - began
    busy = _metrics(session)["TaskDuration"] - before["TaskDuration"]
    seen, after = page.evaluate(_SEEN), _collected(session)
    session.detach()
    frames = seen["frames"]
    return UnderChanges(
        spent, busy / spent, len(seen["long"]), max(seen["long"], default=0.0),
        round(after["JSHeapUsedSize"] - before["JSHeapUsedSize"]), round(after["Nodes"] - before["Nodes"]),
        (frames[len(frames) // 2], frames[int(len(frames) * 0.99)]), seen["shift"], seen["rows"], seen["focused"],
        seen["top"], updates,
    )  # fmt: skip


def change_tables(driver: ActingDriver, rows: list[int], rng: random.Random) -> None:
    """Change two hundred tables, as a driver writes its counters."""
    for at in rng.sample(range(TABLES), CHANGES):
        rows[at] += rng.randrange(1, 5_000)
    driver.write_each(rows)


def change_for(page: Page, driver: ActingDriver, rows: list[int], rng: random.Random, seconds: float) -> int:
    """Change two hundred tables each second, as a driver writes its counters; return how many of these the page has
    shown."""
    shown: set[str] = set()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        change_tables(driver, rows, rng)
        page.wait_for_timeout(min(1.0, left) * 1_000)
        shown.add(page.locator(".lines [role=row]").all_inner_texts()[0])
    return len(shown)


def _collected(session: CDPSession) -> dict[str, float]:
    """After a collection: what is left is held."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    return _metrics(session)


def _metrics(session: CDPSession) -> dict[str, float]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
