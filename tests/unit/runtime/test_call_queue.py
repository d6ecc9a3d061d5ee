"""The queue of a driver's loop: calls in their order, none lost, and no wait that outlasts its time."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import seatunnel_py
from seatunnel_py.runtime.driver.call_queue import CallQueue

PATIENCE_SECONDS = 20.0
PRODUCT = ("seatunnel_py", "connectors", "plugins")


def made(number: int) -> Callable[[], int]:
    return lambda: number


def test_a_wait_of_a_microsecond_ends() -> None:
    """A driver whose next timer was due at once slept for ever: ``queue.SimpleQueue`` took the rest for no limit."""
    calls = CallQueue()

    def wait() -> None:
        for seconds in (0.0, 1e-9, 1e-7, 1e-6, 1e-5) * 200:
            calls.put(lambda: None)
            assert calls.get(seconds) is not None
            assert calls.get(seconds) is None

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(PATIENCE_SECONDS)
    assert not waiting.is_alive()


def test_no_other_queue_of_the_product_waits_in_that_way() -> None:
    root = Path(seatunnel_py.__file__).parents[1]
    texts = {one: one.read_text() for part in PRODUCT for one in (root / part).rglob("*.py")}
    using = {one for one, text in texts.items() if "SimpleQueue(" in text}
    assert using, "the local engine has one, which waits without a limit"
    assert [one.name for one in using if re.search(r"\.get\([^)\n]*timeout", texts[one])] == []


def test_calls_of_many_threads_come_in_the_order_of_each() -> None:
    calls, per_thread = CallQueue(), 2_000

    def put(first: int) -> None:
        for number in range(first, first + per_thread):
            calls.put(made(number))

    threads = [threading.Thread(target=put, args=[at * per_thread]) for at in range(4)]
    for one in threads:
        one.start()
    found = []
    while len(found) < 4 * per_thread:
        call = calls.get(PATIENCE_SECONDS)
        assert call is not None, f"{len(found)} have come"
        found.append(call())
    for at in range(4):
        of = [number for number in found if number // per_thread == at]
        assert of == list(range(at * per_thread, (at + 1) * per_thread))
    assert calls.get(0.0) is None


def test_a_signal_handler_wakes_the_loop() -> None:
    """As the stop of a driver: the handler runs in the thread that waits."""
    calls = CallQueue()
    before = signal.signal(signal.SIGUSR1, lambda *_: calls.put(made(7)))
    try:
        timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR1])
        timer.start()
        began = time.monotonic()
        call = calls.get(None)
        assert call is not None and call() == 7
        assert time.monotonic() - began < PATIENCE_SECONDS
    finally:
        signal.signal(signal.SIGUSR1, before)
