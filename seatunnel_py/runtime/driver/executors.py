"""Runs blocking tasks of the loop on other threads: a few for plugins, one for the store, one for the engine.

The result of a task is reported on the loop's own thread, through ``post``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.target_batcher import Failed, Then

Awaited = TypeVar("Awaited")

SIDE_THREADS = 4  # statements in flight against targets beside the data; more only queues up inside the target


class _Threads:
    """Runs tasks of one caller in their order on a few threads, which start when they are needed.
    ``ThreadPoolExecutor`` takes 45 microseconds more of the loop for each task, for a future that is never read: 60 ms
    of a job of 200 tables."""

    def __init__(self, count: int, name: str) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._count = count
        self._name = name
        self._started: list[threading.Thread] = []
        self._closed = False

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task that raises nothing, soon. Raises RuntimeError after the end: no thread would take it."""
        if self._closed:
            raise RuntimeError(f"no task is taken after the end of the threads {self._name!r}")
        self._tasks.put(task)
        if len(self._started) < self._count:
            thread = threading.Thread(target=self._run, name=f"{self._name}_{len(self._started)}")
            self._started.append(thread)
            thread.start()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            del task  # what it refers to would live until the next one

    def close(self) -> None:
        """Wait until all tasks are done. Idempotent."""
        self._closed = True
        for _ in self._started:
            self._tasks.put(None)
        for thread in self._started:
            thread.join()


class Executors:
    """Runs the blocking tasks of one loop."""

    def __init__(self, post: Callable[[Callable[[], None]], None]) -> None:
        self._post = post
        self._side = _Threads(SIDE_THREADS, "side")
        self._writer = _Threads(1, "store")
        self._engine = _Threads(1, "engine")

    def await_(self, task: Callable[[], Awaited], turn: Callable[[], None]) -> Awaited:
        """Run a task on its own thread, and take turns of the loop until it has a result."""
        awaited: Future[Awaited] = Future()

        def work() -> None:
            try:
                awaited.set_result(task())
            except BaseException as error:  # noqa: BLE001 - raised where the result is taken
                awaited.set_exception(error)
            self._post(lambda: None)  # a turn

        threading.Thread(target=work, name="awaited", daemon=True).start()
        while not awaited.done():
            turn()
        return awaited.result()

    def aside(self, task: Callable[[], Any], then: Then, failed: Failed) -> None:
        """Run a blocking task, in parallel with other ones."""

        def work() -> None:
            try:
                value = task()
            except BaseException as error:  # noqa: BLE001 - an error of a plugin ends its table, not the loop
                failure = as_failure(error)
                self._post(lambda: failed(failure))
            else:
                self._post(lambda: then(value))

        self._side.submit(work)

    def write(self, task: Callable[[], Any], then: Callable[[BaseException | None], None]) -> None:
        """Run a write to the store; writes run one after the other."""

        def work() -> None:
            error: BaseException | None = None
            try:
                task()
            except BaseException as caught:  # noqa: BLE001 - the protocol decides what follows; later writes need the thread
                error = caught
            self._post(lambda: then(error))

        self._writer.submit(work)

    def of_engine(self, task: Callable[[], None]) -> None:
        """Run a call of the engine that may block; calls run one after the other. The task has no result; an error ends
        the loop."""

        def work() -> None:
            try:
                task()
            except BaseException as error:  # noqa: BLE001 - raised on the loop
                failure = error
                self._post(lambda: _raise(failure))

        self._engine.submit(work)

    def close(self) -> None:
        """Wait for all tasks."""
        for threads in (self._side, self._writer, self._engine):
            threads.close()


def _raise(error: BaseException) -> None:
    raise error
