"""A server with SeaTunnel's API over a home with runs of every end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.control.store import settings as store_settings
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.settings import SeaTunnelApi, ServerSettings
from tests.web.running import CALM, Served, run_job, serving

API = replace(CALM, seatunnel=SeaTunnelApi(enabled=True, v1=True))
PARTIAL = """
env { job.name = "half", job.retry.times = 0 }
source {
  FakeSource { plugin_output = good, row.num = 5, schema { table = "shop.good", fields { id = bigint } } }
  LocalFile { plugin_output = bad, path = "in.json", file_format_type = json
              schema { table = "shop.bad", fields { id = bigint } } }
}
transform { FilterRowKind { plugin_input = good, plugin_output = kept, exclude_kinds = ["DELETE"] } }
sink { Console { plugin_input = [kept, bad] } }
"""
FAILED = """
env { job.name = "whole", job.retry.times = 0 }
source { LocalFile { path = "in.json", file_format_type = json, schema { table = "shop.bad", fields { id = bigint } } } }
sink { Console {} }
"""


def home_with_runs(folder: Path) -> Home:
    """A home with a success, a partial success and a failure."""
    home = Home(folder / ".seatunnel")
    run_job(home, "one", rows=20)
    (folder / "in.json").write_text('{"id": "x"}\n')
    for name, text in (("half", PARTIAL), ("whole", FAILED)):
        file = folder / f"{name}.conf"
        file.write_text(text.replace("in.json", str(folder / "in.json")))
        app.run(file, app.RunOptions({}, name, local=True), home, lambda _: None, lambda _: None)
    return home


@pytest.fixture(scope="session")
def ended_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Runs that have ended; no test changes them."""
    return home_with_runs(tmp_path_factory.mktemp("ended"))


@pytest.fixture(scope="session")
def api(ended_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over them that starts nothing."""
    with serving(tmp_path_factory.mktemp("api"), API, ended_home) as served:
        hold(served)
        yield served


def copied(home: Home, folder: Path) -> Home:
    """A home with the same runs: a home has one server."""
    own = Home(folder / ".seatunnel")
    shutil.copytree(home.path / "jobs", own.path / "jobs")
    return own


@pytest.fixture
def own_api(ended_home: Home, tmp_path: Path) -> Iterator[Served]:
    """A server of one test over the same runs, which starts nothing."""
    with serving(tmp_path, API, copied(ended_home, tmp_path)) as served:
        hold(served)
        yield served


def hold(served: Served, most: int = 0) -> None:
    """Let at most so many drivers run."""
    with served.context.database.writing() as connection:
        store_settings.keep(connection, "max-running", most)


def with_settings(**named: object) -> ServerSettings:
    """Settings of a server with the API and these of its options."""
    return replace(API, seatunnel=replace(API.seatunnel, **named))  # type: ignore[arg-type]
