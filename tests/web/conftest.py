"""One home with a few runs, and one server over it, for all tests of a file that change neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_py.runtime.storage.home import Home
from tests.web.running import Served, run_job, serving

CANARY = "canary-3f9c1b-secret"


@pytest.fixture(scope="session")
def runs_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with runs, and with places that cannot be read."""
    home = Home(tmp_path_factory.mktemp("server") / ".seatunnel")
    run_job(home, "one", rows=20)
    run_job(home, "two", rows=7, table="shop.<b>\\u202e\\u001b[31m", name="hostile")
    broken(home.path / "jobs")
    return home


def broken(jobs: Path) -> None:
    """O11: half a file, a newer version, a link, a file in place of a directory, no file at all."""
    (jobs / "half").mkdir()
    (jobs / "half" / "job.json").write_text('{"job_id": "half", "started": 17')
    (jobs / "newer").mkdir()
    (jobs / "newer" / "job.json").write_text('{"job_id": {"of": ["a", "later", "version"]}, "started": "soon"}')
    (jobs / "empty").mkdir()
    (jobs / "outside").symlink_to("/etc")
    (jobs / "file").write_text("not a directory")
    (jobs / "binary").mkdir()
    (jobs / "binary" / "job.json").write_bytes(b"\xff\xfe\x00\x01")


@pytest.fixture(scope="session")
def served(runs_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that no test changes."""
    with serving(tmp_path_factory.mktemp("own"), home=runs_home) as found:
        yield found
