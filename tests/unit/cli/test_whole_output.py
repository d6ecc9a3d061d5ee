"""What a command prints arrives whole, whatever the environment says of buffers."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

SIZE = 1_000_000
PROGRAM = f"""
import signal, sys
from seatunnel_py.cli.files import keep_whole
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
keep_whole()
print("x" * {SIZE}, file=sys.{{stream}})
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_signal_amid_a_long_line_takes_nothing_from_it(stream: str, unbuffered: str) -> None:
    """A pipe takes 64 KiB at a time, and a reader may be slow; a receipt of 200 tables is longer."""
    writer = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(stream=stream)],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        **{stream: subprocess.PIPE},
        text=True,
    )
    time.sleep(1.0)
    output = writer.communicate(timeout=30)[stream == "stderr"]

    assert writer.returncode == 0
    assert output == "x" * SIZE + "\n"
