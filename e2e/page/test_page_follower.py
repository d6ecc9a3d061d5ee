"""The page of a server that follows shows the leader."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from e2e.page.browser import Visit, chromium
from e2e.page.conftest import Site
from e2e.server.running import server, token_of
from e2e.server.stores import new_database, write_store
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Named here too: it keeps the tests of this file in one process."""
    with chromium() as found:
        yield found


def test_o13_a_follower_names_the_leader_until_it_leads(
    tab: Callable[..., Visit], tmp_path: Path, postgres: PostgresServer
) -> None:
    """The page of the leader has no bar."""
    write_store(tmp_path / ".seatunnel", new_database(postgres))
    with server(tmp_path) as (first, url), server(tmp_path) as (_, other):
        leader, follower = (tab(Site(one, token_of(tmp_path), tmp_path)).open("") for one in (url, other))
        bar = follower.get_by_role("status").filter(has_text="This server follows")
        expect(bar).to_contain_text(url)
        expect(leader.get_by_role("link", name="Jobs", exact=True)).to_be_visible()
        expect(leader.get_by_text("This server follows")).to_have_count(0)
        leader.goto("about:blank")
        first.send_signal(signal.SIGTERM)
        expect(bar).to_have_count(0, timeout=60_000)
        follower.goto("about:blank")
