"""The page on paper, in forced colours, at 200 % and with wider text (A27)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.page.acting_driver import acting_driver
from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site, rows
from seatunnel_py.runtime.storage.home import Home

Tab = Callable[..., Visit]
PATHS = ("", "jobs/thousand", "jobs/thousand/tables", "jobs/thousand/failures", "jobs/twenty/log", "catalogue")
SETTLED_MS = 200
ZOOMED = {"viewport": {"width": 640, "height": 360}, "device_scale_factor": 2}
CONTROLS = "a[href], button, input, select, textarea, summary"
_NAMES = """
wanted => [...document.querySelectorAll(wanted)].filter((one) => one.checkVisibility() && !one.closest('.skip, dialog'))
  .map((one) => `${one.localName} ${one.getAttribute('aria-label') || one.textContent}`.replace(/\\d+ (s|min) ago/, ''))
"""
_COVERED = """
wanted => [...document.querySelectorAll(wanted)].filter((one) => one.checkVisibility() && !one.closest('.skip, dialog'))
  .filter((one) => {
    one.scrollIntoView({block: 'nearest', inline: 'nearest'});
    const box = one.getClientRects()[0];
    const [x, y] = [box.left + Math.min(box.width / 2, 8), box.top + box.height / 2];
    const found = document.elementFromPoint(x, y);
    return !found || !(one.contains(found) || found.contains(one) && one.closest('label'));
  }).map((one) => one.outerHTML.slice(0, 200))
"""
_CUT = """
() => [...document.querySelectorAll('main *, header *')].filter((one) => {
  const style = getComputedStyle(one);
  if (!one.checkVisibility() || one.closest('.unseen, .cm-editor, svg') || !one.textContent.trim()) return false;
  if (!['hidden', 'clip'].includes(style.overflowY)) return false;
  return one.scrollHeight > one.clientHeight + 2;
}).map((one) => one.outerHTML.slice(0, 200))
"""
_UNSEEN = """
() => {
  const probe = document.body.appendChild(Object.assign(document.createElement('i'), {style: 'color: Canvas'}));
  const ground = getComputedStyle(probe).color;
  probe.remove();
  return [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() && !one.closest('dialog') && getComputedStyle(one).forcedColorAdjust === 'auto')
    .filter((one) => [...one.childNodes].some((part) => part.nodeType === 3 && part.textContent.trim()))
    .filter((one) => getComputedStyle(one).color === ground).map((one) => one.outerHTML.slice(0, 200));
}
"""
_CONTRASTS = """
() => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  return [...document.querySelectorAll('.node')].flatMap((node) => {
    const ground = getComputedStyle(node.querySelector('rect')).fill;
    return [...node.querySelectorAll('text')].map((one) => ratio(getComputedStyle(one).fill, ground));
  });
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


def shown(one: Visit, path: str) -> Page:
    """A page that has all that it asks for."""
    page = one.open(path)
    expect(page.locator(".card").first).to_be_visible()
    page.wait_for_load_state("load")
    expect(page.locator(".loading, .awaited")).to_have_count(0)
    return page


def sheets(page: Page) -> int:
    """How many sheets of paper the page takes."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))


def settled_count(page: Page) -> int:
    """How many rows the list shows, once its window has its final height."""
    counts = [-1, -2]
    while counts[-1] != counts[-2]:
        page.wait_for_timeout(SETTLED_MS)
        counts.append(rows(page).count())
    return counts[-1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a27_print_has_the_whole_list(site: Site, tab: Tab, theme: str) -> None:
    """A thousand tables, of which the screen has some fifty: each is on paper, dark on white, and the screen afterwards
    is as it was."""
    page = shown(tab(site, color_scheme=theme), "jobs/thousand/tables")
    expect(rows(page).first).to_be_visible()
    before = settled_count(page)
    assert 0 < before < 100
    page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = [...document.querySelectorAll('.lines .c1')].map((one) => one.textContent); })"
    )
    assert sheets(page) >= 20
    printed = page.evaluate("window.printed")
    assert len(printed) == len(set(printed)) == 1_000
    expect(rows(page)).to_have_count(before)
    page.locator("[data-filter]").fill("state:isolated")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "13")
    assert sheets(page) <= 2
    assert len(page.evaluate("window.printed")) == 12
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).color") == "rgb(23, 32, 42)"
    assert page.evaluate(_CUT) == []
    assert page.locator("button:visible:not(.chip), input:visible, select:visible").count() == 0


def test_a27_a_print_that_the_server_does_not_answer_shows_what_is_there(site: Site, tab: Tab) -> None:
    """It is on paper that the list is not whole."""
    page = shown(tab(site), "jobs/thousand/tables")
    expect(rows(page).first).to_be_visible()
    page.route("**/tables?*limit=200*", lambda route: route.abort())
    page.evaluate(
        "addEventListener('beforeprint', () => { window.part = document.querySelector('.printed-part').textContent; })"
    )
    page.pdf()
    assert page.evaluate("window.part") == "The first 0 tables of 1,000: filter the list to print others."


@pytest.mark.parametrize("path", PATHS)
def test_a27_paper_cuts_nothing(site: Site, tab: Tab, path: str) -> None:
    """No box that scrolls on the screen has a part that is not on paper."""
    page = shown(tab(site, viewport={"width": 1040, "height": 700}), path)
    page.emulate_media(media="print")
    assert page.evaluate(_CUT) == []
    hidden = "() => [...document.querySelectorAll('main *')].filter((one) => one.checkVisibility() && /auto|scroll/.test(getComputedStyle(one).overflow) && one.scrollHeight > one.clientHeight + 2).map((one) => one.className)"
    assert page.evaluate(hidden) == []


@pytest.mark.parametrize("path", PATHS)
def test_a27_zoom_of_200_percent_loses_nothing(site: Site, tab: Tab, path: str) -> None:
    """A window of 1,280 by 720 at 200 %: each control of the whole size is there, and none is covered or outside."""
    whole = shown(tab(site), path).evaluate(_NAMES, CONTROLS)
    page = shown(tab(site, **ZOOMED), path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    found = page.evaluate(_NAMES, CONTROLS)
    assert whole and [one for one in whole if one not in found] == []
    assert page.evaluate(_COVERED, CONTROLS) == []
    assert page.evaluate(_CUT) == []


@pytest.mark.parametrize("path", PATHS)
def test_a27_wider_text_is_not_cut(site: Site, tab: Tab, path: str) -> None:
    """The distances of text that readers may set: lines of 1.5, letters of 0.12, words of 0.16."""
    page = shown(tab(site), path)
    page.evaluate(
        "() => { for (const one of document.querySelectorAll('body *')) one.style.cssText += ';line-height:1.5!important;letter-spacing:.12em!important;word-spacing:.16em!important'; }"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 1_280
    assert page.evaluate(_CUT) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a27_forced_colours_hide_no_state(site: Site, tab: Tab, theme: str) -> None:
    """The chosen tab, filter and row, the shares of a bar and the steps of a graph can be told apart."""
    page = shown(tab(site, forced_colors="active", color_scheme=theme), "jobs/thousand")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    look = "(one) => { const style = getComputedStyle(one); return [style.backgroundColor, style.backgroundImage, style.borderBottomColor, style.outlineStyle].join(); }"
    assert page.evaluate(_UNSEEN) == []
    chosen = page.locator(".tabs [aria-selected=true]").evaluate(look)
    assert chosen not in [each.evaluate(look) for each in page.locator(".tabs [aria-selected=false]").all()]
    parts = page.locator(".segments.wide").first.locator(".segment")
    looks = [each.evaluate(look) for each in parts.all()]
    assert len(looks) == len(set(looks)) == 2
    assert page.evaluate(_CUT) == []
    with acting_driver(Home(site.folder / ".seatunnel"), "wide"):
        page = shown(tab(site, forced_colors="active", color_scheme=theme), "jobs/wide")
        expect(page.locator(".drawing .node")).to_have_count(50)
        assert min(page.evaluate(_CONTRASTS)) >= 4.5
    page = shown(tab(site, forced_colors="active", color_scheme=theme), "jobs/thousand/tables?q=state:isolated")
    chips = {each.get_attribute("aria-pressed"): each.evaluate(look) for each in page.locator(".chip").all()}
    assert chips["true"] != chips["false"]
    rows(page).nth(1).click()
    expect(page.get_by_role("complementary", name="table")).to_be_visible()
    assert rows(page).nth(1).evaluate(look) != rows(page).nth(3).evaluate(look)
    assert page.evaluate(_COVERED, CONTROLS) == []
