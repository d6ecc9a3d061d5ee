"""The command `seatunnel`, which also measures the processor time of its live numbers.

    python -m bench.timed_driver run JOB --json

At its end it writes seconds to the file that the variable LIVE_TIMES names. "live": counters, waits and the sign of
life, on the loop, and writing them on a side thread, without the time that reading the clock takes. "python" and "jvm":
the two processes of the driver.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from bench import cpu
from seatunnel_py.__main__ import GARBAGE_AFTER

VARIABLE = "LIVE_TIMES"
_seconds: Counter[str] = Counter()


def timed(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The call, with its thread's processor time counted, without that of reading the clock, which is measured each
    time: it depends on what else the processor does."""

    @wraps(call)
    def measured(*arguments: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return call(*arguments, **named)
        finally:
            ended = time.thread_time()
            _seconds[name] += ended - began - (time.thread_time() - ended)

    return measured


def _time_live_numbers() -> None:
    from seatunnel_py.runtime.control.request_handler import RequestHandler
    from seatunnel_py.runtime.diagnosis.live_counters import LiveCounters
    from seatunnel_py.runtime.diagnosis.stall_detector import StallDetector

    for place, name in ((LiveCounters, "saw"), (LiveCounters, "due"), (LiveCounters, "last"), (StallDetector, "look")):
        setattr(place, name, timed(getattr(place, name), f"{place.__name__}.{name}"))
    begin = RequestHandler.__init__

    def begin_timed(handler: RequestHandler, *arguments: Any, **named: Any) -> None:
        begin(handler, *arguments, **named)
        handler._count, handler._show = timed(handler._count, "written"), timed(handler._show, "shown")

    RequestHandler.__init__ = begin_timed  # type: ignore[method-assign]  # its two calls are given to it


def main() -> None:
    gc.set_threshold(GARBAGE_AFTER)  # before the imports, as the command does
    from seatunnel_py.cli.main import app

    _time_live_numbers()
    try:
        app()
    finally:
        found: dict[str, Any] = {"live": sum(_seconds.values()), "parts": _seconds}
        found |= {"python": time.process_time(), "jvm": cpu.of_jvm(os.getpid())}
        Path(os.environ[VARIABLE]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
