"""Runs a worker that stays: one Spark task that runs pack after pack as the driver sends them, until the driver hangs
up.

A Spark job costs 30 ms of processor time, as much as a dozen small tables; a message costs nothing. Packs are the same
as everywhere, with a journal each.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from seatunnel_py.spark.packs.pack_task import run_pack, take_all
from seatunnel_py.spark.packs.worker_listener import called, heard

TELL_SECONDS = 0.1  # results sent together are made durable together: each by itself costs 2 ms


def run_slot(address: tuple[str, int], key: bytes, name: str, rows: Iterable[Any]) -> Iterator[str]:
    """Make a function for ``mapPartitions``; yield nothing. ``key`` authenticates both ends to each other."""
    take_all(rows)
    with called(address, key, name) as line:
        telling = _ResultSender(line)
        while message := heard(line):
            units, sent, journal = pickle.loads(message)
            for result in run_pack(units, sent, journal, ()):
                telling.add(result)
            telling.now()
    yield from ()


class _ResultSender:
    """Results as JSON, some at a time; none waits for the next unit of its pack, which may take long."""

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._timer: threading.Timer | None = None

    def add(self, result: str) -> None:
        with self._lock:
            self._waiting.append(result)
            if self._timer is None:
                self._timer = threading.Timer(TELL_SECONDS, self.now)
                self._timer.daemon = True
                self._timer.start()

    def now(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._waiting:
                message = f"[{','.join(self._waiting)}]".encode()
                self._waiting = []
                # If the driver has hung up the journal holds the result, and the next message is the end.
                with suppress(ConnectionError):
                    self._line.send_bytes(message)
