"""Homes with runs of many tables, as drivers leave them, and names that try to be more than names."""

from __future__ import annotations

import fcntl
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatunnel_py.runtime.control.requests import ControlAnswer, RequestStore
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from tests.control.homes import COUNTS, claimed

CAUSES = (
    ("OperationalError", "permission denied for table", "Grant SELECT on it to the user of the job, then restore."),
    ("TypeError", "column `total` is text at the source and numeric at the target", "Change one, or add a Sql step."),
    ("UnreachableError", "the target closed the connection after 3 tries", "Start it, then restore."),
)
AREAS = ("billing", "catalog", "crm", "logistics", "shop", "support", "web")
NOUNS = ("account", "address", "campaign", "customer", "delivery", "invoice", "item", "order", "payment", "product")
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "shop.\u202eevil\u202c.\u001b[31mred",
    "javascript:alert(3)",
    "{{constructor.constructor('alert(4)')()}}",
    "a" * 400,
    "shop/../../etc/passwd",
    "shop.\u0000null",
    "'\"><svg onload=alert(5)>",
)


def names(number: int) -> list[str]:
    """Different names of tables, in no order of their states."""
    made = [f"{AREAS[at % 7]}.{NOUNS[at // 7 % 10]}_{at // 70:03}" for at in range(number)]
    return made if number > 70 else [name.removesuffix("_000") for name in made]


def table(name: str, state: str, rows: int, rng: random.Random) -> dict[str, Any]:
    """A table of a receipt."""
    bad = state in ("FAILED", "ISOLATED")
    kind, message, remedy = CAUSES[rng.randrange(3)]
    cause = {"error_type": kind, "message": f"{message} {name}"[:400], "remedy": remedy} if bad else None
    written = rows if state == "DONE" else rows // 3
    counts = {"rows_read": rows, "rows_written": written, "rows_filtered": 0, "rows_rejected": 0}
    target = {"target": f"warehouse.{name}"[:200], "rows_written": written, "bytes_written": written * 90}
    target |= {"state": state, "cause": None, "stands": None, "present": None, "conversions": []}
    about = {"table": name, "state": state, **counts, "bytes_written": written * 90, "attempts": 3 if bad else 0}
    about |= {"seconds": rng.uniform(0.5, 90), "cause": cause, "kept": False, "rows_read_before": 0}
    return {**about, "targets": [{**target, "not_carried_over": []}]}


def ended(home: Home, run: str, tables: list[dict[str, Any]], ago: float, name: str = "", **more: Any) -> None:
    """A run that ended ``ago`` seconds before now."""
    place, driver = home.place(run), f"driver-{run}"
    bad = sum(one["state"] in ("FAILED", "ISOLATED") for one in tables)
    state, code = ("SUCCESS", 0) if not bad else ("SOME_TABLES_FAILED", 3) if bad < len(tables) else ("FAILED", 1)
    seconds = 60.0 + len(tables)
    claimed(place, driver, time.time() - ago - seconds, job_name=name or run, job_file=f"{run}.conf")
    (place.path / "lock").touch()
    totals = {key: sum(one[key] for one in tables) for key in ("rows_read", "rows_written", "rows_filtered")}
    totals |= {key: sum(one[key] for one in tables) for key in ("rows_rejected", "bytes_written")}
    plain = {"job_id": run, "run": driver, "state": state, "exit_code": code, "tables": tables, "totals": totals}
    plain |= {"this_run": {"rows_read": totals["rows_read"], "rows_per_second": totals["rows_read"] / seconds}}
    plain |= {"seconds": {"total": seconds}, "driver": 1, "goes_on": False, **more}
    write_json(place.path / "receipt.json", plain, durable=False)


def of_tables(home: Home, run: str, number: int, bad: int, ago: float, name: str = "") -> None:
    """A run of many tables, ``bad`` of which have failed."""
    rng = random.Random(number)
    failed = set(rng.sample(range(number), bad))
    tables = [
        table(one, "ISOLATED" if at in failed else "DONE", rng.randrange(100, 90_000), rng)
        for at, one in enumerate(names(number))
    ]
    ended(home, run, tables, ago, name)


def checkpointed(home: Home, run: str, triggered: Sequence[float], seconds: float) -> None:
    """Checkpoints of a run that began at these times, and took ``seconds`` each."""
    about = {"pipeline": "p", "table": "shop.orders", "kind": "checkpoint", "savepoint": "", "driver": 1}
    about |= {"slowest": "", "bytes": 900, "rows": 10, "reason": "", "missing": []}
    lines = [
        {**about, "checkpoint": at + 1, "triggered": one, "acknowledged": one + seconds / 2, "ended": one + seconds}
        for at, one in enumerate(triggered)
    ]
    home.place(run).checkpoint_history.write_text("".join(json.dumps(one) + "\n" for one in lines))


@contextmanager
def at_work(home: Home, run: str, tables: list[dict[str, Any]], waits: dict[str, list[str]]) -> Iterator[None]:
    """A run whose driver is alive: it holds its lock, writes counters, and answers which table waits for which."""
    place = home.place(run)
    claimed(place, f"driver-{run}", time.time() - 60, job_name=run, job_file=f"{run}.conf")
    totals = {key: sum(one[key] for one in tables) for key in COUNTS}
    counters = {"run": f"driver-{run}", "tables": tables, "totals": totals, "this_run": {"rows_read": 1}, "marks": {}}
    counters |= {"checkpoints": {"completed": 3, "failed": 0, "restarts": 0, "ended": None, "bytes": 900}}
    about = [
        {"table": name, "busy": False, "moved": 40.0, "waits": lines, "blocked": []} for name, lines in waits.items()
    ]
    over = threading.Event()

    def drive() -> None:
        requests = RequestStore(LocalStorage(place.path))
        while not over.wait(0.2):
            write_json(place.path / "counters.json", {**counters, "at": time.time()}, durable=False)
            for one in requests.open():
                requests.answer(ControlAnswer(one.id, True, "", about={"tables": about}))

    with (place.path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        driver = threading.Thread(target=drive)
        driver.start()
        try:
            yield
        finally:
            over.set()
            driver.join()


def sizes(path: Path, old: int = 100) -> Home:
    """A home with runs of 1, 20, 1,000 and 10,000 tables, a hostile one, and ``old`` small ones."""
    home = Home(path)
    of_tables(home, "one", 1, 0, 40, "customers")
    of_tables(home, "twenty", 20, 0, 600, "shop to warehouse")
    of_tables(home, "thousand", 1_000, 12, 3_000, "erp, all tables")
    of_tables(home, "ten-thousand", 10_000, 31, 9_000, "lake refresh")
    hostile(home)
    for at in range(old):
        of_tables(home, f"nightly-{at:04}", 1 + at % 6, at % 9 == 8, 86_400 + 3_600 * at, f"nightly {at % 7}")
    return home


def hostile(home: Home) -> None:
    """A run whose names and errors all try to be more than text; one table has failed with such an error."""
    rng = random.Random(5)
    tables = [table(name, "ISOLATED" if at % 2 else "DONE", 10, rng) for at, name in enumerate(HOSTILE)]
    for one in tables:
        if one["cause"]:
            one["cause"]["message"] = one["cause"]["remedy"] = one["table"]
    ended(home, "hostile", tables, 20_000, HOSTILE[0])
