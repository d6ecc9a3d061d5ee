"""The editor of job files, the plan before a run, and the catalogue (A3, A12, A13, A19, A25)."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.page.measured import busy_per_key, loaded, serious
from e2e.page.wrong_jobs import CHANGES, RIGHT, WRONG
from e2e.server.running import client, server, token_of
from e2e.support import SEATUNNEL

SLOWER = 6
"""How much longer the bars may take here: tests run beside others."""
JOB_SECONDS = 90_000
Tab = Callable[..., Visit]
_PASTE = """
(text) => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  const place = document.querySelector('.text-pane').shadowRoot.querySelector('.cm-content');
  place.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
}
"""
_UNDERLINED = """
() => {
  const root = document.querySelector('.text-pane').shadowRoot;
  return [...root.querySelectorAll('.cm-lintRange-error, .cm-lintPoint-error')].map((mark) => {
    const line = mark.closest('.cm-line');
    const before = document.createRange();
    before.setStart(line, 0);
    before.setEndBefore(mark);
    return [[...root.querySelectorAll('.cm-line')].indexOf(line) + 1, [...before.toString()].length + 1];
  });
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server of this file's own: definitions are saved and started."""
    folder = tmp_path_factory.mktemp("edited")
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


def define(site: Site, id: str, text: str = RIGHT) -> None:
    with client(site.url, site.folder) as http:
        made = http.post("/api/v1/definitions", json={"id": id, "text": text})
    assert made.status_code == 201, made.text


def stored(site: Site, id: str) -> dict[str, Any]:
    """The newest revision of a definition."""
    with client(site.url, site.folder) as http:
        found: dict[str, Any] = http.get(f"/api/v1/definitions/{id}").json()["newest"]
    return found


def paste(page: Page, text: str) -> None:
    """Replace the whole text by one from the clipboard, and wait for its check."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.evaluate(_PASTE, text)
    checked(page)


def checked(page: Page) -> None:
    """Wait until the text that is shown has been checked."""
    page.wait_for_timeout(50)  # the text is newer than the check from now on
    expect(page.get_by_role("tabpanel").get_by_role("status")).not_to_have_text("Checking…")


def shown_text(page: Page) -> str:
    """The lines of the text that are in view."""
    return "\n".join(page.locator(".cm-line").all_inner_texts()).replace("\n\n", "\n")


def scripts(one: Visit) -> set[str]:
    return {url.rpartition("/")[2] for url in one.requests if url.endswith(".js")}


def test_a3_the_editor_is_loaded_by_its_own_page_only(site: Site, tab: Tab) -> None:
    """Its scripts are those that no other page asks for; their bytes have a bar."""
    one = tab(site)
    for path in ("", "jobs/thousand", "jobs/thousand/tables", "jobs/thousand/plan", "catalogue?plugin=source/Jdbc"):
        page = one.open(path)
        expect(page.locator(".card").first).to_be_visible()
        page.wait_for_load_state("load")
    others, before = scripts(one), loaded(page, ".js")
    page.get_by_role("link", name="New job").click()
    expect(page.locator(".cm-content")).to_be_visible()
    own = scripts(one) - others
    assert len(own) == 1, own
    assert 60_000 < loaded(page, ".js") - before <= 150_000


def test_a3_a_file_of_2000_lines_is_typed_in(edited: Site, tab: Tab) -> None:
    """The main thread for each key, and the time until a problem is shown; `bench.page` has both against their bars."""
    define(edited, "long", RIGHT + "".join(f"# line {at} of a long job file\n" for at in range(2_000)))
    page = tab(edited).open("edit/long")
    page.locator(".cm-content").click()
    checked(page)
    page.keyboard.press("Control+Home")
    assert busy_per_key(page, "# a comment of forty letters, all typed ") <= 16 * SLOWER
    page.keyboard.press("Enter")
    checked(page)
    page.keyboard.type("enf {}")
    began = time.monotonic()
    expect(page.locator(".problems")).to_contain_text("unknown block")
    assert time.monotonic() - began <= 1 * SLOWER
    page.get_by_role("button", name="Discard").click()


def found_by_check(site: Site) -> list[list[dict[str, Any]]]:
    """The problems of each wrong file, by the command line."""
    files = []
    for at, text in enumerate(WRONG):
        files.append(site.folder / f"wrong-{at:02}.conf")
        files[-1].write_text(text, encoding="utf-8")
    words = [*SEATUNNEL, "check", *map(str, files), "--json"]
    found = json.loads(subprocess.run(words, capture_output=True, check=False).stdout)
    return [one["problems"] for one in found]


def test_a19_a_wrong_job_file_has_each_problem_at_its_place(edited: Site, tab: Tab) -> None:
    """Twenty of them: in the list and underlined where `check --json` has them, by line and by column in characters."""
    page = tab(edited).open("edit")
    for text, problems, (_, wrong) in zip(WRONG, found_by_check(edited), CHANGES, strict=True):
        paste(page, text)
        expected = [f"{one['line']}:{one['column']}" if one["line"] else "–" for one in problems]
        assert problems and page.locator(".problems .place").all_inner_texts() == expected, wrong
        for at, one in enumerate(problems):
            expect(page.locator(".problems li").nth(at)).to_contain_text(one["message"])
        places = {(one["line"], one["column"]) for one in problems if one["line"]}
        assert {tuple(one) for one in page.evaluate(_UNDERLINED)} == places, wrong
    page.get_by_role("button", name="Discard").click()


def test_a19_the_nearest_name_mends_the_text(edited: Site, tab: Tab) -> None:
    """Each button writes the name where it belongs, be it a key or a value; the problem is gone afterwards."""
    page = tab(edited).open("edit")
    mended = 0
    for text, (before, wrong) in zip(WRONG, CHANGES, strict=True):
        paste(page, text)
        number = page.locator(".problems .fix").count()
        if number == 0:
            continue
        page.locator(".problems .fix").first.click()
        checked(page)
        assert page.locator(".problems .fix").count() == number - 1, (before, wrong)
        mended += 1
    assert mended >= 13
    page.get_by_role("button", name="Discard").click()


def test_a25_a_session_that_ends_keeps_the_edited_text(edited: Site, browser: Browser, tab: Tab) -> None:
    """Its token is revoked while one types. The login is asked for, then the text is there again, and can be saved. Before a
    log-out by hand it is kept for the same login only."""
    define(edited, "kept")
    with client(edited.url, edited.folder) as http:
        first, second = (
            http.post("/api/v1/tokens", json={"name": name, "role": "edit"}).json() for name in ("first", "second")
        )
        page = tab(edited, token=False).open("edit/kept")
        logged_in(page, first["token"])
        page.locator(".cm-content").click()
        page.keyboard.press("Control+Home")
        page.keyboard.type("# my own words\n")
        checked(page)
        assert http.delete(f"/api/v1/tokens/{first['id']}").status_code == 200
        page.keyboard.type("# and more\n")
        logged_in(page, second["token"])
    expect(page.locator(".cm-content")).to_contain_text("# my own words# and more")
    expect(page.get_by_text("not saved")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert stored(edited, "kept")["text"] == f"# my own words\n# and more\n{RIGHT}"
    assert stored(edited, "kept")["author"] == "second"
    page.locator(".cm-content").click()
    page.keyboard.type("# a secret thought ")
    page.get_by_role("button", name="Log out").click()
    logged_in(page, edited.token)
    expect(page.locator(".cm-content")).to_contain_text("# my own words")
    expect(page.locator(".cm-content")).not_to_contain_text("secret thought")


def logged_in(page: Page, token: str) -> None:
    """Log in where the login is shown."""
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".cm-content")).to_be_visible()


def test_a12_a_text_is_completed_and_saved_by_keys_alone(edited: Site, tab: Tab) -> None:
    """Names of blocks, plugins, options and values come from the catalogue of the server."""
    define(edited, "keys")
    page = tab(edited).open("edit/keys")
    expect(page.locator(".cm-content")).to_be_visible()
    page.locator(".skip").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement?.className") == "text-pane":
            break
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    options = page.get_by_role("listbox")
    for typed, chosen in (("sour", "source"), ("FakeS", "FakeSource"), ("row.nu", "row.num")):
        page.keyboard.type(typed)
        expect(options.get_by_role("option", selected=True)).to_contain_text(chosen)
        page.wait_for_timeout(150)  # a key that comes at once after the list is not a choice
        page.keyboard.press("Enter")
    page.keyboard.type("7\nschema { table = t, fields { id = bigint } }")
    page.keyboard.press("Control+End")
    page.keyboard.type("\nsink { LocalFile { path = x, file_format_type = par")
    expect(options.get_by_role("option", selected=True)).to_contain_text("parquet")
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
    checked(page)
    expect(page.locator(".problems li")).to_have_count(0)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved.")).to_be_visible()
    text = stored(edited, "keys")["text"]
    assert "FakeSource {" in text and "row.num = 7" in text and "file_format_type = parquet" in text
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement?.className") != "text-pane"
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Catalogue")).to_be_visible()


def test_two_people_do_not_overwrite_each_other(edited: Site, tab: Tab) -> None:
    """The later one sees the newer revision, its difference, and chooses."""
    define(edited, "two")
    page = tab(edited).open("edit/two")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# mine\n")
    with client(edited.url, edited.folder) as http:
        body = {"text": f"# theirs\n{RIGHT}", "comment": "more rows"}
        assert http.put("/api/v1/definitions/two", json=body, headers={"If-Match": '"1"'}).status_code == 200
    page.get_by_label("why it was changed").fill("mine is better")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was saved since you have read the text")).to_be_visible()
    page.get_by_role("tab", name="Revisions").click()
    expect(page.get_by_role("region", name="not saved").locator(".diff-added")).to_have_text("+# mine\n")
    expect(page.get_by_role("region", name="difference").locator(".diff-added")).to_have_text("+# theirs\n")
    page.get_by_role("button", name="Keep mine, on top of it").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("list", name="revisions").get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_text("mine is better")).to_be_visible()
    expect(page.locator(".diff-removed")).to_have_text("-# theirs\n")
    expect(page.locator(".diff-added")).to_have_text("+# mine\n")  # nothing is left that is not saved
    assert stored(edited, "two")["text"].startswith("# mine\n")
    page.get_by_role("listitem").filter(has_text="more rows").get_by_role("button", name="Take").click()
    expect(page.locator(".cm-content")).to_contain_text("# theirs")
    page.get_by_role("button", name="Discard").click()


def test_a_secret_in_a_text_is_refused_at_its_place(edited: Site, tab: Tab) -> None:
    """T6: A problem of saving is shown as one of the check is, and names no secret."""
    page = tab(edited).open("edit")
    text = RIGHT.replace('path = "/tmp', 'password = "hunter2-canary", path = "/tmp')
    text = text.replace("LocalFile {", "Jdbc {").replace("file_format_type = parquet", 'url = "jdbc:sqlite:x"')
    paste(page, text)
    page.get_by_label("name of the job file").fill("with-secret")
    page.get_by_role("button", name="Save", exact=True).click()
    line = next(at for at, line in enumerate(text.splitlines(), 1) if "password" in line)
    row = page.locator(".problems li", has_text="a secret is written in the job file")
    expect(row.locator(".place")).to_have_text(re.compile(f"^{line}:"))
    assert "hunter2" not in page.locator(".problems").inner_text() + page.locator(".progress").inner_text()
    page.get_by_role("button", name="Discard").click()


def test_a_new_job_is_planned_saved_and_started(edited: Site, tab: Tab) -> None:
    """From the first text to the end of its run; the plan before shows steps, tables and effects."""
    page = tab(edited).open("edit")
    paste(page, RIGHT.replace("/tmp/lake", str(edited.folder / "lake")))
    page.get_by_role("tab", name="Plan").click()
    panel = page.get_by_role("tabpanel")
    expect(panel.locator(".plan-sentence")).to_have_text("1 table, about 10 rows. No data of a target is removed.")
    expect(panel.get_by_role("img", name="graph of 3 steps")).to_be_visible()
    expect(panel.get_by_role("region", name="shop.orders")).to_contain_text("LocalFile")
    start = panel.get_by_role("button", name="Save and start")
    expect(start).to_be_disabled()
    page.get_by_label("name of the job file").fill("planned")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# later")
    expect(panel.get_by_text("The text has changed since this plan.")).to_be_visible()
    start.click()
    expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)
    assert len([*(edited.folder / "lake").rglob("*.parquet")]) == 1
    page.get_by_role("link", name="Jobs").click()
    page.get_by_role("region", name="stored job files").locator("li", has_text="planned").get_by_role(
        "link", name="Edit"
    ).click()
    expect(page.locator(".cm-content")).to_contain_text("# later")


def test_a_wrong_plan_shows_its_problems_and_a_variable_mends_it(edited: Site, tab: Tab) -> None:
    """Values of variables are for the check, the plan and the start."""
    page = tab(edited).open("edit")
    paste(page, RIGHT.replace("row.num = 10", "row.num = ${rows}"))
    expect(page.locator(".problems")).to_contain_text("-i rows=")
    page.get_by_text("Variables", exact=True).click()
    page.get_by_label("variables").fill("rows=25")
    expect(page.locator(".problems li")).to_have_count(0)
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator(".plan-sentence")).to_contain_text("about 25 rows")
    page.get_by_role("button", name="Discard").click()


def test_a_reader_sees_a_text_and_cannot_change_it(edited: Site, tab: Tab) -> None:
    """A16: Without the role edit there is no check, no plan and no save."""
    define(edited, "read-only")
    with client(edited.url, edited.folder) as http:
        token = http.post("/api/v1/tokens", json={"name": "reads", "role": "read"}).json()["token"]
    page = tab(Site(edited.url, token, edited.folder)).open("edit/read-only")
    page.locator(".cm-content").click()
    page.keyboard.type("x")
    expect(page.get_by_text("not saved")).to_have_count(0)
    expect(page.get_by_text("The check of a text needs the role edit.")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    page.goto(f"{edited.url}/edit/no-such-definition")
    expect(page.get_by_role("alert")).to_contain_text("there is no definition 'no-such-definition'")


def test_an_operator_starts_a_text_and_does_not_change_it(edited: Site, tab: Tab) -> None:
    """A16: The start needs less than the plan."""
    define(edited, "operated", RIGHT.replace("/tmp/lake", str(edited.folder / "operated")))
    with client(edited.url, edited.folder) as http:
        token = http.post("/api/v1/tokens", json={"name": "operates", "role": "operate"}).json()["token"]
    page = tab(Site(edited.url, token, edited.folder)).open("edit/operated?view=plan")
    expect(page.get_by_text("A plan needs the role edit.")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".job-title .state")).to_have_text("succeeded", timeout=JOB_SECONDS)


def test_a_name_below_the_pointer_is_explained(edited: Site, tab: Tab) -> None:
    """An option and a plugin, as the catalogue has them."""
    page = tab(edited).open("edit")
    paste(page, RIGHT)
    about = page.locator(".cm-tooltip-about")
    page.locator(".look-key", has_text="row.num").hover()
    expect(about).to_contain_text("row.num: int")
    page.mouse.move(0, 0)
    expect(about).to_have_count(0)
    page.locator(".look-key", has_text="FakeSource").hover()
    expect(about).to_contain_text("Generates rows")
    page.get_by_role("button", name="Discard").click()


def test_a14_an_editor_that_cannot_be_loaded_names_the_remedy(edited: Site, tab: Tab) -> None:
    """As after another build of the page, and where the server is away."""
    page = tab(edited).open("")
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
    page.route("**/assets/page-*.js", lambda route: route.abort())
    page.get_by_role("link", name="New job").click()
    expect(page.get_by_role("alert")).to_contain_text("Load the page again.")
    page.unroute("**/assets/page-*.js")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".cm-content")).to_be_visible()


def test_the_catalogue_has_every_option_of_every_plugin(edited: Site, tab: Tab) -> None:
    """U38: As `plugins show --json`; filtered by text; a job file begins with one of them."""
    words = [*SEATUNNEL, "plugins", "show", "Jdbc", "--json"]
    shown = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    options = next(one["options"] for one in shown if one["kind"] == "source")
    page = tab(edited).open("catalogue")
    page.locator("[data-filter=q]").fill("relational source")
    expect(page.locator(".plugin")).to_have_count(2)  # beside the settings of the job
    page.get_by_role("link", name="Jdbc").click()
    expect(page.locator(".options tbody tr")).to_have_count(len(options))
    url = page.locator(".options tbody tr", has_text=re.compile("^url")).first
    expect(url).to_contain_text("required")
    page.locator("[data-filter=option]").fill("password")
    expect(page.locator(".options tbody tr").first).to_contain_text("secret")
    assert page.locator(".options tbody tr").count() < len(options)
    page.reload()
    expect(page.locator("[data-filter=option]")).to_have_value("password")
    page.get_by_role("link", name="Begin a job file with it").click()
    expect(page.locator(".cm-content")).to_contain_text('Jdbc {    url = ""')
    page.get_by_role("link", name="Catalogue").click()
    page.get_by_role("link", name="env").click()
    expect(page.locator(".options")).to_contain_text("checkpoint.interval")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a13_axe_finds_nothing_serious_in_the_editor(edited: Site, tab: Tab, theme: str) -> None:
    """Problems, plan, revisions, catalogue; contrast of all colours of the text included."""
    define(edited, f"axe-{theme}", f"# words\n{RIGHT}")
    one = tab(edited, color_scheme=theme)
    page = one.open(f"edit/axe-{theme}")
    paste(page, f"# a comment\n{WRONG[4]}\nx = ${{y}}")
    found = [("problems", *each) for each in serious(page)]
    page.get_by_role("button", name="Discard").click()
    for view in ("Plan", "Revisions"):
        page.get_by_role("tab", name=view).click()
        expect(page.locator(".plan-sentence, .revisions")).to_be_visible()
        found += [(view, *each) for each in serious(page)]
    page.get_by_role("link", name="Catalogue").click()
    page.get_by_role("link", name="Kafka").first.click()
    expect(page.locator(".options")).to_be_visible()
    found += [("catalogue", *each) for each in serious(page)]
    assert found == []


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_width_makes_the_editor_scroll_sideways(edited: Site, tab: Tab, width: int) -> None:
    """Long lines scroll in the text."""
    page = tab(edited, viewport={"width": width, "height": 800}).open("edit")
    paste(page, f"# {'long ' * 300}\n{RIGHT}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Discard").click()
    page.goto(f"{edited.url}/catalogue?plugin=source/Jdbc")
    expect(page.locator(".options")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
