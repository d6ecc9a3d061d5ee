"""The working directory of workers that were started before their job was known (``spark.app.prepared``)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

DIRECTORY_VARIABLE = "SEATUNNEL_WORKER_DIRECTORY"
"""A link to the job's working directory; not set where the job was known first."""


def enter_directory() -> None:
    """Enter it, at the begin of a task: an idle worker already waits for its next task when the job comes."""
    link = os.environ.get(DIRECTORY_VARIABLE)
    if link:
        with suppress(FileNotFoundError):  # no job has come yet
            os.chdir(Path(link).readlink())
