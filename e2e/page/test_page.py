"""The page over runs of 1 to 10,000 tables: its size and speed, its keys, its states, its safety (A1 to A17)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site, rows
from e2e.page.homes import HOSTILE
from e2e.page.measured import answered, filtered, loaded, scrolled, serious

TABS = ("", "/tables", "/checkpoints", "/failures", "/state", "/quarantine", "/log", "/plan", "/lineage")
ANSWER_MS = 5_000
"""A tab that gets no connection waits without an end."""
Tab = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


def test_a1_the_list_of_jobs_is_small(site: Site, tab: Tab) -> None:
    """With 105 runs: requests, and bytes of scripts. `bench.page` has the times."""
    one = tab(site)
    page = one.open("")
    expect(rows(page)).to_have_count(50)
    assert len(one.requests) <= 8, one.requests
    assert 10_000 < loaded(page, ".js") <= 90_000


def test_a2_a_job_of_a_thousand_tables_is_small(site: Site, tab: Tab) -> None:
    """The overview and the list of tables: the size of each answer."""
    one = tab(site)
    answers: list[int] = []
    one.page.on("response", lambda answer: answers.append(int(answer.headers.get("content-length", 0))))
    page = one.open("jobs/thousand")
    expect(page.get_by_text("12 of 1,000 tables failed")).to_be_visible()
    expect(page.get_by_role("link", name="all 1,000")).to_be_visible()
    page.get_by_role("tab", name="Tables").click()
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "1001")
    assert 0 < max(answers) <= 150_000


@pytest.mark.parametrize("run", ["thousand", "ten-thousand"])
def test_a5_the_list_of_tables_scrolls(site: Site, tab: Tab, run: str) -> None:
    """U9: From end to end: rows in the document, and no place that stays without rows."""
    page = tab(site).open(f"jobs/{run}/tables")
    expect(page.get_by_text("billing.account", exact=False).first).to_be_visible()
    found = scrolled(page)
    assert found["most"] <= 60
    assert found["blank"] <= 6  # a frame each: the next one has the rows
    last = page.locator(f"[role=row][aria-rowindex='{1_001 if run == 'thousand' else 10_001}']")
    expect(last).to_be_visible()
    expect(last.locator(".c1")).not_to_be_empty()


def test_a8_ten_thousand_tables_are_filtered_as_one_types(site: Site, tab: Tab) -> None:
    """By text and by state; `bench.page` has the time."""
    page = tab(site).open("jobs/ten-thousand/tables")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "10001")
    assert filtered(page) is not None
    page.locator("[data-filter]").fill("state:isolated")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "32")
    page.locator("[data-filter]").fill("state:izolated")
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'ISOLATED'?")


def test_a12_a_table_is_found_by_keys_alone(site: Site, tab: Tab) -> None:
    """From the list of jobs to the cause of one of ten thousand tables, and back."""
    page = tab(site).open("")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("ten-thou")
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="lake refresh")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_role("grid")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("state:isolated")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "32")
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="table")
    expect(panel).to_be_focused()
    expect(panel.locator(".failed")).to_contain_text(panel.get_by_role("heading").first.inner_text())
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page.get_by_role("grid")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a13_axe_finds_nothing_serious(site: Site, tab: Tab, theme: str) -> None:
    """On each page and in both themes, contrast included."""
    one = tab(site, color_scheme=theme)
    paths = [
        "",
        *(f"jobs/thousand{part}" for part in TABS),
        "jobs/thousand/tables?q=state:isolated&table=crm.order_008",
    ]
    found: list[Any] = []
    for path in paths:
        page = one.open(path)
        expect(page.locator(".card").first).to_be_visible()
        page.wait_for_load_state("load")
        expect(page.locator(".loading, .awaited")).to_have_count(0)
        found += [(path, *each) for each in serious(page)]
    logged_out = tab(site, token=False, color_scheme=theme).open("")
    expect(logged_out.get_by_label("Token")).to_be_focused()
    assert found == []


def test_a14_each_view_has_a_state_for_what_goes_wrong(site: Site, tab: Tab) -> None:
    """Loading, an error with its remedy and a way to try again, no rights, no server, no run, no match."""
    page = tab(site).page
    page.route("**/api/v1/runs?*", lambda route: (time.sleep(0.6), route.continue_()))
    page.goto(site.url)
    expect(page.get_by_role("region", name="runs").get_by_role("status", name="loading")).to_be_visible()
    expect(rows(page)).to_have_count(50)
    page.unroute("**/api/v1/runs?*")

    problem = '{"detail": "an error in the server", "remedy": "the log has it", "request": "abc", "status": 500}'
    page.route("**/api/v1/**/failures*", lambda route: route.fulfill(status=500, body=problem))
    page.goto(f"{site.url}/jobs/thousand/failures")
    expect(page.get_by_role("alert")).to_contain_text("an error in the server")
    expect(page.get_by_role("alert")).to_contain_text("request abc")
    page.unroute("**/api/v1/**/failures*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("No failure of this run is recorded.")).to_be_visible()

    page.route(
        "**/api/v1/**/tables*", lambda route: route.fulfill(status=403, body=problem.replace("an error", "no right"))
    )
    page.goto(f"{site.url}/jobs/thousand/tables")
    expect(page.get_by_role("alert")).to_contain_text("no right")
    page.unroute("**/api/v1/**/tables*")
    page.route("**/api/v1/**/checkpoints*", lambda route: route.abort())
    page.goto(f"{site.url}/jobs/thousand/checkpoints")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/api/v1/**/checkpoints*")

    page.goto(f"{site.url}/jobs/no-such-run")
    expect(page.get_by_text("This home has no run of that id.")).to_be_visible()
    page.goto(f"{site.url}/jobs/one/no-such-tab")
    expect(page.get_by_text("There is no such page.")).to_be_visible()
    page.goto(f"{site.url}/?q=nothing-of-that-name")
    expect(page.get_by_text("No run matches the filter.")).to_be_visible()
    page.goto(f"{site.url}/jobs/thousand")
    expect(page.get_by_text("Not available: no graph and no plan of this run is stored.")).to_be_visible()


def test_a15_hostile_names_are_text(site: Site, tab: Tab) -> None:
    """T7: No dialog, no report of the content policy, no other request, no wider page; see also the fixture."""
    one = tab(site)
    page = one.open("?q=hostile")
    expect(rows(page)).to_have_count(1)
    for part in TABS:
        page = one.open(f"jobs/hostile{part}")
        expect(page.get_by_role("heading", name="<img src=x onerror=alert(1)>")).to_be_visible()
    page = one.open("jobs/hostile/tables")
    expect(rows(page)).to_have_count(len(HOSTILE))
    shown = " ".join(page.locator(".lines .c1").all_inner_texts())
    assert "<script>alert(2)</script>" in shown and "…" in shown and "\u202e" not in shown and "\u001b" not in shown
    for at in range(len(HOSTILE)):
        rows(page).nth(at).click()
        expect(page.get_by_role("complementary", name="table").locator(".facts")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelectorAll('main img, main script, main iframe').length") == 0
    page.evaluate("document.body.append(Object.assign(document.createElement('img'), {src: 'data:,x'}))")
    page.wait_for_function("window.seen.length > 0")  # the watch sees what the policy stops
    page.evaluate("window.seen.length = 0")


def test_a17_the_address_holds_the_view(site: Site, tab: Tab) -> None:
    """U12: Filter, order, tab and table: after a reload, in a pasted link, and after back."""
    one = tab(site)
    page = one.open("")
    page.get_by_role("button", name="some tables failed").click()
    page.get_by_label("order").select_option("rows")
    expect(rows(page).first).to_contain_text("lake refresh")
    before, address = rows(page).all_inner_texts(), page.url
    assert "state=SOME_TABLES_FAILED" in address and "sort=rows" in address
    page.reload()
    expect(rows(page).first).to_contain_text("lake refresh")
    assert [one.split("\n")[1] for one in rows(page).all_inner_texts()] == [one.split("\n")[1] for one in before]
    rows(page).nth(1).get_by_role("link").click()
    page.get_by_role("tab", name="Tables").click()
    page.locator("[data-filter]").fill("state:isolated")
    rows(page).nth(2).click()
    panel = page.get_by_role("complementary", name="table")
    expect(panel).to_be_visible()
    name = panel.get_by_role("heading").first.inner_text()
    other = tab(site).page
    other.goto(page.url)
    expect(other.get_by_role("complementary", name="table").get_by_role("heading").first).to_have_text(name)
    expect(other.locator("[data-filter]")).to_have_value("state:isolated")
    expect(other.get_by_role("grid")).to_have_attribute("aria-rowcount", "13")
    page.go_back()
    expect(panel).to_have_count(0)
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    assert page.url == address


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_no_width_makes_the_page_scroll_sideways(site: Site, tab: Tab, width: int) -> None:
    """Wide tables scroll in their own places."""
    one = tab(site, viewport={"width": width, "height": 800})
    for path in ("", "jobs/thousand", "jobs/thousand/tables", "jobs/twenty/plan", "jobs/hostile/tables"):
        page = one.open(path)
        expect(page.locator(".card").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_next_page_of_runs_is_a_page_of_the_server(site: Site, tab: Tab) -> None:
    """By the cursor, which the address holds."""
    page = tab(site).open("")
    expect(rows(page)).to_have_count(50)
    first = rows(page).first.inner_text()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("button", name="First page")).to_be_visible()
    expect(rows(page).first).not_to_contain_text(first.split("\n")[1])
    page.get_by_role("button", name="Next page").click()
    expect(rows(page)).to_have_count(5)
    page.get_by_role("button", name="First page").click()
    expect(rows(page).first).to_contain_text("customers")


def test_a11_many_tabs_of_one_browser_are_served(site: Site, tab: Tab) -> None:
    """U25: A browser opens six connections to a server: tabs without a stream ask, and the last one is as quick."""
    first = tab(site)
    pages = [first.open("")]
    for _ in range(8):
        pages.append(first.page.context.new_page())
        pages[-1].goto(f"{site.url}/jobs/twenty")
    for page in pages[1:]:
        expect(page.get_by_text("All 20 tables are done.")).to_be_visible()
    words = [page.locator(".light").inner_text() for page in pages]
    assert words.count("live") == 4 and words.count("every 3 s") == 5, words
    assert answered(pages[-1]) <= ANSWER_MS
    pages[0].close()
    first.page = pages[-1]
    until = time.monotonic() + 60
    while [page.locator(".light").inner_text() for page in pages[1:]].count("live") < 4:
        assert time.monotonic() < until
        pages[-1].wait_for_timeout(200)


def test_a24_the_page_works_below_a_path_of_a_proxy(site: Site, tab: Tab) -> None:
    """A proxy that takes `/tools/seatunnel` off: each address of the page, its scripts and its data are below it."""
    with proxied(site.url, "/tools/seatunnel") as url:
        one = tab(Site(f"{url}/tools/seatunnel", site.token, site.folder))
        page = one.open("jobs/thousand/tables")
        expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "1001")
        page.get_by_role("link", name="SeaTunnel").click()
        expect(rows(page)).to_have_count(50)
        assert page.url == f"{url}/tools/seatunnel/"
        assert one.foreign == []


def proxied(target: str, prefix: str) -> Any:
    """A proxy on another port that takes this prefix off, as a context."""
    from contextlib import contextmanager
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            if not self.path.startswith(prefix):
                self.send_error(404)
                return
            names = ("authorization", "accept", "accept-encoding")
            headers = {name: self.headers[name] for name in names if self.headers[name]}
            with httpx.stream(
                "GET", target + self.path.removeprefix(prefix), headers=headers, trust_env=False
            ) as found:
                self.send_response(found.status_code)
                for name, value in found.headers.items():
                    if name not in ("transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.end_headers()
                try:
                    for part in found.iter_raw():
                        self.wfile.write(part)
                        self.wfile.flush()
                except (OSError, httpx.HTTPError):
                    return  # the page, or the server at the end of the file, has gone

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the server has its own log."""

    @contextmanager
    def running() -> Iterator[str]:
        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
            found.daemon_threads = True
            threading.Thread(target=found.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{found.server_port}"
            found.shutdown()

    return running()
