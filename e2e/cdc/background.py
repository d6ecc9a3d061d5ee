"""Work beside a test, such as that of a writer."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Background(ABC):
    """Works on a thread of its own until the block ends, which raises its failure. ``stopped``: the work has to end."""

    def __init__(self, name: str) -> None:
        self.stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name)

    @abstractmethod
    def work(self) -> None:
        """Work until ``stopped`` is set."""

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - raised where the block ends
            self._failure = error

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
