"""Who may call SeaTunnel's API: every route with every role, basic credentials, and addresses without a token."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json
from seatunnel_py.web.rest_v2.rest_v2_table import EVERY, V1
from seatunnel_py.web.settings import SeaTunnelApi, ServerSettings, require_safe
from tests.web.running import Served, serving
from tests.web.seatunnel_api.conftest import copied, with_settings

MATRIX = [(route, role) for route in EVERY for role in Role]
LOCAL = "127.0.0.1"


def call(served: Served, route: Any, role: Role | None) -> httpx.Response:
    """Writes name what does not exist, so that nothing is changed."""
    path = route.path.replace("{job}", "one").replace("{state}", "FAILED")
    with served.client(role) as client:
        return client.request(route.method, path, **({} if route.method == "GET" else {"json": {}}))


@pytest.mark.parametrize(("route", "role"), MATRIX, ids=lambda one: getattr(one, "path", one))
def test_t1_a_role_opens_what_the_table_says(api: Served, route: Any, role: Role) -> None:
    """403 where the role is not enough; each refusal has SeaTunnel's form."""
    answer = call(api, route, role)

    assert (answer.status_code == 403) is not role.allows(route.need.role)
    assert answer.status_code not in (401, 404, 405, 415, 500)
    if answer.status_code >= 400:
        refused = answer.json()
        assert refused["status"] == "fail" and refused["message"] and "Traceback" not in refused["message"]


@pytest.mark.parametrize("route", EVERY, ids=lambda route: f"{route.method} {route.path}")
def test_t1_without_a_token_nothing_answers(api: Served, route: Any) -> None:
    """No route of it is for probes."""
    answer = call(api, route, None)

    assert (answer.status_code, answer.json()["status"]) == (401, "fail")


@pytest.mark.parametrize("route", EVERY, ids=lambda route: f"{route.method} {route.path}")
def test_it_is_off_by_default(served: Served, route: Any) -> None:
    """And so are credentials in the basic form."""
    assert call(served, route, Role.ADMIN).status_code == 404


def test_a_token_is_the_password_of_basic_credentials(api: Served, served: Served) -> None:
    """With any name of a user; only where the API is on."""
    with api.client(None) as client:
        token = api.tokens[Role.READ]
        assert client.get("/overview", auth=("seatunnel", token)).status_code == 200
        assert client.get("/overview", auth=("", token)).status_code == 200
        assert client.get("/overview", auth=(token, "")).status_code == 401
        for wrong in ("Basic", "Basic ???", "Basic \u00e4", "Basic Og=="):
            assert client.get("/overview", headers={"Authorization": wrong.encode("latin-1")}).status_code == 401
    with served.client(None) as client:
        assert client.get("/api/v1/runs", auth=("x", served.tokens[Role.READ])).status_code == 401


def test_an_address_may_read_the_status_of_a_known_job(ended_home: Home, tmp_path: Path) -> None:
    """Its number, name and status, and nothing else; a wrong token is refused all the same."""
    with (
        serving(tmp_path, with_settings(status_open=(LOCAL,)), copied(ended_home, tmp_path)) as own,
        own.client(None) as client,
    ):
        known = client.get("/job-info/one")
        assert known.json() == {"jobId": "8544106591765445504", "jobName": "shop", "jobStatus": "FINISHED"}
        assert client.get(f"{V1}/running-job/half").json()["jobStatus"] == "FAILED"
        assert client.get("/job-info/none").json() == {"jobId": "none"}
        assert client.get("/job-info/one", headers={"Authorization": "Bearer x"}).status_code == 401
        for path in ("/overview", "/finished-jobs", "/job-info/one/failures", "/api/v1/runs/one", "/logs/one"):
            assert client.get(path).status_code == 401, path
        assert len(own.get("/job-info/one").json()) > 10


def test_another_address_may_not(ended_home: Home, tmp_path: Path) -> None:
    """The list has addresses, not all of them."""
    with serving(tmp_path, with_settings(status_open=("192.0.2.1",)), copied(ended_home, tmp_path)) as own:
        assert own.get("/job-info/one", None).status_code == 401


def test_a_partial_success_and_an_unknown_job_as_asked(ended_home: Home, tmp_path: Path) -> None:
    """The options of the server."""
    with serving(
        tmp_path, with_settings(partial="finished", strict=True, v1=False), copied(ended_home, tmp_path)
    ) as own:
        half = own.get("/job-info/half").json()
        assert (half["jobStatus"], half["errorMsg"][:13]) == ("FINISHED", "1 of 2 tables")
        unknown = own.get("/job-info/hal")
        assert (unknown.status_code, unknown.json()["status"]) == (404, "fail")
        assert "did you mean 'half'?" in unknown.json()["message"]
        assert own.get(f"{V1}/job-info/half").status_code == 404


@pytest.mark.parametrize(
    ("api", "message"),
    [
        (SeaTunnelApi(v1=True), "without it"),
        (SeaTunnelApi(True, partial="maybe"), "'maybe'"),
        (SeaTunnelApi(True, status_open=("localhost",)), "'localhost' is not an address"),
    ],
)
def test_options_that_have_no_effect_are_refused(api: SeaTunnelApi, message: str) -> None:
    """Before the server answers anything."""
    with pytest.raises(SeaTunnelError, match=message):
        require_safe(ServerSettings(seatunnel=api))


def test_lists_do_not_grow_with_the_number_of_jobs(tmp_path: Path) -> None:
    """U8: an array has at most 1,000 jobs and names the pages; a broken place breaks none of them (U7)."""
    home = Home(tmp_path / ".seatunnel")
    for at in range(1_003):
        place = home.path / "jobs" / f"j{at:04}"
        place.mkdir(parents=True)
        write_json(place / "job.json", {"job_id": place.name, "started": 1_000.0 + at, "job_name": "n"}, durable=False)
    (home.path / "jobs" / "j0500" / "job.json").write_text('{"job')
    with serving(tmp_path, with_settings(), home) as own:
        whole = own.get("/finished-jobs")
        page = own.get("/finished-jobs?page=101&rows=10").json()
        first = own.get("/finished-jobs?page=1&rows=1").json()["data"][0]
        assert (len(whole.json()), whole.headers["link"]) == (1_000, '</finished-jobs?page=1&rows=200>; rel="first"')
        assert (page["total"], len(page["data"]), first["runId"]) == (1_003, 3, "j1002")
        assert [one["runId"] for one in own.get("/finished-jobs/UNKNOWABLE").json()] == ["j0500"]
        for wrong in ("page=0", "page=102", "page=x", "page=1&rows=0", "page=1&rows=201"):
            assert own.get(f"/finished-jobs?{wrong}").status_code == 400, wrong
        assert own.get("/overview").json()["failedJobs"] == "1002"


def test_a_number_outlives_the_server_and_its_database(tmp_path: Path) -> None:
    """Nothing of a number is in the database."""
    home = Home(tmp_path / ".seatunnel")
    place = home.path / "jobs" / "night"
    place.mkdir(parents=True)
    write_json(place / "job.json", {"job_id": "night", "started": 1_000.0, "job_name": "n"}, durable=False)
    found = []
    for _ in range(2):
        with serving(tmp_path, with_settings(), home) as own:
            number = own.get("/job-info/night").json()["jobId"]
            found.append((number, own.get(f"/job-info/{number}").json()["runId"]))
        for file in (home.path / "server").glob("server.db*"):
            file.unlink()
    assert found == [found[0]] * 2 and found[0][1] == "night"


def test_a_secret_is_refused_and_nowhere(api: Served) -> None:
    """As in definitions of our own interface: by reference only."""
    job = {
        "source": [{"plugin_name": "FakeSource", "schema": {"fields": {"id": "bigint"}}}],
        "sink": [{"plugin_name": "Jdbc", "url": "jdbc:postgresql://h/d", "password": "canary-7", "table": "t"}],
    }
    with api.client(Role.EDIT) as client:
        answer = client.post("/submit-job", content=json.dumps(job))
    assert (answer.status_code, answer.json()["status"]) == (400, "fail")
    assert "${env:NAME}" in answer.json()["message"] and "canary" not in answer.text
    for path in (api.home.path / "server").rglob("*"):
        assert not path.is_file() or b"canary-7" not in path.read_bytes(), path


LEAKS = """
env { job.name = "fails with secrets", job.retry.times = 0 }
source { LocalFile { path = "in.json", file_format_type = json, schema { table = "shop.files", fields { id = bigint } } } }
sink { Jdbc { url = "jdbc:sqlite:canary-9c/none/x.db", password = "canary-9c", generate_sink_sql = true, database = main
              table = t } }
"""


def test_t6_a_secret_of_a_job_is_in_no_answer(tmp_path: Path) -> None:
    """Of a run that has failed with it in its options and in its address."""
    home = Home(tmp_path / ".seatunnel")
    (tmp_path / "in.json").write_text('{"id": 1}\n')
    (tmp_path / "job.conf").write_text(LEAKS.replace("in.json", str(tmp_path / "in.json")))
    words = [sys.executable, "-m", "seatunnel_py", "run", "job.conf", "--job-id", "one", "--here"]
    environment = {"SEATUNNEL_HOME": str(home.path), "PATH": "/usr/bin:/bin"}
    assert subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode != 0
    with serving(tmp_path, with_settings(), home) as own:
        assert own.get("/job-info/one").json()["jobStatus"] == "FAILED"
        for route in EVERY:
            if route.method == "GET":
                answer = call(own, route, Role.ADMIN)
                assert "canary-9c" not in answer.text, route.path
