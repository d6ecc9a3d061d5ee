"""A stream over SeaTunnel's API, with real drivers: submitted, watched, stopped with a savepoint, resumed, forced."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from seatunnel_py.control.store.tokens import Role
from tests.web.running import Served, serving
from tests.web.seatunnel_api import shapes
from tests.web.seatunnel_api.conftest import API
from tests.web.seatunnel_api.shapes import require_shape

STREAM = """
env { job.mode = STREAMING, checkpoint.interval = 1000 }
source { FakeSource { row.num = 100000, split.num = 100000, split.read-interval = 20
                      schema { table = "shop.s", fields { id = bigint } } } }
sink { Console { log.print.data = false } }
"""


def until(served: Served, job: str, *statuses: str, rows: int = 0, committed: int = 0) -> dict[str, Any]:
    """Wait for a status, and for so many rows that were read and committed."""
    end = time.monotonic() + 150
    seen = []
    while True:
        found: dict[str, Any] = served.get(f"/job-info/{job}").json()
        seen.append(found["jobStatus"])
        counts = found["metrics"]
        enough = int(counts["SourceReceivedCount"]) >= rows and int(counts["SinkCommittedCount"]) >= committed
        if found["jobStatus"] in statuses and enough:
            require_shape(found, shapes.JOB)
            return found
        output = served.home.path / "server" / "output" / f"{job}.log"
        assert time.monotonic() < end, (seen[-5:], found, output.read_text() if output.exists() else "")
        time.sleep(0.2)


def test_a_stream_over_the_api(tmp_path: Path) -> None:
    """Each answer comes when the wish is stored; the states follow, as SeaTunnel names them."""
    with serving(tmp_path, API) as own, own.client(Role.EDIT) as client:
        submitted = client.post("/submit-job?format=hocon&jobId=8001&jobName=stream", content=STREAM)
        assert submitted.json() == {"jobId": "8001", "jobName": "stream"}
        until(own, "8001", "RUNNING", rows=20)
        time.sleep(2)  # a rate is the difference of two looks
        running = until(own, "8001", "RUNNING")
        assert float(running["metrics"]["SourceReceivedQPS"]) > 0
        assert 0 < int(running["metrics"]["SinkCommittedCount"]) <= int(running["metrics"]["SourceReceivedCount"])
        (listed,) = client.get("/running-jobs").json()
        assert (listed["jobId"], listed["finishTime"], listed["errorMsg"]) == ("8001", "", None)
        assert client.get("/overview").json()["runningJobs"] == "1"

        stopped = client.post("/stop-job", json={"jobId": 8001, "isStopWithSavePoint": True})
        assert (stopped.status_code, stopped.json()) == (200, {"jobId": "8001"})
        saved = until(own, "8001", "SAVEPOINT_DONE")
        assert saved["finishTime"] and not saved["isStartWithSavePoint"]
        (pipeline,) = client.get("/jobs/checkpoints/8001").json()["pipelines"]
        assert pipeline["latestSavepoint"]["checkpointType"] == "SAVEPOINT_TYPE"

        other = client.post("/submit-job?format=hocon&jobId=8001&isStartWithSavePoint=true", content=STREAM)
        assert (other.status_code, "another one" in other.json()["message"]) == (409, True)
        path = "/submit-job?format=hocon&jobId=8001&jobName=stream&isStartWithSavePoint=true"
        assert client.post(path, content=STREAM).json()["jobId"] == "8001"
        again = until(own, "8001", "RUNNING", rows=int(saved["metrics"]["SourceReceivedCount"]) + 1)
        assert again["isStartWithSavePoint"] and again["createTime"] == running["createTime"]

        row = own.context.index.look("8001")
        assert row is not None and row.process is not None
        os.kill(row.process.pid, signal.SIGSTOP)  # a driver that hangs: it answers no request
        assert client.post("/stop-job", json={"jobId": "8001", "force": True}).json() == {"jobId": "8001"}
        assert until(own, "8001", "CANCELED", "FAILED")["jobStatus"] == "FAILED"
        assert "it was killed" in client.get("/job-info/8001").json()["errorMsg"]
        assert client.post("/stop-job", json={"jobId": "8001"}).status_code == 200
        end = time.monotonic() + 30
        while own.context.control.commands.launcher.child_of("8001") is not None:
            assert time.monotonic() < end, "the server has not noted the end of its child"
            time.sleep(0.1)
