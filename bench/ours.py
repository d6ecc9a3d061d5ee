"""Our side: job files, and the public command line that runs them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
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
from tests.servers.process_tree import kill_tree, parent_of_each, words_of

ROOT = Path(__file__).parent.parent
COMMAND = ROOT / ".venv" / "bin" / "seatunnel"
PLAIN = (str(COMMAND),)
STANDING = (str(COMMAND.with_name("python")), "-m", "bench.stop_the_world")
JOB_TIMEOUT_S = 900
STOP_SECONDS_MAX = 90.0
STOPPED = 143
ERRORS = "errors.txt"

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
    source: str = "",
    sink: str = 'schema_save_mode = "RECREATE_SCHEMA"',
) -> str:
    """One table; by default into a target that the run creates, which is loaded in a shadow."""
    read = f'table_path = "{DATABASE}.{pg.SOURCE}.{table}"'
    return _job(server, env, f"{read}\n    {source}", f'table = "{pg.TARGET}.{table}"\n    {sink}')


def tables_job(server: PostgresServer, names: Sequence[str], *, env: str = "", source: str = "", sink: str = "") -> str:
    """Many tables in one job, all created by it."""
    tables = "\n".join(f'      {{ table_path = "{DATABASE}.{pg.SOURCE}.{name}" }}' for name in names)
    written = f'table = "{pg.TARGET}.${{table_name}}"\n    schema_save_mode = "RECREATE_SCHEMA"'
    return _job(server, env, f"table_list = [\n{tables}\n    ]\n    {source}", f"{written}\n    {sink}")


def _job(server: PostgresServer, env: str, source: str, sink: str) -> str:
    return f"""env {{
  job.mode = "BATCH"
  parallelism = 2
  {env}
}}
source {{
  Jdbc {{
{connection(server)}
    {source}
  }}
}}
sink {{
  Jdbc {{
{connection(server)}
    generate_sink_sql = true
    database = "{DATABASE}"
    {sink}
  }}
}}
"""


NOTHING_JOB = """env { job.mode = "BATCH", parallelism = 1 }
source { FakeSource { row.num = 1, schema { fields { id = "bigint" } } } }
sink { Console {} }
"""
ARCHIVE_TIMEOUT_S = 120
CACHE = ROOT / ".cache" / "bench"


@contextlib.contextmanager
def home(command: Sequence[str] = PLAIN) -> Iterator[Path]:
    """A place for runs, as it is after the first run on a machine: the class-data archive is built."""
    with tempfile.TemporaryDirectory(prefix="seatunnel-bench-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        started = time.time()
        run(NOTHING_JOB, place, command=command)
        deadline = time.monotonic() + ARCHIVE_TIMEOUT_S
        # The first JVM writes the archive after its run has ended; while it does, its name ends in a number.
        while half_written(started) or not list(CACHE.rglob("*.jsa")):
            if time.monotonic() > deadline:
                raise RuntimeError(f"no class-data archive after {ARCHIVE_TIMEOUT_S} s")
            time.sleep(0.2)
        yield place


def half_written(since: float) -> list[Path]:
    """Archives that the JVM of a run is about to write or writing."""
    found = [path for path in CACHE.rglob("classes-*") if path.suffix[1:].isdigit()]
    return [path for path in found if path.stat().st_mtime >= since]


def run(job: str, place: Path, watch: Callable[[int], object] | None = None, command: Sequence[str] = PLAIN) -> Run:
    """Run a job file by the public command line. `watch` is called with its process id in a thread."""
    started = time.perf_counter()
    process = begin(job, place, place / "home", command)
    if watch is not None:
        threading.Thread(target=watch, args=(process.pid,), daemon=True).start()
    try:
        output, _ = process.communicate(timeout=JOB_TIMEOUT_S)
    except BaseException:
        kill_tree(process)
        raise
    seconds = time.perf_counter() - started
    until_gone(place / "home")
    return Run(seconds, receipt(process, output, place, 0))


def until_gone(home: Path) -> None:
    """Nobody waits for a JVM at its end; here the next measurement would run beside it."""
    deadline = time.monotonic() + STOP_SECONDS_MAX
    while any(str(home) in word for pid in parent_of_each() for word in words_of(pid)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"a process of {home} is still there after {STOP_SECONDS_MAX:g} s")
        time.sleep(0.02)


def begin(job: str, place: Path, home: Path, command: Sequence[str] = PLAIN) -> subprocess.Popen[bytes]:
    path = place / "job.conf"
    path.write_text(job)
    # The cache outlives the benchmark, as a user's does: archives from the run before are part of the command.
    env = os.environ | {"SEATUNNEL_HOME": str(home), "XDG_CACHE_HOME": str(CACHE)}
    with (place / ERRORS).open("wb") as errors:
        return subprocess.Popen(
            [*command, "run", str(path), "--json"], cwd=place, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip


def receipt(process: subprocess.Popen[bytes], output: bytes, place: Path, wanted: int) -> dict[str, Any]:
    """What a command has said at its end, which has to be the one that was wanted."""
    text = output.decode(errors="replace")
    if process.returncode != wanted:
        said = text[-3000:] + (place / ERRORS).read_text(errors="replace")[-3000:]
        raise RuntimeError(f"seatunnel run ended with {process.returncode}:\n{said}")
    # What a sink prints comes before the receipt.
    found: dict[str, Any] = json.loads(text[text.index("\n{\n") + 1 if not text.startswith("{") else 0 :])
    return found


@dataclass(frozen=True, slots=True)
class Stream:
    """A job that runs until it is told to stop."""

    process: subprocess.Popen[bytes]
    place: Path
    home: Path

    def wait(self, what: str, condition: Callable[[], Any], seconds: float, look: float = 0.2) -> Any:
        """The first true value; a stream that ends meanwhile is an error."""
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            if self.process.poll() is not None:
                raise RuntimeError(f"the stream ended with {self.process.returncode} while {what} was waited for")
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {seconds:g} s in vain for {what}")
            time.sleep(look)
        return value

    def stop(self) -> dict[str, Any]:
        """End it behind a savepoint; its receipt."""
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=STOP_SECONDS_MAX)
        return receipt(self.process, output, self.place, STOPPED)


@contextlib.contextmanager
def streaming(job: str, place: Path, command: Sequence[str] = PLAIN) -> Iterator[Stream]:
    """A stream with a home of its own; one that nobody has stopped is killed."""
    home = place / "home" / f"{time.time_ns()}"
    process = begin(job, place, home, command)
    try:
        yield Stream(process, place, home)
    finally:
        kill_tree(process)
