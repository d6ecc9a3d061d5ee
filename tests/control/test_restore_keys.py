"""A restore, or a stop, whose answer was lost is asked again with its key: it is done once."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import IdempotencyKeyError
from seatunnel_py.runtime.control.requests import RequestKind, RequestStore
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from tests.control.world import Crash, Server, World

RESTORE = Act("tester", "run.restore")


def stopped(world: World) -> tuple[Server, str]:
    server = Server(world)
    server.define()
    run = server.start()
    server.go(3)
    world.end(run, "STOPPED", stopped_by=143)
    server.go(2)
    return server, run


def test_a_server_killed_at_any_step_of_a_restore_starts_one_driver(tmp_path: Path) -> None:
    """O2: The second request has the answer of the first one, also while the driver is alive."""
    for steps in count():
        world = World(tmp_path / str(steps))
        server, run = stopped(world)
        world.crash_at = steps
        crashed = False
        try:
            server.commands.restore(run, RESTORE, key="k", body_digest="d")
            server.go(3)
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world)
        made = second.commands.restore(run, RESTORE, key="k", body_digest="d")
        second.go(100)
        assert second.commands.restore(run, RESTORE, key="k", body_digest="d").id == made.id
        assert second.commands.repeated("k", "d") is not None

        assert len(world.spawned) - len(world.refused) == 2 and list(world.drivers) == [run]
        assert [act.result for act in second.acts("run.restore")].count("done") == 1
        if not crashed:
            break
    assert steps >= 5, "before and after each transaction, and the spawn"


def test_a_key_is_of_one_request(tmp_path: Path) -> None:
    server, run = stopped(World(tmp_path))
    server.commands.restore(run, RESTORE, key="k", body_digest="d")
    with pytest.raises(IdempotencyKeyError):
        server.commands.restore(run, RESTORE, key="k", body_digest="other")
    assert server.commands.repeated("", "") is None and server.commands.repeated("new", "d") is None


def test_a_server_killed_at_any_step_of_a_stop_sends_one_request(tmp_path: Path) -> None:
    """O24: One that was lost between the audit and its record is sent with its id; the audit has it done once."""
    act = Act("tester", "run.cancel")
    for steps in count():
        world = World(tmp_path / str(steps))
        server = Server(world)
        server.define()
        run = server.start()
        server.go(3)
        world.crash_at = steps
        crashed = False
        try:
            server.commands.send(run, RequestKind.CANCEL, act, key="k", body_digest="d")
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world)
        made = second.commands.send(run, RequestKind.CANCEL, act, key="k", body_digest="d")
        assert [one.id for one in RequestStore(LocalStorage(world.home.place(run).path)).open()] == [made]
        assert [one.result for one in second.acts("run.cancel")].count("done") == 1
        if not crashed:
            break
    assert steps == 2, "before and after the transaction"
