"""Tasks beside the loop of a driver: all are done before its end, and each answers on the loop."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from seatunnel_py.runtime.driver.executors import SIDE_THREADS, Executors


class Loop:
    """Calls that were posted, in their order."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.executors = Executors(self.calls.append)

    def ended(self) -> None:
        """Close the executors, then make all calls."""
        self.executors.close()
        for call in self.calls:
            call()


def slowly(number: int) -> int:
    time.sleep(0.002)
    return number


def test_the_end_waits_for_all_tasks_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    loop, stored = Loop(), list[int]()
    done: list[Any] = []
    for number in range(50):
        loop.executors.aside(partial(slowly, number), done.append, done.append)
        loop.executors.write(partial(stored.append, number), done.append)
    loop.ended()
    assert stored == list(range(50))  # one after the other, in their order
    assert sorted(one for one in done if one is not None) == list(range(50))
    assert done.count(None) == 50
    assert set(threading.enumerate()) <= before


def test_as_many_tasks_run_at_a_time_as_there_are_threads() -> None:
    loop = Loop()
    together = threading.Barrier(SIDE_THREADS, timeout=30)
    met: list[Any] = []
    for _ in range(SIDE_THREADS):
        loop.executors.aside(together.wait, met.append, met.append)
    loop.ended()
    assert sorted(met) == list(range(SIDE_THREADS))


def test_a_task_that_fails_is_answered_and_the_next_one_runs() -> None:
    loop = Loop()
    answers: list[Any] = []

    def fails() -> None:
        raise OSError("full")

    loop.executors.aside(fails, answers.append, lambda failure: answers.append(failure.message))
    loop.executors.write(fails, lambda error: answers.append(type(error)))
    loop.executors.write(lambda: None, answers.append)
    loop.ended()
    assert set(answers) == {"OSError: full", OSError, None}


def test_a_write_that_ends_its_thread_is_answered_and_the_next_one_runs() -> None:
    loop = Loop()
    answers: list[Any] = []
    loop.executors.write(lambda: sys.exit(1), lambda error: answers.append(type(error)))
    loop.executors.write(lambda: None, answers.append)
    loop.ended()
    assert answers == [SystemExit, None]


def test_no_task_is_taken_after_the_end() -> None:
    loop = Loop()
    loop.ended()
    with pytest.raises(RuntimeError, match="'store'"):
        loop.executors.write(lambda: None, lambda error: None)
    loop.executors.close()


def test_no_thread_starts_without_a_task() -> None:
    before = threading.active_count()
    Loop().ended()
    assert threading.active_count() == before
