"""Our side: job files, and the public command line that runs them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import pg
from tests.servers.postgres import DATABASE, PostgresServer

ROOT = Path(__file__).parent.parent
COMMAND = ROOT / ".venv" / "bin" / "seatunnel"
JOB_TIMEOUT_S = 900

CONNECTION = """\
    url = "{url}"
    driver = "org.postgresql.Driver"
    user = "{user}"
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the command gave: its receipt, and the clock round the whole command."""

    wall_seconds: float
    receipt: dict[str, Any]

    @property
    def data_seconds(self) -> float:
        """From the first unit handed out to the last commit: comparable with a peer whose engine is up."""
        return float(self.receipt["seconds"]["data"])

    @property
    def total_seconds(self) -> float:
        return float(self.receipt["seconds"]["total"])

    @property
    def first_row_seconds(self) -> float | None:
        found = self.receipt["seconds"]["first_row"]
        return None if found is None else float(found)

    @property
    def rows_written(self) -> int:
        return int(self.receipt["totals"]["rows_written"])


def connection(server: PostgresServer) -> str:
    return CONNECTION.format(url=server.jdbc_url(DATABASE), user=server.user)


def table_job(
    server: PostgresServer,
    table: str = pg.BIG_TABLE,
    *,
    env: str = "",
    sink: str = 'schema_save_mode = "RECREATE_SCHEMA"',
) -> str:
    """One table; by default into a target that the run creates, which is loaded in a shadow."""
    return f"""env {{
  job.mode = "BATCH"
  parallelism = 2
  {env}
}}
source {{
  Jdbc {{
{connection(server)}
    table_path = "{DATABASE}.{pg.SOURCE}.{table}"
  }}
}}
sink {{
  Jdbc {{
{connection(server)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{pg.TARGET}.{table}"
    {sink}
  }}
}}
"""


def tables_job(server: PostgresServer, names: Sequence[str]) -> str:
    """Many tables in one job, all created by it."""
    tables = "\n".join(f'      {{ table_path = "{DATABASE}.{pg.SOURCE}.{name}" }}' for name in names)
    return f"""env {{
  job.mode = "BATCH"
  parallelism = 2
}}
source {{
  Jdbc {{
{connection(server)}
    table_list = [
{tables}
    ]
  }}
}}
sink {{
  Jdbc {{
{connection(server)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{pg.TARGET}.${{table_name}}"
    schema_save_mode = "RECREATE_SCHEMA"
  }}
}}
"""


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """A place for runs that the benchmark leaves nothing in."""
    with tempfile.TemporaryDirectory(prefix="seatunnel-bench-") as place:
        yield Path(place)


def run(job: str, place: Path, watch: Callable[[int], object] | None = None) -> Run:
    """Run a job file by the public command line. `watch` is called with its process id in a thread."""
    path = place / "job.conf"
    path.write_text(job)
    errors = place / "errors.txt"
    # HOME stays as it is: caches that a user would have from the run before are part of the command.
    env = os.environ | {"SEATUNNEL_HOME": str(place / "home")}
    started = time.perf_counter()
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            [str(COMMAND), "run", str(path), "--json"], cwd=ROOT, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
        )  # fmt: skip
        if watch is not None:
            threading.Thread(target=watch, args=(process.pid,), daemon=True).start()
        output, _ = process.communicate(timeout=JOB_TIMEOUT_S)
    wall = time.perf_counter() - started
    if process.returncode != 0:
        text = output.decode(errors="replace")[-3000:] + errors.read_text(errors="replace")[-3000:]
        raise RuntimeError(f"seatunnel run ended with {process.returncode}:\n{text}")
    return Run(wall, json.loads(output))
