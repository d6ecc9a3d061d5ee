"""The page shows when a stored job file starts next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.server.running import client, server, token_of

TEXT = "source { FakeSource { row.num = 10, schema { fields { id = bigint } } } }\nsink { Console {} }"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


def test_u36_the_next_start_of_a_job_file_is_shown(browser: Browser, tab: Callable[..., Visit], tmp_path: Path) -> None:
    """With the exact time, in the zone of the viewer; of a paused schedule there is none, and without a schedule nothing is shown."""
    with server(tmp_path) as (_, url):
        with client(url, tmp_path) as http:
            for name in ("hourly", "paused", "plain"):
                assert http.post("/api/v1/definitions", json={"id": name, "text": TEXT}).status_code == 201
            for name in ("hourly", "paused"):
                made = http.post(f"/api/v1/definitions/{name}/schedules", json={"every": 3_600})
                assert made.status_code == 201
            assert http.post("/api/v1/schedules/paused/pause", json={}).status_code == 200
        page = tab(Site(url, token_of(tmp_path), tmp_path)).open("")
        lines = page.get_by_role("region", name="stored job files").get_by_role("listitem")
        expect(lines.filter(has_text="hourly")).to_contain_text(re.compile(r"next start in (5\d min|1 h)"))
        exactly = lines.filter(has_text="hourly").locator("time.next-start")
        expect(exactly).to_have_attribute("title", re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d GMT"))
        expect(lines.filter(has_text="paused")).to_contain_text("no next start")
        expect(lines.filter(has_text="plain")).to_have_count(1)
        expect(lines.filter(has_text="plain")).not_to_contain_text("next start")
        page.goto("about:blank")
