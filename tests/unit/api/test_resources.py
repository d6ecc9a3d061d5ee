"""What a process keeps between units, and what it does not take over from its parent."""

from __future__ import annotations

import os
import time

import pytest

from seatunnel_py.api.process import resources
from seatunnel_py.api.process.resources import borrow


class Client:
    """Tells when it is closed, and ends the process that collects it, as native clients do in a child."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(17)


def test_what_works_is_used_again_and_what_failed_is_closed() -> None:
    with borrow("test-again", Client, Client.close) as first:
        pass
    try:
        with borrow("test-again", Client, Client.close) as second:
            raise ConnectionError
    except ConnectionError:
        pass
    with borrow("test-again", Client, Client.close) as third:
        pass

    assert second is first and first.closed == 1
    assert third is not first


def test_a_child_neither_uses_nor_closes_nor_collects_what_its_parent_opened() -> None:
    """The last one killed workers: librdkafka's threads are not there in a child."""
    with borrow("test-fork", Client, Client.close) as parents:
        pass
    child = os.fork()
    if not child:
        with borrow("test-fork", Client, Client.close) as own:
            os._exit(0 if own is not parents and not parents.closed else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_lay_idle_for_long_is_closed_and_not_lent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4-F5: behind a connection that was lost without a word a unit waited until it was cut."""
    closed: list[str] = []
    made = iter(["first", "second"])

    def lent() -> str:
        with borrow("lies idle", lambda: next(made), closed.append) as resource:
            return resource

    assert lent() == lent() == "first"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + resources.IDLE_SECONDS_MAX + 1)
    assert lent() == "second"
    assert closed == ["first"]
