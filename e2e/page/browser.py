"""The Chromium of the distribution, driven by Playwright; each page reports what a safe page never does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.servers.chromium import find

_WATCH = """
window.seen = [];
document.addEventListener('securitypolicyviolation', (event) => window.seen.push(`${event.violatedDirective} ${event.blockedURI}`));
"""

# Where no GPU is, the process for it fails and begins again for as long as the browser is there.
WORDS = ("--disable-gpu", *(("--no-sandbox",) if os.geteuid() == 0 else ()))


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a fresh profile."""
    expect.set_options(timeout=20_000)  # machines of a CI may be slow
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find()), args=list(WORDS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A tab. ``dialogs``, ``errors``, ``foreign``: what a safe page never has."""

    page: Page
    url: str
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.url}/{path.lstrip('/')}")
        return self.page

    def reports(self) -> list[str]:
        """Everything that a safe page never does."""
        found: list[str] = self.page.evaluate("window.seen")
        return [*self.dialogs, *self.errors, *self.foreign, *found]


def context_of(browser: Browser, token: str = "", **more: Any) -> BrowserContext:
    """A context of its own. ``token``: sent with each request, in place of a login."""
    if token:
        more["extra_http_headers"] = {"Authorization": f"Bearer {token}"}
    made = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **more})
    made.set_default_timeout(30_000)
    made.add_init_script(_WATCH)
    return made


def visit(context: BrowserContext, url: str) -> Visit:
    """A new tab for this server."""
    page = context.new_page()
    made = Visit(page, url)
    page.on("dialog", lambda dialog: (made.dialogs.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: made.errors.append(str(error)))
    page.on("request", lambda request: _note(made, request.url))
    return made


def _note(made: Visit, url: str) -> None:
    made.requests.append(url)
    if not url.startswith((f"{made.url}/", "blob:")):
        made.foreign.append(url)
