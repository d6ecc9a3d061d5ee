"""A30: those who look at a job are served from its files: its driver does the same, whether one looks or fifty."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.server.running import client, server
from e2e.server.viewers import VIEWERS, middle, started, tokens_of, work

SECONDS, TURNS = 5.0, 3
MORE = 1.5
"""What a loaded machine may add. A driver that answered viewers would do many times of its work."""


@pytest.mark.timeout(600)
def test_a30_fifty_viewers_give_a_driver_no_work(tmp_path: Path) -> None:
    """Processor time, calls of the kernel and bytes of the driver, not times of a machine that is busy with viewers."""
    with server(tmp_path) as (_, url), client(url, tmp_path) as api:
        tokens = tokens_of(api)
        run, pid = started(api, tmp_path)
        try:
            found = [work(api, url, tokens, run, pid, number, SECONDS) for _ in range(TURNS) for number in (0, VIEWERS)]
        finally:
            api.post(f"/api/v1/runs/{run}/cancel", json={}).raise_for_status()
    assert all(one.rows > 0 for one in found), found
    assert all(one.events >= 2 for one in found if one.viewers), found
    for name in ("cores", "reads", "writes", "written"):
        without, beside = (middle(found, number, name) for number in (0, VIEWERS))
        assert beside <= MORE * without, (name, without, beside, found)
