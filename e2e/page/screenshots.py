"""Makes the pictures of the page for the documentation: ``python -m e2e.page.screenshots [FOLDER] [--lineage]``.

A real server shows a job that runs meanwhile, beside runs of up to 1,000 tables as drivers leave them. ``--lineage``:
only the picture of a lineage.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from e2e.page.browser import Visit, chromium, context_of, visit
from e2e.page.homes import NOUNS, of_tables
from e2e.page.lineages import warehouse, with_lineage
from e2e.page.wrong_jobs import RIGHT
from e2e.server.running import client, server, token_of
from seatunnel_py.runtime.storage.home import Home

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
BYTES_MAX = 160_000
RUNNING_SECONDS = 60
LINEAGE_RUN = "orders-nightly-0412"
TABLES = 12


def job(target: Path, tables: int = TABLES) -> str:
    """A job that runs for as long as the pictures take."""
    entries = ",\n".join(
        f'{{ row.num = {3_000 + 700 * at}, split.num = 60, schema {{ table = "shop.{name}", fields {{ id = bigint, '
        f"name = string }} }} }}"
        for at, name in enumerate([*NOUNS, "refund", "voucher"][:tables])
    )
    return f"""
        env {{ job.name = "shop to warehouse", checkpoint.interval = 2000, read_limit.rows_per_second = 900, unit.rows = 50 }}
        source {{ FakeSource {{ tables_configs = [ {entries} ] }} }}
        transform {{ Filter {{ include_fields = ["id"] }} }}
        sink {{ LocalFile {{ path = "{target}/${{table_name}}", file_format_type = parquet }} }}
    """


def prepare(home: Home) -> None:
    """Runs that have ended: most are well."""
    of_tables(home, "erp-nightly-20261128", 1_000, 12, 5_400, "erp, all tables")
    of_tables(home, "crm-hourly-0007", 40, 0, 900, "crm, hourly")
    of_tables(home, "crm-hourly-0006", 40, 0, 4_500, "crm, hourly")
    of_tables(home, "invoices-0031", 1, 1, 7_000, "invoices to the lake")
    of_tables(home, "crm-hourly-0005", 40, 3, 8_100, "crm, hourly")
    with_lineage(home, LINEAGE_RUN, warehouse(), 20_000, "orders to the warehouse")
    for at in range(24):
        of_tables(home, f"prices-{300 - at}", 3, 0, 9_000 + 1_800 * at, "prices")


def begin(url: str, folder: Path) -> str:
    """Store job files, start one, and wait until its rows move. Returns the id of the run."""
    with client(url, folder) as http:
        for name in ("shop-to-warehouse", "prices", "crm-hourly"):
            assert http.post("/api/v1/definitions", json={"id": name, "text": job(folder / "lake")}).status_code == 201
        text = RIGHT.replace("job.mode", "job.mod").replace("include_fields", "include_field")
        body = {"id": "orders-to-lake", "text": text, "comment": "only the ids"}
        assert http.post("/api/v1/definitions", json=body).status_code == 201
        run = http.post("/api/v1/definitions/shop-to-warehouse/runs", json={}).json()["job_id"]
        until = time.monotonic() + RUNNING_SECONDS
        while (http.get(f"/api/v1/runs/{run}").json().get("rows_read") or 0) < 6_000:
            assert time.monotonic() < until, http.get(f"/api/v1/runs/{run}").text
            time.sleep(0.5)
    return str(run)


def taken(page: Page, folder: Path, name: str) -> None:
    """Write a picture. Raises AssertionError for one that is too large for the documentation."""
    page.mouse.move(0, 0)
    file = folder / f"{name}.png"
    page.screenshot(path=str(file))
    assert file.stat().st_size <= BYTES_MAX, f"{file} has {file.stat().st_size} bytes"
    print(file, file.stat().st_size)


def editor_and_catalogue(one: Visit, folder: Path, theme: str) -> None:
    """A job file with two mistakes, and the options of a plugin."""
    page = one.open("edit/orders-to-lake")
    expect(page.locator(".problems li")).to_have_count(2)
    taken(page, folder, f"page-editor-{theme}")
    page = one.open("catalogue?plugin=source/Jdbc")
    expect(page.locator(".options tbody tr").first).to_be_visible()
    expect(page.get_by_role("link", name="Kafka").first).to_be_visible()
    taken(page, folder, f"page-catalogue-{theme}")


def lineages(browser: Browser, url: str, token: str, folder: Path) -> None:
    """A column of a source, and the columns of the target that depend on it."""
    asked = "target=PostgreSQL+table+sales.orders&column=total_cents&step=orders&from=shop.orders"
    for theme in ("light", "dark"):
        context = context_of(browser, token, color_scheme=theme, viewport={"width": 1280, "height": 800})
        page = visit(context, url).open(f"jobs/{LINEAGE_RUN}/lineage?{asked}")
        expect(page.locator(".spot.lit")).to_have_count(3)
        taken(page, folder, f"page-lineage-{theme}")
        context.close()


def pictures(browser: Browser, url: str, token: str, run: str, folder: Path) -> None:
    """Each view in both themes, and the list of jobs on a phone."""
    for theme in ("light", "dark"):
        context = context_of(browser, token, color_scheme=theme, viewport={"width": 1280, "height": 740})
        one = visit(context, url)
        page = one.open("")
        expect(page.get_by_role("link", name="erp, all tables")).to_be_visible()
        taken(page, folder, f"page-jobs-{theme}")
        page = one.open(f"jobs/{run}")
        expect(page.locator(".uplot")).to_be_visible(timeout=30_000)
        page.wait_for_timeout(12_000 if theme == "light" else 6_000)
        taken(page, folder, f"page-job-{theme}")
        page = one.open("jobs/erp-nightly-20261128/tables?q=state:isolated")
        expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "13")
        page.locator(".lines [role=row]").nth(3).click()
        expect(page.get_by_role("complementary", name="table").locator(".facts")).to_be_visible()
        taken(page, folder, f"page-tables-{theme}")
        editor_and_catalogue(one, folder, theme)
        context.close()
    context = context_of(browser, token, color_scheme="light", viewport={"width": 390, "height": 720})
    page = visit(context, url).open("")
    expect(page.get_by_role("link", name="erp, all tables")).to_be_visible()
    taken(page, folder, "page-jobs-phone")
    context.close()


def main(folder: Path = FOLDER, *, only_lineage: bool = False) -> None:
    """Make all pictures, or only that of a lineage."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, chromium() as browser:
        prepare(Home(Path(place) / ".seatunnel"))
        with server(Path(place)) as (_, url):
            token = token_of(Path(place))
            lineages(browser, url, token, folder)
            if not only_lineage:
                pictures(browser, url, token, begin(url, Path(place)), folder)


if __name__ == "__main__":
    words = argparse.ArgumentParser()
    words.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    words.add_argument("--lineage", action="store_true")
    given = words.parse_args()
    main(given.folder, only_lineage=given.lineage)
