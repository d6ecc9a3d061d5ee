"""A stop with force, with a real driver that hangs, and a server that is killed in between."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from e2e.server.hosted import Hosted
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.runtime.control.requests import RequestKind

GRACE_SECONDS = 4.0


def test_u17_the_next_server_kills_a_driver_that_was_to_end_with_force(tmp_path: Path) -> None:
    """It is given up, so it is not restored."""
    hosted = Hosted(tmp_path)
    try:
        hosted.define("shop")
        hosted.begin()
        run = hosted.start("shop")
        hosted.until_moving(run)
        os.kill(hosted.pid(run), signal.SIGSTOP)
        force = Act("tester", "run.force")
        hosted.commands.send(run, RequestKind.CANCEL, force, seconds=GRACE_SECONDS, forced=True)
        hosted.kill()
        assert hosted.drivers()[run]

        hosted.begin()
        hosted.until("its end", lambda: hosted.intents(run)[-1].state is IntentState.ENDED, 60)
        assert hosted.drivers() == {} and hosted.wish("shop").run is None and len(hosted.intents(run)) == 1
        assert [act.result for act in hosted.acts("run.kill")] == ["done"]
    finally:
        hosted.end()
