"""Shows progress while a job runs: a live view on a terminal, plain lines when piped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from seatunnel_py.cli.view.numbers import count, percent, rows, seconds, size
from seatunnel_py.cli.view.safe_console import make_safe
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import COPY_AGAIN, first_line
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.observe.events import (
    ANEW,
    ChangesAnnounced,
    CheckpointCommitted,
    CheckpointDone,
    DriverAsked,
    JobEnded,
    JobEvent,
    JobStalled,
    JobStarted,
    LogAtRisk,
    LogReleased,
    RegionRestarted,
    RequestAnswered,
    RowsMoved,
    SchemaChanged,
    SinkIsolated,
    StateLarge,
    StoreUnavailable,
    TableChanged,
    TableRefreshed,
    TargetSwept,
    UnitGivenUp,
    UnitRetried,
)
from seatunnel_py.runtime.observe.receipt import TableState

SHOWN_MAX = 8  # running tables that fit on a screen below the user's earlier output
JUDGED_AFTER_SECONDS = 3.0  # before that the rate is that of a start
REMIND_SECONDS = 30.0  # a repeated cause is printed again after this time, and then at growing intervals
PLAIN_EVERY_SECONDS = 5.0  # a log needs a sign of progress, not every unit


@contextmanager
def progress() -> Iterator[Callable[[JobEvent], None]]:
    """Listens to job events and shows them as fits stderr."""
    console = Console(stderr=True, highlight=False, markup=False)  # made safe below, after the control codes of Live
    view = _View()
    if not console.is_terminal:
        yield _Plain(view)
        return
    with Live(get_renderable=view.render, console=console, refresh_per_second=8, transient=True) as live:
        make_safe(console)

        def listen(event: JobEvent) -> None:
            line = view.take(event)
            if line:
                live.console.print(line)

        yield listen


@dataclass(slots=True)
class _Moving:
    """A running pipeline."""

    since: float
    expected: int | None = None
    before: int = 0
    rows: int = 0
    bytes: int = 0

    def cells(self, now: float) -> tuple[str, ...]:
        rate = _rate(self.rows, now - self.since)
        done = percent(self.before + self.rows, self.expected)
        return rows(self.rows), done, rate, size(self.bytes)


@dataclass(frozen=True, slots=True)
class _Told:
    """A printed cause; it is not printed again before ``again_at``."""

    cause: str
    what: str
    pause: float
    again_at: float


class _View:
    """State collected so far."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.tables = 0
        self.expected: int | None = None
        self.states: Counter[TableState] = Counter()
        self.rows_of: Mapping[str, int] = {}
        self.read: dict[str, int] = {}  # by pipeline, including the reads of earlier drivers
        self.running: dict[str, _Moving] = {}
        self.names: dict[str, str] = {}  # of pipelines: two may read tables with the same name
        self.state_of: dict[str, TableState] = {}
        self.told: dict[str, _Told] = {}  # the newest cause, by pipeline: a repeated one is not printed again
        self.rows = 0
        self.bytes = 0

    def take(self, event: JobEvent) -> Text | None:
        """Record an event; return a line worth keeping on the screen, or None."""
        match event:
            case JobStarted():
                self.started = time.monotonic()
                self.tables, self.expected, self.rows_of = len(event.tables), event.rows, event.rows_of
                self.read = dict(event.read_before)
            case RowsMoved():
                self.rows += event.rows
                self.bytes += event.bytes
                self.read[event.pipeline] = self.read.get(event.pipeline, 0) + event.rows
                if moving := self.running.get(event.pipeline):
                    moving.rows += event.rows
                    moving.bytes += event.bytes
            case TableChanged():
                return self._changed(event)
            case UnitRetried(unit=unit) if unit == ANEW:
                if moving := self.running.pop(event.pipeline, None):
                    self.rows -= moving.rows
                    self.read[event.pipeline] = 0
                self._begins(event.pipeline)
                return self._new(event, "starts again")
            case UnitRetried():
                return self._new(event, f"attempt {event.attempt}")
            case RegionRestarted():
                return Text(f"{event.name}: {_restarted(event)}", "yellow")
            case TargetSwept() | SchemaChanged() | TableRefreshed():
                return _of_target(event)
            case JobStalled() | ChangesAnnounced() | DriverAsked() | RequestAnswered() | StoreUnavailable():
                return _said(event)
            case UnitGivenUp() | SinkIsolated():
                return self._gave_up(event)
            case StateLarge() | LogAtRisk() | LogReleased():
                return _warned(event)
            case JobEnded() | CheckpointDone() | CheckpointCommitted():
                return None
        return None

    def _gave_up(self, event: UnitGivenUp | SinkIsolated) -> Text | None:
        if isinstance(event, UnitGivenUp):
            return self._new(event, f"{event.unit} is given up")
        into = ", ".join(event.targets)
        return Text(f"{event.name} -> {into}: ISOLATED, its other sinks go on: {_cause(event)}", "red")

    def _changed(self, event: TableChanged) -> Text | None:
        before = self.state_of.get(event.pipeline)
        if before is not None:
            self.states[before] -= len(event.tables)
        self.states[event.state] += len(event.tables)
        self.state_of[event.pipeline] = event.state
        self.names[event.pipeline] = event.name
        if event.state.ended:
            self.running.pop(event.pipeline, None)
        else:
            self._begins(event.pipeline)
        if event.state.failed and event.failure:
            return Text(f"{event.name}: {event.state.value}: {_cause(event)}", "red")
        return None

    def _begins(self, pipeline: str) -> None:
        about = self.rows_of.get(pipeline), self.read.get(pipeline, 0)
        self.running.setdefault(pipeline, _Moving(time.monotonic(), *about))

    def _new(self, event: UnitRetried | UnitGivenUp, what: str) -> Text | None:
        """Return a line, unless the same cause was just printed: the view still shows it, and a log is reminded
        later."""
        cause, now = _cause(event), time.monotonic()
        told = self.told.get(event.pipeline)
        if told is not None and told.cause == cause and now < told.again_at:
            self.told[event.pipeline] = replace(told, what=what)
            return None
        pause = REMIND_SECONDS if told is None or told.cause != cause else told.pause * 2
        self.told[event.pipeline] = _Told(cause, what, pause, now + pause)
        return Text(f"{event.name}: {what}: {cause}", "yellow")

    def _kept_in_sight(self) -> list[Text]:
        """Causes of failure of tables that are being retried."""
        waiting = [name for name in self.running if name in self.told and self.state_of[name] is TableState.RETRYING]
        return [
            Text(f"  {self.names[name]}: {self.told[name].what}: {self.told[name].cause}", "yellow")
            for name in waiting[:SHOWN_MAX]
        ]

    @property
    def summary(self) -> str:
        elapsed = time.monotonic() - self.started
        ended = sum(number for state, number in self.states.items() if state.ended)
        failed = self.states[TableState.FAILED] + self.states[TableState.ISOLATED]
        text = f"{ended}/{counted(self.tables, 'table')}"
        if failed:
            text += f" ({failed} failed)"
        parts = [text, rows(self.rows), self._percent()]
        parts += [_rate(self.rows, elapsed), size(self.bytes), self._left(elapsed)]
        return "  ".join(filter(None, parts))

    def _percent(self) -> str:
        if self.tables and self.states[TableState.DONE] == self.tables:
            return "100 %"
        return percent(sum(self.read.values()), self._expected())

    def _expected(self) -> int | None:
        """Progress of all tables together: ended tables count with their real size, however wrong their estimates
        were."""
        if self.expected is None:
            return None
        return sum(
            self.read.get(name, 0) if name in self.state_of and self.state_of[name].ended else rows
            for name, rows in self.rows_of.items()
        )

    def _left(self, elapsed: float) -> str:
        """Estimate the remaining time, once there is enough data."""
        expected, read = self._expected(), sum(self.read.values())
        if not expected or elapsed < JUDGED_AFTER_SECONDS or not self.rows or read >= expected:
            return ""
        return f"about {seconds(elapsed * (expected - read) / self.rows)} left"

    def render(self) -> RenderableType:
        if not self.tables:
            return Text("starting …", "dim")
        grid = Table.grid(padding=(0, 2))
        now = time.monotonic()
        for pipeline, moving in list(self.running.items())[:SHOWN_MAX]:
            state = self.state_of[pipeline].value.lower()
            grid.add_row(Text(f"  {self.names[pipeline]}"), state, *moving.cells(now))
        more = len(self.running) - SHOWN_MAX
        ended = sum(number for state, number in self.states.items() if state.ended)
        expected = None if ended == self.tables else self._expected()
        completed = sum(self.read.values()) if expected else ended
        done = ProgressBar(total=expected or self.tables, completed=completed, width=30)
        head = Table.grid(padding=(0, 2))
        head.add_row(done, self.summary)
        return Group(head, grid, *self._kept_in_sight(), Text(f"  … and {more} more", "dim") if more > 0 else Text())


class _Plain:
    """Print lines for a log: a summary now and then, and every failure."""

    def __init__(self, view: _View) -> None:
        self._view = view
        self._last = 0.0

    def __call__(self, event: JobEvent) -> None:
        line = self._view.take(event)
        if line is not None:
            say(line.plain, err=True)
        now = time.monotonic()
        if isinstance(event, JobStarted):
            self._last = now
            self._tell(f"job {event.job_id}: {counted(len(event.tables), 'table')}")
        elif now - self._last > PLAIN_EVERY_SECONDS and self._view.tables:
            self._last = now
            self._tell(self._view.summary)

    def _tell(self, text: str) -> None:
        say(text, err=True)


def _rate(rows: int, elapsed: float) -> str:
    """Empty before the first rows: no rate is measured yet."""
    return f"{count(rows / max(elapsed, 1e-6))} rows/s" if rows else ""


def _warned(event: StateLarge | LogAtRisk | LogReleased) -> Text:
    """Events that warn about one pipeline, before anything fails."""
    if isinstance(event, LogReleased):
        size = f"{event.bytes:,} bytes since its change {event.change}, and {event.allowed:,} are allowed"
        return Text(f"{event.table}: its log is not kept any more ({size})\n    remedy: {COPY_AGAIN}", "yellow")
    if isinstance(event, StateLarge):
        size = f"{event.bytes:,} bytes of {event.allowed:,} that are allowed"
        return Text(f"{event.name}: {event.what} takes {size}, in every checkpoint", "yellow")
    if not event.warning:
        return Text(f"{event.name}: the log is no longer at risk", "green")
    return Text(f"{event.name}: {event.warning}\n    remedy: {event.remedy}", "yellow")


def _of_target(event: TargetSwept | SchemaChanged | TableRefreshed) -> Text:
    if isinstance(event, TableRefreshed):
        return Text(event.outcome.text, "cyan" if event.outcome.done else "yellow")
    return Text("\n".join(f"{event.name}: {one}" for one in event.sentences), "cyan")


def _said(event: JobStalled | ChangesAnnounced | DriverAsked | RequestAnswered | StoreUnavailable) -> Text:
    """Events that concern the whole job."""
    match event:
        case JobStalled():
            return Text("\n".join([f"nothing has moved for {event.seconds:.0f} s:", *event.waits]), "yellow")
        case ChangesAnnounced():
            return Text("\n".join(event.changes), "cyan")
        case DriverAsked():
            return Text(event.text, "yellow")
        case RequestAnswered():
            return Text(f"{event.wish}: {event.text}", "green" if event.done else "yellow")
        case StoreUnavailable(message=""):
            return Text(f"the checkpoint store is back after {event.seconds:.0f} s", "green")
        case StoreUnavailable():
            return Text(f"waiting for the checkpoint store: {event.message}", "yellow")


def _cause(event: UnitRetried | UnitGivenUp | TableChanged | SinkIsolated) -> str:
    return first_line(event.failure.message) if event.failure else ""


def _restarted(event: RegionRestarted) -> str:
    text = f"{', '.join(event.epochs)} restarted from checkpoint {event.checkpoint}"
    return f"{text}; {', '.join(event.twice)} may show rows twice" if event.twice else text
