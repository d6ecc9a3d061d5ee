"""Bar 4 of the server in a short form: ``python -m e2e.server_kills`` is the long one."""

from __future__ import annotations

import random
from pathlib import Path

from e2e.server_kills.campaign import Campaign
from e2e.server_kills.twenty_jobs import twenty_jobs

SECONDS = 18.0


def test_bar4_no_job_is_lost_or_doubled_under_a_server_that_is_killed(tmp_path: Path) -> None:
    """O2: No audit line is missing, each row is there once, and without the database each run is found."""
    jobs = twenty_jobs(tmp_path, streams=3, batches=5, often=3.0)
    campaign = Campaign(tmp_path, random.Random(4), jobs=jobs, max_running=6)
    try:
        campaign.run(SECONDS)
    finally:
        campaign.end()
    assert campaign.faults == [], campaign.told
    assert campaign.kills > 3
