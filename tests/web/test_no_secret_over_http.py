"""A secret that a job has is in no answer of the server (T6)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.route_table import ROUTES, STREAMS
from tests.web.conftest import CANARY
from tests.web.running import Served, serving

JOB = """
env { job.name = "with secrets" }
source { FakeSource { row.num = 5, schema { table = "shop.orders", fields { id = bigint } } } }
sink { Jdbc { url = "jdbc:postgresql://me:CANARY@127.0.0.1:9/shop?password=CANARY", username = me, password = "CANARY"
              generate_sink_sql = true, database = shop, table = "public.t", properties { sslpassword = "CANARY" } } }
"""
FAILS = """
env { job.name = "fails with secrets", job.retry.times = 0 }
source { LocalFile { path = "in.json", file_format_type = json, schema { table = "shop.files", fields { id = bigint } } } }
sink { Jdbc { url = "jdbc:sqlite:CANARY/none/x.db", password = "CANARY", generate_sink_sql = true, database = main, table = t } }
"""


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """A server over runs that have failed with secrets in their options, and the ids of these runs."""
    folder = tmp_path_factory.mktemp("secrets")
    home = Home(folder / ".seatunnel")
    (folder / "in.json").write_text('{"id": "x"}\n')
    for name, text in (("one", JOB), ("two", FAILS)):
        (folder / f"{name}.conf").write_text(text.replace("CANARY", CANARY))
        words = [sys.executable, "-m", "seatunnel_py", "run", f"{name}.conf", "--job-id", name, "--here"]
        done = subprocess.run(
            words,
            cwd=folder,
            env={"SEATUNNEL_HOME": str(home.path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0
    runs = [place.job_id for place in home.jobs()]
    assert runs
    with serving(folder, home=home) as served:
        yield served, runs


def paths(run: str) -> list[str]:
    """Every route that is read, with what this run has."""
    found = [route.path for route in ROUTES if route.method == "GET" and route.path not in STREAMS]
    given = {
        "{run}": run,
        "{key:path}": "shop.orders",
        "{kind}": "sink",
        "{name}": "Jdbc",
        "{id}": "x",
        "{number}": "1",
    }
    for name, value in given.items():
        found = [path.replace(name, value) for path in found]
    return found


def test_t6_no_answer_has_a_secret(failed: tuple[Served, list[str]], caplog: pytest.LogCaptureFixture) -> None:
    """Neither its text nor its form in a URL; nor has the server's log."""
    served, runs = failed
    for run in runs:
        assert served.get(f"runs/{run}").json()["state"] == "FAILED"
        for path in paths(run):
            answer = served.get(path, Role.ADMIN)
            assert CANARY not in answer.text and answer.status_code != 500, path
    assert CANARY not in caplog.text


def test_t6_a_token_is_in_no_answer(failed: tuple[Served, list[str]]) -> None:
    """Not even in that of a request which has it at the wrong place."""
    served, runs = failed
    text = served.tokens[Role.ADMIN]
    for path in paths(runs[0]):
        assert text not in served.get(path, Role.ADMIN).text
    for wrong in (
        f"runs/{text}",
        f"runs?sort={text}",
        f"runs?limit={text}",
        f"runs/one/log?from={text}",
        f"plugins/source/{text}",
    ):
        assert text not in served.get(wrong, Role.ADMIN).text, wrong
