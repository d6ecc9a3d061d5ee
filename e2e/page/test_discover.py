"""From a connection to a job file in the editor, with a PostgreSQL of 300 tables (A18, U14)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect
from psycopg import sql

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.measured import serious
from e2e.server.running import client, server, token_of
from e2e.support import SEATUNNEL
from tests.servers.postgres import PostgresServer

CANARY = "canary-hunter2-password"
TABLES = 300
SHOP = sorted(f"shop_{at:03}" for at in range(0, TABLES, 30))
NAMES = sorted(SHOP + [f"other_{at:03}" for at in range(TABLES) if at % 30])
JOB_SECONDS = 90_000
Tab = Callable[..., Visit]


@dataclass
class Acts:
    """Does one act after another in a page, and counts them."""

    page: Page
    done: list[str] = field(default_factory=list)

    def fill(self, label: str, text: str) -> None:
        self.done.append(f"fill {label}")
        self.page.get_by_label(label, exact=True).fill(text)

    def press(self, key: str) -> None:
        self.done.append(f"press {key}")
        self.page.keyboard.press(key)

    def click(self, button: str) -> None:
        self.done.append(f"click {button}")
        self.page.get_by_role("button", name=button).click()

    def filter(self, text: str, listed: int) -> None:
        """Type into the filter, and go on to the list."""
        self.fill("filter tables by words or patterns", text)
        expect(self.page.locator(".list-end")).to_contain_text(f" {listed} listed")
        self.press("Enter")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def shop(postgres: PostgresServer) -> str:
    """The address of a database of 300 tables."""
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE three_hundred")
    with psycopg.connect(postgres.dsn_of("three_hundred"), autocommit=True) as connection:
        for name in NAMES:
            made = sql.SQL("CREATE TABLE {} (id bigint PRIMARY KEY, name text)").format(sql.Identifier(name))
            connection.execute(made)
            connection.execute(sql.SQL("INSERT INTO {} VALUES (1, 'one')").format(sql.Identifier(name)))
    return postgres.jdbc_url("three_hundred")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server whose job files may refer to one variable."""
    folder = tmp_path_factory.mktemp("discover")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_PASSWORD", CANARY)
        with server(folder, "--allowed-env", "SHOP_PASSWORD") as (_, url):
            yield Site(url, token_of(folder), folder)


def listed(page: Page, shop: str) -> Acts:
    """The tables of the database are in view."""
    acts = Acts(page)
    acts.fill("url", shop)
    acts.fill("username", "postgres")
    acts.fill("password", "${env:SHOP_PASSWORD}")
    acts.click("List tables")
    expect(page.locator(".list-end")).to_have_text("300 tables, 300 listed, 0 chosen")
    return acts


def discard(page: Page) -> None:
    page.get_by_role("button", name="Discard").click()


def text_of(page: Page, asked: list[dict[str, Any]]) -> str:
    """The text that the server has made last. The page may show it before the test has the answer."""
    for _ in range(200):
        if asked:
            break
        page.wait_for_timeout(50)
    found: str = asked[-1]["text"]
    return found


def answers(page: Page, path: str) -> list[dict[str, Any]]:
    """Every answer for that path, as they come."""
    found: list[dict[str, Any]] = []
    page.on("response", lambda one: found.append(one.json()) if one.url.endswith(path) and one.ok else None)
    return found


def test_a18_ten_of_300_tables_become_a_run_in_twelve_acts(own: Site, tab: Tab, shop: str) -> None:
    """U14: Choose those that match `shop_*` with one key, get the text, check, run: each act is counted."""
    page = tab(own).open("discover")
    made = answers(page, "discover/job")
    acts = listed(page, shop)
    acts.filter("shop_*", 10)
    acts.press("a")
    expect(page.locator(".list-end")).to_contain_text("10 chosen")
    acts.click("Open in the editor")
    expect(page.locator(".cm-content")).to_contain_text("shop_000")
    expect(page.get_by_text("not saved")).to_be_visible()
    expect(page.get_by_role("tabpanel").get_by_role("status")).not_to_have_text("Checking…")
    expect(page.locator(".problems li")).to_have_count(0)
    text = text_of(page, made)
    acts.fill("name of the job file", "ten")
    acts.done.append("click Plan")
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator(".plan-sentence")).to_contain_text("10 tables")
    acts.click("Save and start")
    expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
    assert len(acts.done) <= 12, acts.done
    assert checked(own, text) and [name for name in NAMES if f".{name}" in text] == SHOP
    with client(own.url, own.folder) as http:
        run = http.get("/api/v1/runs").json()["runs"][0]["job_id"]
        tables = http.get(f"/api/v1/runs/{run}/tables").json()["tables"]
    assert [(one["table"].rpartition(".")[2], one["rows_read"]) for one in tables] == [(name, 1) for name in SHOP]


def checked(site: Site, text: str) -> bool:
    """Whether a text passes `seatunnel check`."""
    file = site.folder / "found.conf"
    file.write_text(text, encoding="utf-8")
    environment = {**os.environ, "SHOP_PASSWORD": CANARY}
    words = [*SEATUNNEL, "check", str(file)]
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0


def test_u14_290_of_300_tables_are_two_filters_and_two_keys(own: Site, tab: Tab, shop: str) -> None:
    """All are chosen, those that match a pattern are dropped; or one filter has those that do not match it."""
    page = tab(own).open("discover")
    made = answers(page, "discover/job")
    acts = listed(page, shop)
    before = len(acts.done)
    page.locator("[data-rows]").focus()
    acts.press("a")
    acts.filter("shop_*", 10)
    acts.press("x")
    expect(page.locator(".list-end")).to_have_text("300 tables, 10 listed, 290 chosen")
    assert len(acts.done) - before == 4
    expect(page.get_by_role("button", name="Drop 0")).to_be_disabled()
    acts.filter("!shop_*", 290)
    acts.press("x")
    expect(page.locator(".list-end")).to_contain_text("0 chosen")
    acts.press("a")
    expect(page.locator(".list-end")).to_contain_text("290 chosen")
    assert page.locator(".lines [role=row]").count() <= 60
    acts.press("End")
    acts.press(" ")
    expect(page.locator(".list-end")).to_contain_text("289 chosen")
    acts.press("Enter")
    acts.click("Open in the editor")
    expect(page.locator(".cm-content")).to_contain_text("other_001")
    text = text_of(page, made)
    assert checked(own, text) and [name for name in NAMES if f".{name}" in text] == NAMES[:290]
    page.go_back()
    expect(page.locator(".list-end")).to_contain_text("290 chosen")
    page.go_forward()
    discard(page)


def test_a18_a_text_that_is_not_saved_is_not_replaced_unasked(own: Site, tab: Tab, shop: str) -> None:
    """The button names it first."""
    page = tab(own).open("edit")
    page.locator(".cm-content").click()
    page.keyboard.type("# my own words")
    page.get_by_role("link", name="Discover").click()
    acts = listed(page, shop)
    page.locator(".lines [role=row]").first.click()
    expect(page.get_by_text("A text that is not saved stands in the editor.")).to_be_visible()
    acts.click("Replace the text in the editor")
    expect(page.locator(".cm-content")).to_contain_text("other_001")
    expect(page.locator(".cm-content")).not_to_contain_text("my own words")
    discard(page)


def test_t6_a_typed_password_is_neither_sent_nor_kept(own: Site, tab: Tab, shop: str) -> None:
    """Not in a request, in the storage of the browser, in the address or in the page; nor is that of the server."""
    page = tab(own).open("discover")
    sent: list[str] = []
    page.on("request", lambda one: sent.append(f"{one.url} {one.post_data or ''}"))
    acts = Acts(page)
    acts.fill("url", shop)
    acts.fill("username", "postgres")
    acts.fill("password", "typed-secret")
    acts.click("List tables")
    expect(page.get_by_role("alert")).to_contain_text("--allowed-env")
    expect(page.get_by_label("password", exact=True)).to_have_value("")
    acts.fill("url", shop.replace("//", "//postgres:typed-secret@"))
    acts.click("List tables")
    expect(page.get_by_role("alert")).to_contain_text("password in an address")
    assert "typed-secret" not in page.get_by_role("alert").inner_text()
    listed(page, shop)
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
    assert "typed-secret" not in kept + page.content() and CANARY not in kept + page.content() + json.dumps(sent)
    assert [one for one in sent if "typed-secret" in one] == [one for one in sent if "postgres:typed" in one]


def test_a14_what_goes_wrong_is_shown_with_its_remedy(own: Site, tab: Tab, shop: str) -> None:
    """A place that is away, a wrong option, a filter without a match, a target that no sink understands."""
    page = tab(own).open("discover")
    expect(page.get_by_text("Name a connection, then list its tables.")).to_be_visible()
    acts = Acts(page)
    acts.fill("url", "jdbc:postgresql://127.0.0.1:1/nowhere")
    acts.click("List tables")
    expect(page.get_by_role("alert")).to_contain_text("127.0.0.1")
    page.get_by_text("Further options").click()
    acts.fill("further options", "fetch_sise=1")
    acts.click("List tables")
    expect(page.get_by_role("alert")).to_contain_text("fetch_sise: unknown option")
    acts.fill("further options", "")
    listed(page, shop)
    acts.fill("filter tables by words or patterns", "nothing_like_it")
    acts.click("Show all tables")
    page.locator(".lines [role=row]").first.click()
    acts.fill("target", "gopher://x/y")
    acts.click("Open in the editor")
    expect(page.get_by_role("alert")).to_contain_text("no sink understands the address")


def test_a16_a_reader_lists_no_tables(own: Site, tab: Tab) -> None:
    """The role is that of the plan."""
    with client(own.url, own.folder) as http:
        token = http.post("/api/v1/tokens", json={"name": "reads", "role": "operate"}).json()["token"]
    page = tab(Site(own.url, token, own.folder)).open("discover")
    expect(page.get_by_text("Listing tables needs the role edit.")).to_be_visible()
    expect(page.get_by_role("button", name="List tables")).to_be_disabled()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a13_axe_finds_nothing_serious_in_a_discovery(own: Site, tab: Tab, shop: str, theme: str, width: int) -> None:
    """With some tables chosen; no width makes the page scroll sideways."""
    page = tab(own, color_scheme=theme, viewport={"width": width, "height": 800}).open("discover")
    acts = listed(page, shop)
    page.locator("[data-rows]").focus()
    acts.press("a")
    acts.press("j")
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
