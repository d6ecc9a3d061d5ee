"""Every endpoint of SeaTunnel's API answers what is stored, and has the names, types and nesting of SeaTunnel."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web.rest_v2.rest_v2_table import V1, V2
from tests.web.running import Served
from tests.web.seatunnel_api import shapes
from tests.web.seatunnel_api.golden import compare
from tests.web.seatunnel_api.shapes import require_shape

HOCON = """
env { job.mode = batch }
source { FakeSource { row.num = 7, schema { table = "shop.t", fields { id = bigint } } } }
sink { Console {} }
"""
JSON: dict[str, Any] = {
    "env": {"job.mode": "batch", "job.name": "its own"},
    "source": [{"plugin_name": "FakeSource", "schema": {"fields": {"id": "bigint"}}}],
    "sink": [{"plugin_name": "Console"}],
}
ONE = "8544106591765445504"
READ = [
    ("overview", "/overview", "/overview", shapes.OVERVIEW),
    ("running-jobs", "/running-jobs", "/running-jobs", [shapes.JOB]),
    ("running-jobs-page", "/running-jobs?page=1&rows=5", "/running-jobs", {"data": [shapes.JOB], "total": int}),
    ("pending-jobs", "/pending-jobs", "/pending-jobs", shapes.PENDING),
    ("job-info", f"/job-info/{ONE}", "/job-info/{job}", shapes.JOB),
    ("job-info-partial", "/job-info/half", "/job-info/{job}", shapes.JOB),
    ("job-info-failed", "/job-info/whole", "/job-info/{job}", shapes.JOB),
    ("job-info-unknown", "/job-info/4444", "/job-info/{job}", {"jobId": str}),
    ("job-info", "/running-job/one", "/running-job/{job}", shapes.JOB),
    ("failures", "/job-info/whole/failures", "/job-info/{job}/failures", [shapes.FAILURE]),
    ("finished-jobs-page", "/finished-jobs?page=1&rows=1", "/finished-jobs", {"data": [shapes.JOB], "total": int}),
    ("finished-jobs-failed", "/finished-jobs/FAILED", "/finished-jobs/{state}", [shapes.JOB]),
    ("system-monitoring", "/system-monitoring-information", "/system-monitoring-information", [shapes.MACHINE]),
    ("checkpoints", f"/jobs/checkpoints/{ONE}", "/jobs/checkpoints/{job}", shapes.CHECKPOINTS),
    ("checkpoint-history", f"/jobs/checkpoints/history/{ONE}", "/jobs/checkpoints/history/{job}", [shapes.RECORD]),
    ("option-rules", "/option-rules?type=sink&plugin=Console", "/option-rules", shapes.OPTION_RULES),
    ("logs", "/logs?format=json", "/logs", shapes.LOGS),
    ("log", f"/logs/{ONE}?format=json", "/logs/{job}", shapes.LOGS),
]
WRITTEN: list[tuple[str, str, Any, Any]] = [
    ("submit-job", "/submit-job?format=hocon&jobId=4711&jobName=from a client", HOCON, shapes.SUBMITTED),
    ("submit-job-json", "/submit-job?jobId=4712", JSON, shapes.SUBMITTED),
    ("submit-job-taken", "/submit-job?jobId=4712", JSON, shapes.FAIL),
    ("submit-job-sql", "/submit-job?format=sql", "SELECT 1", shapes.FAIL),
    ("submit-job-wrong", "/submit-job?format=hocon", HOCON.replace("Console {}", "Console {"), shapes.FAIL),
    ("submit-jobs", "/submit-jobs", [{"params": {"jobId": "4713", "jobName": "a"}, **JSON}, {"params": {}}], [{}]),
    ("stop-job", "/stop-job", {"jobId": 4711, "isStopWithSavePoint": False}, {"jobId": str}),
    ("stop-job-unknown", "/stop-job", {"jobId": 4444}, shapes.FAIL),
    ("stop-jobs", "/stop-jobs", [{"jobId": "4712"}, {"jobId": 4713, "force": True}, {"jobId": 1}], [{"jobId": str}]),
    ("encrypt-config", "/encrypt-config", {**JSON, "env": {"shade.identifier": "base64"}}, {}),
    ("update-tags", "/update-tags", {"zone": "a"}, shapes.FAIL),
    ("update-tags-empty", "/update-tags", "", shapes.FAIL),
]


@pytest.mark.parametrize(("name", "path", "route", "shape"), READ, ids=[path for _, path, _, _ in READ])
def test_an_endpoint_answers_what_is_stored(api: Served, name: str, path: str, route: str, shape: Any) -> None:
    """Also below the older paths."""
    answer = api.get(path)

    assert answer.status_code == 200, answer.text
    require_shape(answer.json(), shape)
    compare(name, answer.json())
    assert api.get(f"{V1}{path}").json().__class__ is answer.json().__class__
    assert route in {one.path for one in V2}


def test_jobs_are_submitted_and_stopped_as_stored(own_api: Served) -> None:
    """In this order: the queue holds them until they are dropped."""
    with own_api.client(Role.ADMIN) as client:
        for name, path, body, shape in WRITTEN:
            content = body if isinstance(body, str) else json.dumps(body)
            answer = client.post(path, content=content)
            require_shape(answer.json(), shape)
            compare(name, {"status": answer.status_code, "body": answer.json()})
            if name == "submit-job":
                pending = queued(own_api)
                compare("job-info-pending", client.get("/job-info/4711").json())
                require_shape(pending, shapes.PENDING)
                compare("pending-jobs-one", pending)
        form = {"config_file": ("job.conf", HOCON)}
        compare("submit-upload", client.post("/submit-job/upload?jobId=4714&jobName=up", files=form).json())
        client.post("/stop-job", json={"jobId": "4714"})
        compare("job-info-dropped", client.get("/job-info/4714").json())


def queued(api: Served) -> Any:
    """The queue once the supervisor has looked at it."""
    end = time.monotonic() + 60
    while not (found := api.get("/pending-jobs").json())["pendingJobs"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_every_endpoint_has_a_stored_answer() -> None:
    """A route that is added needs one, or its own test: log files are texts."""
    tested = {route for _, _, route, _ in READ} | {path.partition("?")[0] for _, path, _, _ in WRITTEN}
    others = {"/submit-job/upload", "/log/{job}"}

    assert tested | others == {one.path for one in V2}


def test_a_log_is_text_and_no_other_file(api: Served) -> None:
    """U27: a name is a job, never a path."""
    for path in (f"/logs/job-{ONE}.log", f"/log/job-{ONE}.log", f"/log/{ONE}"):
        answer = api.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    for name in ("job-../../server/admin.token.log", "job-..%2f..%2fserver.db.log", "admin.token", "job-.log"):
        assert api.get(f"/log/{name}").status_code == 404
    assert f"job-{ONE}.log" in api.get("/logs").text
