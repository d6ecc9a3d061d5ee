"""The lineage of a run on the page: its target tables, and which source columns each of their columns depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site, rows
from e2e.page.homes import HOSTILE, of_tables
from e2e.page.lineages import hostile, many, shop, wide, with_lineage
from e2e.page.measured import serious
from e2e.server.running import server, token_of
from seatunnel_py.runtime.storage.home import Home

Tab = Callable[..., Visit]
GUESSED, FACTS = "PostgreSQL table lake.guessed", "PostgreSQL table lake.facts"
DRAWN_MAX = 400
"""Elements of a picture, however many columns its table has."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lineages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over runs with and without a stored lineage."""
    folder = tmp_path_factory.mktemp("lineages")
    home = Home(folder / ".seatunnel")
    with_lineage(home, "shop", [shop()])
    with_lineage(home, "wide", [wide(unknown=False), wide(unknown=True)])
    with_lineage(home, "thousand", many(1_000))
    with_lineage(home, "hostile", [hostile()])
    of_tables(home, "old", 3, 0, 900)
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def spot(page: Page, name: str, side: str = "columns of the target") -> Locator:
    """A column on one side of the picture."""
    shown = page.get_by_role("listbox", name=side, exact=True).get_by_role("option")
    return shown.filter(has=page.get_by_text(name, exact=True))


def lit(page: Page) -> list[str]:
    """The columns that are highlighted."""
    return page.locator(".spot.lit bdi").all_inner_texts()


def lines(page: Page) -> list[str]:
    """The looks of the highlighted lines."""
    return [one.get_attribute("class") or "" for one in page.locator(".flow-line.lit").all()]


def test_a_column_shows_what_it_depends_on(lineages: Site, tab: Tab) -> None:
    """And what depends on it: by a pointer for a while, by a click for a link. The only table is shown at once."""
    one = tab(lineages)
    page = one.open("jobs/shop")
    before = len(one.requests)
    page.get_by_role("tab", name="Lineage").click()
    expect(page.get_by_role("heading", name="PostgreSQL table sales.orders")).to_be_visible()
    assert any("/assets/later" in each for each in one.requests[before:])  # its scripts come with it
    expect(page.locator(".flow-line:not(.lit)")).to_have_count(4 + 4)  # of each kind, in the legend too

    spot(page, "amount").hover()
    expect(page.locator(".spot.lit")).to_have_count(3)
    assert lit(page) == ["discount_cents", "total_cents", "amount"]
    assert lines(page) == ["flow-line line-made lit"]
    expect(page.locator(".flow-about")).to_contain_text("amount is made of")
    page.mouse.move(0, 0)
    expect(page.locator(".spot.lit")).to_have_count(0)
    spot(page, "customer_id", "source columns").click()
    expect(page.locator(".spot.lit")).to_have_count(4)
    assert sorted(lines(page)) == ["flow-line line-decides lit", "flow-line line-same lit"]
    spot(page, "risk_score").hover()
    expect(page.locator(".flow-about")).to_contain_text("a step that does not declare its columns")
    assert lines(page) == ["flow-line line-unknown lit"]
    expect(spot(page, "email_hash")).to_have_accessible_name("email_hash (masked: email of crm.customers)")

    other = tab(lineages).page
    other.goto(page.url)
    expect(spot(other, "customer_id", "source columns")).to_have_attribute("aria-selected", "true")
    assert sorted(lit(other)) == sorted(["which rows come out", "customer_id", "customer_id", "customer_revenue"])
    other.get_by_role("button", name="customer_revenue").click()
    expect(spot(other, "customer_revenue")).to_have_attribute("aria-selected", "true")
    assert "column=customer_revenue" in other.url and "from=" not in other.url


def test_the_picture_is_walked_by_keys(lineages: Site, tab: Tab) -> None:
    """From the list of tables to a column, to one that it depends on, and back; the list has the same as text."""
    page = tab(lineages).open("jobs/thousand")
    expect(page.get_by_role("tab", name="Lineage")).to_be_visible()
    page.keyboard.press("9")
    grid = page.get_by_role("grid", name="target tables")
    expect(grid).to_have_attribute("aria-rowcount", "1001")
    page.keyboard.press("/")
    page.keyboard.type("web.product_013")
    expect(grid).to_have_attribute("aria-rowcount", "2")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="lineage of the table")).to_be_focused()
    sources, targets = (page.get_by_role("listbox", name=name) for name in ("source columns", "columns of the target"))
    targets.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(spot(page, "amount")).to_have_class("spot lit walked")
    page.keyboard.press("ArrowLeft")
    expect(sources).to_be_focused()
    expect(sources).to_have_attribute("aria-activedescendant", "spot-s0.2")
    expect(page.locator("#spot-s0\\.2")).to_have_accessible_name("amount (used by amount: as it is)")
    page.keyboard.press("Enter")
    assert "column=amount" in page.url and "from=web.product_013" in page.url
    page.keyboard.press("Escape")
    assert "column=" not in page.url
    page.keyboard.press("Escape")
    expect(grid).to_be_focused()
    expect(targets).to_have_count(0)
    page.goto(f"{lineages.url}/jobs/shop/lineage?as=list")
    use = rows(page).filter(has_text="email_hash")
    expect(use).to_have_text("email_hash maskedemailcrm.customerscustomers")


def test_a_thousand_target_tables_are_a_list_that_scrolls(lineages: Site, tab: Tab) -> None:
    """Only those in view are asked for and drawn; the address has filter and table; back closes the table."""
    one = tab(lineages)
    page = one.open("jobs/thousand/lineage")
    expect(rows(page).first).to_contain_text("billing.account_000")
    page.get_by_role("grid").evaluate("(one) => { one.scrollTop = one.scrollHeight; }")
    last = page.locator("[role=row][aria-rowindex='1001']")
    expect(last).to_contain_text("web.product_0")
    assert rows(page).count() <= 60
    assert sum("lineage?" in each for each in one.requests) <= 3
    page.locator("[data-filter]").first.fill("crm.invoice_01")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "5")
    rows(page).nth(1).click()
    expect(page.get_by_role("heading", name="Parquet lake/crm.invoice_011")).to_be_visible()
    assert "q=crm.invoice_01" in page.url and "target=Parquet" in page.url
    page.go_back()
    expect(page.get_by_role("listbox")).to_have_count(0)
    page.goto(f"{lineages.url}/jobs/thousand/lineage?target=gone")
    expect(page.get_by_role("alert")).to_contain_text("the run writes no such table")
    page.get_by_role("button", name="Show all tables").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_table_of_300_columns_stays_small(lineages: Site, tab: Tab) -> None:
    """Of rows and lines only those in view are drawn; a link to its end is in view; 90,000 unknown uses are one line,
    and one more for the column that is pointed at."""
    page = tab(lineages).open(f"jobs/wide/lineage?target={FACTS}&column=measure_290")
    expect(spot(page, "measure_290")).to_be_in_viewport()
    assert page.locator(".flow *").count() <= DRAWN_MAX
    spot(page, "measure_285").click()  # a click scrolls nothing
    expect(spot(page, "measure_285")).to_have_attribute("aria-selected", "true")
    expect(spot(page, "measure_290")).to_be_in_viewport()
    page.get_by_role("listbox", name="columns of the target").focus()
    page.keyboard.press("Home")
    expect(spot(page, "measure_000")).to_be_in_viewport()
    page.locator("[data-filter=columns]").fill("_29")
    expect(page.locator(".flow-target .spot")).to_have_count(10)
    page.goto(f"{lineages.url}/jobs/wide/lineage?target={GUESSED}&column=measure_003")
    expect(page.locator(".flow-line.lit")).to_have_count(1)
    expect(page.locator(".flow-about")).to_contain_text("and 288 more")
    assert page.locator(".flow *").count() <= DRAWN_MAX


def test_axe_finds_nothing_serious_in_lineages(lineages: Site, tab: Tab) -> None:
    """In the picture with a chosen column, with names that try to be more than text, and in the list; in both themes."""
    one = tab(lineages, color_scheme="light")
    found = []
    for path in ("shop/lineage?column=amount", "hostile/lineage", "shop/lineage?as=list"):
        page = one.open(f"jobs/{path}")
        expect(page.locator(".flow-card, .use-lines").first).to_be_visible()
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            found += serious(page)
    assert found == []


def test_a_run_without_a_lineage_says_why(lineages: Site, tab: Tab) -> None:
    """In a sentence with the command that shows it; hostile names are text, and no width scrolls sideways."""
    page = tab(lineages).open("jobs/old/lineage")
    expect(page.get_by_text("No lineage of this run is stored.")).to_be_visible()
    expect(page.locator("code")).to_have_text("seatunnel plan FILE --column-lineage")
    for width in (390, 1280):
        page = tab(lineages, viewport={"width": width, "height": 800}).open("jobs/hostile/lineage")
        expect(page.get_by_role("heading", name=HOSTILE[1])).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("main img, main script").count() == 0


def test_paper_and_forced_colours_have_the_whole_lineage(lineages: Site, tab: Tab) -> None:
    """Paper has the picture of a small table, and the list of each; a chosen column is told apart without colours."""
    page = tab(lineages).open(f"jobs/wide/lineage?target={FACTS}")
    expect(spot(page, "measure_000")).to_be_visible()
    count = "addEventListener('beforeprint', () => { window.printed = ['.use-lines .lines .line', '.spot'].map((one) => document.querySelectorAll(one).length); })"
    page.evaluate(count)
    page.pdf()
    assert page.evaluate("window.printed") == [300, 0]
    page = tab(lineages, forced_colors="active").open("jobs/shop/lineage?column=amount")
    expect(spot(page, "amount")).to_have_css("outline-style", "solid")
    expect(spot(page, "currency")).to_have_css("outline-style", "none")
    page.evaluate(count)
    page.pdf()
    assert page.evaluate("window.printed") == [16, 28]
