"""Fifty viewers of one running job beside none: what its driver computes, reads and writes meanwhile (A30).

A viewer is a stream of events, as a page holds it, and asks for the run and its tables every two seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from e2e.server.hosted import STREAM
from tests.servers.process_tree import descendants

VIEWERS, PER_TOKEN = 50, 20
ASK_SECONDS = 2.0
WAIT_SECONDS = 150.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class DriverWork:
    """Of a driver and its JVM, per second: ``cores`` of processor time, ``rows``, calls of ``reads`` and ``writes`` and
    ``written`` bytes of the driver's own process; ``events``: how many each viewer got at least."""

    viewers: int
    cores: float
    rows: float
    reads: float
    writes: float
    written: float
    events: int

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class Viewer(threading.Thread):
    """Looks at a run until it is ended. ``events``: how many came."""

    def __init__(self, url: str, token: str, run: str) -> None:
        super().__init__(daemon=True)
        self.events, self.ended = 0, threading.Event()
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=30, trust_env=False)
        self._run = run

    def run(self) -> None:
        """Read the stream; ask between its events."""
        asked = time.monotonic()
        with suppress(httpx.HTTPError, httpx.StreamError, OSError), self._http as http:  # noqa: SIM117
            with http.stream("GET", f"/live?topics=runs,run:{self._run}") as stream:
                for line in stream.iter_lines():
                    self.events += line.startswith("data:")
                    if self.ended.is_set():
                        return
                    if time.monotonic() - asked >= ASK_SECONDS:
                        asked = time.monotonic()
                        http.get(f"/runs/{self._run}").raise_for_status()
                        http.get(f"/runs/{self._run}/tables").raise_for_status()


@contextmanager
def viewers(url: str, tokens: Sequence[str], run: str, number: int) -> Iterator[list[Viewer]]:
    """So many viewers; each has had an event."""
    made = [Viewer(url, tokens[at // PER_TOKEN], run) for at in range(number)]
    for one in made:
        one.start()
    try:
        _until(lambda: all(one.events for one in made))
        yield made
    finally:
        for one in made:
            one.ended.set()
        for one in made:
            one.join(30)


def tokens_of(api: httpx.Client) -> list[str]:
    """Enough tokens for all viewers: one may hold twenty streams."""
    names = [f"viewer-{at}" for at in range(-(-VIEWERS // PER_TOKEN))]
    made = [api.post("/api/v1/tokens", json={"name": name, "role": "read"}).raise_for_status() for name in names]
    return [one.json()["token"] for one in made]


def started(api: httpx.Client, folder: Path) -> tuple[str, int]:
    """A stream with a steady rate, and the pid of its driver."""
    text = STREAM.replace("PLACE", f"{folder}/out").replace("row.num = 400000", "row.num = 4000000")
    text = text.replace("split.num = 20000", "split.num = 100000")
    api.post("/api/v1/definitions", json={"id": "seen", "text": text}).raise_for_status()
    run: str = api.post("/api/v1/definitions/seen/runs", json={}).raise_for_status().json()["job_id"]
    _until(lambda: rows_of(api, run) > 0)
    return run, int(api.get(f"/api/v1/runs/{run}").json()["job"]["pid"])


def rows_of(api: httpx.Client, run: str) -> int:
    """Rows that the driver has read."""
    found = api.get(f"/api/v1/runs/{run}")
    return int(found.json().get("rows_read") or 0) if found.status_code == 200 else 0


def work(
    api: httpx.Client, url: str, tokens: Sequence[str], run: str, pid: int, number: int, seconds: float
) -> DriverWork:
    """The work of a driver for so many seconds beside so many viewers."""
    with viewers(url, tokens, run, number) as made:
        began, before, rows = time.monotonic(), _figures(pid), rows_of(api, run)
        time.sleep(seconds)
        spent, after, moved = time.monotonic() - began, _figures(pid), rows_of(api, run) - rows
        events = min((one.events for one in made), default=0)
    cores, reads, writes, written = ((new - old) / spent for old, new in zip(before, after, strict=True))
    return DriverWork(number, cores, moved / spent, reads, writes, written, events)


def middle(found: Sequence[DriverWork], number: int, name: str) -> float:
    """The median of a figure over the turns with so many viewers."""
    return median(getattr(one, name) for one in found if one.viewers == number)


def _figures(pid: int) -> tuple[float, float, float, float]:
    cpu = 0.0
    for each in (pid, *descendants(pid)):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            cpu += (int(fields[11]) + int(fields[12])) / _TICKS
    own = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return cpu, float(own["syscr"]), float(own["syscw"]), float(own["wchar"])


def _until(holds: Any) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)
