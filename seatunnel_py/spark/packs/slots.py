"""Implements a slot: the driver's end of a worker that stays (``slot_task.py``), and the Spark job that it runs in.

Rules. (1) A worker is started before a pack is taken: if none comes another slot takes it. (2) A worker whose
connection breaks is finished: its received results count, the pack's journal holds the rest, and the next pack gets
another worker. (3) Spark knows why a worker ended, so the slot waits for the end of its job.
"""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection

from seatunnel_py.spark.packs.deadline import overdue
from seatunnel_py.spark.packs.pack_runners import WorkerGoneError
from seatunnel_py.spark.packs.pack_task import Pack, pickled, unsendable
from seatunnel_py.spark.packs.slot_task import run_slot
from seatunnel_py.spark.packs.worker_listener import Run, WorkerListener
from seatunnel_py.work.unit import UnitResult, result_from_plain

END_SECONDS_MAX = 10.0  # Spark notices a worker's death within a moment


class Slot:
    """One runner of packs (``pack_runners.py``). ``run`` and ``cancel`` call Spark, from any thread."""

    def __init__(self, name: str, board: WorkerListener, run: Run, cancel: Callable[[str], None]) -> None:
        self._name, self._board, self._run, self._cancel = name, board, run, cancel
        self._calls = 0
        self._line: Connection | None = None
        self._ended: Future[str] = Future()
        self.group = ""
        self.called = False

    def expect(self) -> None:
        self.begin()
        with suppress(WorkerGoneError):  # it will be started again
            self._line = self._line or self._answered()

    def begin(self) -> None:
        if self._line is not None and self._line.poll():
            self._hang_up()  # its only message is its end
        if self._line is None:
            self._calls += 1
            self.group = f"{self._name}-{self._calls}"

    def results(self, pack: Pack) -> Iterator[Sequence[UnitResult]]:
        try:
            message = pickle.dumps((pack.units, pickled(pack.chains), str(pack.journal)), protocol=5)
        except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
            yield unsendable(pack, error)
            return
        line = self._line = self._line or self._answered()
        late = overdue(sum(unit.deadline_seconds for unit in pack.units), self._cancel, self.group)
        missing = len(pack.units)
        try:
            line.send_bytes(message)
            while missing:
                told = tuple(map(result_from_plain, json.loads(line.recv_bytes())))
                missing -= len(told)
                yield told
        except (OSError, EOFError) as error:
            raise WorkerGoneError(self._parted()) from error
        finally:
            late.cancel()
            if missing and self._line is not None:
                self._hang_up()  # later messages belong to no other pack

    def close(self) -> None:
        if self._line is not None:
            self._hang_up()
            with suppress(TimeoutError):
                self._ended.result(END_SECONDS_MAX)  # its core is free

    def _hang_up(self) -> None:
        assert self._line is not None, "somebody is there"
        self._line.close()
        self._line = None

    def _answered(self) -> Connection:
        answered: Future[Connection] = Future()
        ended = self._ended = Future[str]()
        group = self.group

        def answer(line: Connection) -> None:
            try:
                answered.set_result(line)
            except InvalidStateError:
                line.close()  # its task has ended meanwhile

        try:
            address = self._board.expect(group, answer)
        except OSError as error:
            raise WorkerGoneError(f"no worker can call: {error}") from error
        task = partial(run_slot, address, self._board.key, group)

        def serve() -> None:
            reason = self._run(group, "packs", task)
            self._board.forget(group)
            ended.set_result(reason)
            with suppress(InvalidStateError):
                answered.set_exception(WorkerGoneError(reason))

        self.called = True
        threading.Thread(target=serve, name=group, daemon=True).start()
        try:
            return answered.result()
        finally:
            self.called = False

    def _parted(self) -> str:
        """End the worker; return why it ended."""
        self._hang_up()
        try:
            return self._ended.result(END_SECONDS_MAX) or "the worker has left"
        except TimeoutError:
            return "the worker has hung up"
