"""Implements ``seatunnel jobs show --probe``: an exit code for probes of schedulers.

A probe reads three files on this machine, asks no driver and opens no connection, so it may be called every few
seconds.
"""

from __future__ import annotations

from seatunnel_py.cli.view.numbers import seconds
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.jobs.job_reading import read
from seatunnel_py.runtime.storage.home import Home, require_job_id

ALIVE, STALLED, GONE = 0, 1, 2
_STATES = ("ALIVE", "STALLED", "GONE")


def probe(job_id: str, *, as_json: bool) -> int:
    """Show whether the driver of a job is alive and writes. Returns one of the three codes above."""
    code, why = _found(job_id)
    if as_json:
        say_json({"job_id": job_id, "state": _STATES[code], "message": why})
    else:
        say(f"{job_id}  {_STATES[code]}: {why}")
    return code


def _found(job_id: str) -> tuple[int, str]:
    require_job_id(job_id, known=lambda: True)
    place = Home.of_environment().place(job_id)
    if not place.running:
        try:
            state = KnownJob(place).state if place.path.is_dir() else "unknown here"
        except SeaTunnelError as error:
            state = error.message
        return GONE, f"no driver on this machine has the job; it is {state}"
    try:
        reading = read(place)
    except SeaTunnelError as error:  # damaged files of a living driver, which writes them again
        return STALLED, error.message
    since = f"its driver has written nothing for {seconds(reading.silent)}"
    if reading.stalled:
        return STALLED, since
    return ALIVE, "its driver is starting" if reading.counters is None else "its driver works"
