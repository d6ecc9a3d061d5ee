"""``kill -9`` of whoever commits, at each named moment, and the next driver: every row once, in order (p8 to p12)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from seatunnel_connectors.kafka import failpoints
from seatunnel_py.api import Piece
from seatunnel_py.api.process.failpoints import Failpoint
from tests.connectors.kafka.sink_support import Job, records, rows, splits, whole
from tests.servers.kafka import KafkaServer

ROOT = Path(__file__).parents[3]
MOMENTS = [
    point.name
    for point in vars(failpoints).values()
    if isinstance(point, Failpoint) and point.name.startswith("kafka.commit.")
]
COMMIT = """
import json, sys
from pathlib import Path
from seatunnel_py.api import Piece, Setup
from tests.connectors.kafka.sink_support import Job

told = json.loads(sys.argv[1])
setup = Setup(data=told["setup"])
job = Job(told["bootstrap"], told["topic"], Path(told["staging"]), told["job"], told["lineage"], 2, setup=setup)
job.recover(told["checkpoint"] - 1)
job.commit(told["checkpoint"], *(Piece(**piece) for piece in told["pieces"]))
"""


def killed(job: Job, moment: str, checkpoint: int, *pieces: Piece) -> None:
    """The second driver goes on with the job, and dies there."""
    assert job.setup is not None
    told = {
        "bootstrap": job.bootstrap, "topic": job.topic, "staging": str(job.staging), "job": job.job_id,
        "lineage": job.lineage, "setup": dict(job.setup.data), "checkpoint": checkpoint,
        "pieces": [asdict(piece) for piece in pieces],
    }  # fmt: skip
    hits = job.staging.parent / "hits"
    hits.mkdir()
    env = {**os.environ, "SEATUNNEL_FAILPOINT": f"{moment}:kill", "SEATUNNEL_FAILPOINT_DIR": str(hits)}
    done = subprocess.run(
        [sys.executable, "-c", COMMIT, json.dumps(told)], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_there_are_moments_to_die_at() -> None:
    assert len(MOMENTS) >= 6


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_commit_that_is_cut_short_is_made_once(kafka: KafkaServer, topic: str, tmp_path: Path, moment: str) -> None:
    job = Job(kafka.dsn, topic, tmp_path / "staged", job_id=topic, lineage=topic).started()
    job.commit(1, job.stage("0@0", rows(0, 0, 100)), job.stage("1@0", rows(1, 0, 100)))
    pieces = job.stage("0@100", rows(0, 100, 100)), job.stage("1@100", rows(1, 100, 100))

    killed(job, moment, 2, *pieces)
    third = job.restarted().restarted()
    done = third.recover(2)
    assert done in (1, 2)
    third.commit(2, *pieces)
    third.commit(3, third.stage("0@200", rows(0, 200, 100)), final=True)

    assert splits(records(kafka.dsn, topic)) == whole((0, range(300)), (1, range(200)))
    assert third.staged_files() == []
