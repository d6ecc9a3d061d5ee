"""Writes what ``--json`` prints at the end of a run into the file that SEATUNNEL_RESULT_FILE names, for schedulers that
keep no output.

Rules. (1) It is whole, or not there. (2) A run removes the file of an earlier one before anything starts: no scheduler
takes that for its own. (3) A file that cannot be written at the end changes no exit code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.job_directory import replace_file

VARIABLE = "SEATUNNEL_RESULT_FILE"


def begin() -> None:
    """Remove the result of an earlier run. Raises SeaTunnelError if no file can be written there."""
    path = _path()
    if path is None:
        return
    try:
        path.unlink(missing_ok=True)
        replace_file(path, "")  # it may be that the directory takes no file
        path.unlink()
    except OSError as error:
        why = f"{VARIABLE} names {path}, which cannot be written: {error.strerror or error}"
        raise SeaTunnelError(why, "name a file in a directory that exists and can be written to") from None


def keep(plain: Mapping[str, Any]) -> None:
    """Write a result."""
    path = _path()
    if path is None:
        return
    try:
        replace_file(path, json.dumps(plain) + "\n")
    except OSError as error:
        say(f"the result is not in {path}: {error.strerror or error}", err=True)


def _path() -> Path | None:
    name = os.environ.get(VARIABLE)
    return Path(name).absolute() if name else None
