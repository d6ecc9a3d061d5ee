"""Sends the events of a job to its listeners: the log, the progress display, hooks of other packages."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import pluggy

from seatunnel_py.runtime.diagnosis.job_log import JobLog
from seatunnel_py.runtime.observe.events import JobEvent

Listener: TypeAlias = Callable[[JobEvent], object]


class Listeners:
    """Calls all listeners. A listener that raises (a faulty hook, a closed terminal) is logged once and not called
    again, so that it stops neither the job nor the other listeners."""

    def __init__(self, log: JobLog, listeners: Iterable[Listener]) -> None:
        self._log = log
        self._listeners: list[Listener] = [log, *listeners]

    def __call__(self, event: JobEvent) -> None:
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - see above
                self._listeners.remove(listener)
                self._note(error)

    def _note(self, error: Exception) -> None:
        with contextlib.suppress(OSError):  # the log itself may have failed: its disk is full
            about = {"message": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
            self._log.write("ERROR", "listener_failed", about)


def hook_listeners(manager: pluggy.PluginManager) -> Iterator[Listener]:
    """One listener per package with a hook, so that a faulty one does not affect the others."""
    plugins = manager.get_plugins()
    for plugin in plugins:
        caller = manager.subset_hook_caller("seatunnel_job_event", [other for other in plugins if other is not plugin])
        if caller.get_hookimpls():
            yield _told_by_name(caller)


def _told_by_name(caller: pluggy.HookCaller) -> Listener:
    """Wrap a hook, because pluggy takes arguments by name only."""
    return lambda event: caller(event=event)
