"""One browser and one server for each file of tests; each test has a context of its own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from e2e.page.browser import Visit, chromium, context_of, visit
from e2e.page.homes import sizes
from e2e.server.running import server, token_of
from e2e.support import SEATUNNEL


@dataclass(frozen=True, slots=True)
class Site:
    """A server over the home of a folder, with a token of an administrator."""

    url: str
    token: str
    folder: Path

    def link(self) -> str:
        """The fragment of a link that logs in once, as it is printed on a terminal."""
        ours, theirs = os.openpty()
        environment = {**os.environ, "SEATUNNEL_HOME": str(self.folder / ".seatunnel")}
        words = [*SEATUNNEL, "server", "login-link"]
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            subprocess.run(words, env=environment, stdout=theirs, check=True)
            os.close(theirs)
            found = re.search(rb"(#login=\S+)", terminal.read(4_096))
        assert found is not None
        return found[1].decode()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a file of tests."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over runs of 1 to 10,000 tables, which no test changes."""
    folder = tmp_path_factory.mktemp("site")
    sizes(folder / ".seatunnel")
    with server(folder) as (_, url):
        yield Site(url, token_of(folder), folder)


@pytest.fixture
def tab(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Makes a tab in a context of its own. Afterwards none has done anything that a safe page never does."""
    visits: list[Visit] = []

    def made(site: Site, *, token: bool = True, **more: Any) -> Visit:
        visits.append(visit(context_of(browser, site.token if token else "", **more), site.url))
        return visits[-1]

    yield made
    found = [one.reports() for one in visits]
    for one in visits:
        one.page.context.close()
    assert found == [[] for _ in visits]


def rows(page: Page) -> Locator:
    """The rows of the list that is shown."""
    return page.locator("[data-rows] tbody tr, [data-rows] .lines [role=row]")
