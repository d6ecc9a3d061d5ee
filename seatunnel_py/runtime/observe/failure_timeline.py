"""Lists the failures of a job in order, with the reaction to each, from its log. Pure except ``read``.

Rules. (1) An entry is a failure: time, driver, epoch and attempt, split and position, cause, the last completed
checkpoint, and the reaction. (2) The reaction to a unit whose attempts are used up is the next log line of its
pipeline: a restart, or its end. (3) A driver without an end in the log is a failure too. (4) A log may be long: it is
read line by line, and only the newest entries are kept; all are counted.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seatunnel_py.errors import first_line
from seatunnel_py.runtime.observe.receipt import CANNOT_RESUME
from seatunnel_py.runtime.observe.rotated_files import generations, json_lines

KEPT = 20
_SKIPPED = '"level": "DEBUG"'  # most lines of a log with that level

NO_EXIT_RECORD = "The driver process ended without an exit record: it was killed, or the machine stopped."


@dataclass(slots=True)
class Failure:
    """``what`` failed: a unit, ``commit``, a checkpoint, or the driver; ``attempt``: the failed attempt."""

    at: str
    driver: int | None
    what: str
    table: str = ""
    vertex: str = ""
    epoch: int = 0
    attempt: int = 0
    split: str = ""
    position: Mapping[str, Any] = field(default_factory=dict)
    cause: str = ""
    remedy: str = ""
    checkpoint: int | None = None
    follows: str = ""


class Timeline:
    """``failures``: the newest ones, oldest first; ``counts``: number of failures by table and kind; ``total``: their
    number."""

    def __init__(self, kept: int | None = KEPT) -> None:
        self.failures: deque[Failure] = deque(maxlen=kept)
        self.counts: dict[str, Counter[str]] = {}
        self.total = 0
        self._open: dict[str, list[Failure]] = {}  # by pipeline: failures without a reaction yet
        self._left_out_for: set[tuple[str, str]] = set()
        self._store: Failure | None = None  # the newest outage of the store
        self._drivers: set[int] = set()  # drivers that have started and not ended

    def take(self, line: Mapping[str, Any]) -> None:
        """Process the next line of the log."""
        match line["event"]:
            case "job_started":
                self._began(line)
            case "job_ended" | "driver_failed":
                self._ended(line)
            case "unit_retried":
                again = f"tried again{_pause(line.get('delay_seconds', 0))}, attempt {line['attempt'] + 1}"
                self._add(line, line["unit"], "failed attempts", line["attempt"], again)
            case "unit_given_up":
                self._open_one(line, self._add(line, line["unit"], "failed attempts", line["attempt"] + 1))
            case "region_restarted":
                self._restarted(line)
            case "sink_left_out":
                self._left_out(line)
            case "store_away":
                self._store = one = self._add(line, "checkpoint store", "outages of the checkpoint store")
                one.cause, one.follows = first_line(line["message"]), "it is asked again and again"
            case "store_back" if self._store:
                self._store.follows = f"it answered after {line['seconds']:.0f} s, and the job went on"
            case "table_changed" if line.get("cause"):
                self._changed(line)
            case "checkpoint_ended" if line["checkpoint"]:
                missing = ", ".join(line["missing"])
                one = self._add(line, f"checkpoint {line['checkpoint']}", "checkpoints given up")
                one.cause = line["reason"] + (f"; no answer of {missing}" if missing else "")
                one.checkpoint, one.follows = line.get("good"), "skipped: the next one is taken in its place"

    def end(self, *, alive: bool) -> None:
        """End the log; ``alive``: the job's driver is running and may still write lines."""
        self._settle("nothing yet" if alive else "its driver ended before anything followed")
        if self._drivers and not alive:
            driver = max(self._drivers)
            dead = Failure("", driver, "driver", cause=NO_EXIT_RECORD)
            dead.follows = "no driver has resumed the job yet"
            self._book(dead, "(driver)", "drivers lost")

    # ---------------------------------------------------------------- lines

    def _began(self, line: Mapping[str, Any]) -> None:
        driver = line.get("driver")
        for older in sorted(self._drivers):
            gone = Failure(line["time"], older, "driver", follows=f"driver {driver} took over")
            gone.cause = f"{NO_EXIT_RECORD} Or this driver has taken over from it."
            self._book(gone, "(driver)", "drivers lost")
        self._settle(f"its driver ended; driver {driver} took over")
        self._open, self._drivers = {}, set() if driver is None else {driver}

    def _ended(self, line: Mapping[str, Any]) -> None:
        self._drivers.discard(line.get("driver", 0))
        if line["event"] == "driver_failed":
            one = self._add(line, "driver", "drivers lost")
            one.cause, one.follows = first_line(line["message"]), "the run ended"

    def _restarted(self, line: Mapping[str, Any]) -> None:
        lives = ", ".join(f"{vertex} (life {epoch})" for vertex, epoch in line["epochs"].items())
        because = ", ".join(line["causes"])
        follows = f"restarted {lives} from checkpoint {line['checkpoint']}, because {because} failed"
        if line["twice"]:
            follows += f"; {', '.join(line['twice'])} may show rows twice"
        if line["lost"]:
            follows += f"; {', '.join(line['lost'])} cannot read again what it gave"
        waiting = self._open.pop(line["pipeline"], [])
        for vertex, cause in line["causes"].items():
            if all(one.vertex != vertex for one in waiting):
                one = self._add({**line, "vertex": vertex}, vertex, "")
                one.cause = first_line(cause)
                waiting.append(one)
        for one in waiting:
            one.follows = follows
        self._counter(line["table"])["restarts"] += 1

    def _left_out(self, line: Mapping[str, Any]) -> None:
        """The sink was isolated: this is the reaction to the failures of its vertex."""
        waiting = self._open.get(line["pipeline"], [])
        own = [one for one in waiting if one.vertex == line["vertex"]]
        self._open[line["pipeline"]] = [one for one in waiting if one.vertex != line["vertex"]]
        for one in own or [self._add(line, line["vertex"], "")]:
            one.follows = f"the sink into {', '.join(line['targets'])} was isolated, the others go on"
        self._counter(line["table"])["sinks left out"] += 1
        self._left_out_for.add((line["pipeline"], first_line(line["cause"]["message"])))

    def _changed(self, line: Mapping[str, Any]) -> None:
        """A table's end is the reaction to its open failures; retries have separate lines."""
        state = line["state"]
        if state not in ("FAILED", "ISOLATED", "STOPPED", "DONE"):
            return
        waiting = self._open.pop(line["pipeline"], [])
        if (line["pipeline"], first_line(line["cause"]["message"])) in self._left_out_for and not waiting:
            return  # only a sink was, which has a separate line
        follows = _ENDS[state]
        if state == "ISOLATED" and line["cause"].get("error_type") not in CANNOT_RESUME:
            follows += "; --restore latest goes on with it"
        if all(one.cause != first_line(line["cause"]["message"]) for one in waiting):
            waiting.append(self._add(line, "table", "" if state == "STOPPED" else "ends"))
        for one in waiting:
            one.follows = follows

    # ---------------------------------------------------------------- entries

    def _add(self, line: Mapping[str, Any], what: str, counted: str, attempt: int = 0, follows: str = "") -> Failure:
        cause = line.get("cause") or {}
        found = Failure(
            line["time"], line.get("driver"), what, line.get("table", ""), line.get("vertex", ""),
            line.get("epoch", 0), attempt, line.get("split", ""), line.get("position") or {},
            first_line(cause.get("message", "")), cause.get("remedy", ""), line.get("checkpoint"), follows,
        )  # fmt: skip
        self._book(found, found.table or "(job)", counted)
        return found

    def _book(self, found: Failure, table: str, counted: str) -> None:
        self.failures.append(found)
        self.total += 1
        if counted:
            self._counter(table)[counted] += 1

    def _settle(self, follows: str) -> None:
        """Set the reaction of all open failures."""
        for one in (failure for failures in self._open.values() for failure in failures):
            one.follows = follows

    def _counter(self, table: str) -> Counter[str]:
        return self.counts.setdefault(table, Counter())

    def _open_one(self, line: Mapping[str, Any], found: Failure) -> None:
        self._open.setdefault(line["pipeline"], []).append(found)


_ENDS = {
    "FAILED": "the table failed",
    "ISOLATED": "the table was isolated, the others go on",
    "STOPPED": "the table was stopped",
    "DONE": "the table is done; some staged rows remain",
}


def read(events: Path, *, alive: bool, kept: int | None = KEPT) -> Timeline:
    """Read the timeline of a job's log; an incomplete last line of a dead driver is skipped."""
    found = Timeline(kept)
    for line in json_lines(generations(events), without=_SKIPPED):
        with suppress(KeyError, TypeError, ValueError, AttributeError):  # a line of another version, or damaged
            found.take(line)
    found.end(alive=alive)
    return found


def plain(timeline: Timeline) -> dict[str, Any]:
    """Render failures as JSON-ready data."""
    return {
        "total": timeline.total,
        "by_table": {table: dict(counts) for table, counts in timeline.counts.items()},
        "failures": [asdict(one) for one in timeline.failures],
    }


def _pause(seconds: float) -> str:
    return f" after {seconds:.1f} s" if seconds else " at once"
