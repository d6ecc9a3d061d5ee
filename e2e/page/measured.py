"""Figures that the page gives of itself: frames, times, bytes. Tests look at rows and bytes, `bench.page` at times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "page/node_modules/axe-core/axe.min.js"

USABLE = """
new MutationObserver((_, own) => {
  if (document.querySelector('.runs tbody tr')) { window.usable = performance.now(); own.disconnect(); }
}).observe(document, {childList: true, subtree: true})
"""
"""For a script that each page begins with: `window.usable` is the time when the list of runs is there."""
_RUNS = """
async after => {
  const began = performance.now();
  await (await fetch(`api/v1/runs?limit=50&after=${after}`)).json();
  return performance.now() - began;
}
"""
_LOADED = """
ending => performance.getEntriesByType('resource').filter(one => one.name.endsWith(ending))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)
"""
_SCROLLED = """
async () => {
  const box = document.querySelector('[role=grid]');
  const frames = [], blank = [];
  let most = 0, last = performance.now();
  const jumps = 40, jump = (box.scrollHeight - box.clientHeight) / jumps;
  for (let at = 1; at <= 120 + jumps; at += 1) {
    box.scrollTop = at <= 120 ? at * 84 : (at - 120) * jump;
    await new Promise(requestAnimationFrame);
    if (at <= 120) frames.push(performance.now() - last);
    last = performance.now();
    const shown = box.querySelectorAll('.lines [role=row]');
    most = Math.max(most, shown.length);
    const edges = [...shown].map((one) => one.getBoundingClientRect());
    const [head, view] = [box.querySelector('.line-head').getBoundingClientRect(), box.getBoundingClientRect()];
    blank.push(!edges.some((one) => one.top <= head.bottom) || !edges.some((one) => one.bottom >= view.bottom - 2));
  }
  return { frames: frames.sort((a, b) => a - b), most, blank: blank.filter(Boolean).length };
}
"""
_FILTERED = """
async () => {
  const field = document.querySelector('[data-filter]');
  const began = performance.now();
  field.value = 'crm.order_1';
  field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  for (;;) {
    await new Promise(requestAnimationFrame);
    const first = document.querySelector('.lines .c1')?.textContent ?? '';
    if (first.startsWith('crm.order_1')) return performance.now() - began;
    if (performance.now() - began > 5000) return null;
  }
}
"""
_ANSWERED = """
async () => {
  const began = performance.now();
  await (await fetch('../api/v1/runs')).json();
  return performance.now() - began;
}
"""
_AWAITED = """
text => {
  window.seenAt = 0;
  const place = [...document.querySelectorAll('.fact')].find((one) => one.querySelector('dt').textContent === 'rows read').querySelector('dd');
  new MutationObserver((_, own) => {
    if (place.textContent !== text) return;
    own.disconnect();
    requestAnimationFrame(() => { window.seenAt = Date.now(); });
  }).observe(place, {childList: true, characterData: true, subtree: true});
}
"""
PLACES = """
() => [...document.querySelectorAll('.drawing .node, .drawing .edge path')]
  .map((one) => `${one.getAttribute('transform')} ${one.getAttribute('d')} ${JSON.stringify(one.getBoundingClientRect().toJSON())}`)
"""
"""Of the nodes of a graph, and of its edges, whose width follows their rows."""


def loaded(page: Page, ending: str) -> int:
    """Bytes of the scripts or styles that the page has loaded, as they were sent."""
    found: int = page.evaluate(_LOADED, ending)
    return found


def scrolled(page: Page) -> dict[str, Any]:
    """The list of tables from end to end: ``frames`` in milliseconds, sorted; ``most`` rows in the document; ``blank``:
    frames with a place without rows."""
    found: dict[str, Any] = page.evaluate(_SCROLLED)
    return found


def filtered(page: Page) -> float | None:
    """Milliseconds from a typed filter to its first rows; none if they do not come."""
    found: float | None = page.evaluate(_FILTERED)
    return found


def answered(page: Page) -> float:
    """Milliseconds until a tab of a job has the list of runs."""
    found: float = page.evaluate(_ANSWERED)
    return found


def serious(page: Page) -> list[Any]:
    """The serious and critical faults that axe finds on the page, each with its first elements."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    shown = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    bad = [one for one in shown["violations"] if one["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:150] for node in each["nodes"][:3]]) for each in bad]


def busy(page: Page, act: Callable[[], object]) -> float:
    """Milliseconds of the main thread while this is done."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def spent() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    before = spent()
    act()
    took = (spent() - before) * 1_000
    session.detach()
    return took


def cursor_of_runs(http: httpx.Client, pages: int) -> str:
    """The cursor of the list of runs after so many pages of 50."""
    after = ""
    for _ in range(pages):
        after = http.get("/api/v1/runs", params={"limit": 50, "after": after}).raise_for_status().json()["next"]
    return after


def page_of_runs(page: Page, after: str) -> float:
    """Milliseconds until the page of the list of runs after a cursor is there, from the page at the root."""
    found: float = page.evaluate(_RUNS, after)
    return found


def busy_per_key(page: Page, text: str) -> float:
    """Milliseconds of the main thread for each key of a text that is typed where the focus is."""
    return busy(page, lambda: page.keyboard.type(text)) / len(text)


def seen_after(page: Page, text: str, write: Callable[[], float]) -> float:
    """Milliseconds from the time that ``write`` returns, which stands in a file of the driver, until the rows read are
    on the screen with this text."""
    page.evaluate(_AWAITED, text)
    written = write()
    page.wait_for_function("() => window.seenAt > 0", timeout=10_000)
    return float(page.evaluate("window.seenAt")) - written * 1_000
