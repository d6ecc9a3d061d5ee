"""Wrong job files, each with its expected messages in a golden file.

``jobs.txt`` holds the job files, ``expected.txt`` what is said about each. After a message was changed on purpose,
``python -m tests.wrong_jobs`` writes the golden file anew; the diff is what a reviewer reads.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from seatunnel_py import app
from seatunnel_py.config.variables import parse_arguments
from seatunnel_py.errors import JobFileError
from seatunnel_py.plan import guarantee, pipelines, table_graph

HERE = Path(__file__).parent
JOBS, EXPECTED = HERE / "jobs.txt", HERE / "expected.txt"


def read(path: Path) -> dict[str, str]:
    """Blocks of a file by their heading."""
    parts = re.split(r"^=== (.*)\n", path.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def verdict(text: str) -> str:
    """What checking, and then planning, says about a job file. Opens no connection and starts no Spark."""
    given = re.findall(r"^# variables: (.*)$", text, flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "job.conf"
        path.write_text(text)
        here = Path.cwd()
        os.chdir(directory)
        try:
            job = app.check(Path("job.conf"), parse_arguments(given))
            graph = table_graph.build(job, None)
            guarantee.require(graph, pipelines.divide(graph), job.file.env.guarantee)
        except JobFileError as error:
            return f"{error}\n".replace(directory, "DIR")
        finally:
            os.chdir(here)
    return "VALID\n"
