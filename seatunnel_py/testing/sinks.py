"""Tests a sink's promises: property by property, each on its own target."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from seatunnel_py.api.capabilities import Guarantee, SinkCapabilities
from seatunnel_py.api.factory import SinkFactory, StepContext
from seatunnel_py.api.process import failpoints
from seatunnel_py.api.sink import Setup, Sink, Visible
from seatunnel_py.testing.findings import BrokenPropertyError, Finding, Report, Verdict, tried
from seatunnel_py.testing.given_options import resolved
from seatunnel_py.testing.life import CHECKPOINTS, KitJob, all_rows, rows_of, table_of

HOSTILE_NAMES = ("id", 'quo"te', "two words", "semi;colon--")
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SinkTarget:
    """A sink's factory with its options as in a job file, and the side door: ``rows`` reads the target itself and
    returns every visible row (id, unit, seq, text), ``left_behind`` names leftovers that should not exist at the end.
    ``key``: the table has a primary key. ``names``: column names that the target supports, if it does not support all.
    """

    factory: SinkFactory[Any]
    options: Mapping[str, Any]
    rows: Callable[[], Rows]
    left_behind: Callable[[], Sequence[str]] = tuple
    key: bool = False
    names: Sequence[str] = field(default=HOSTILE_NAMES)

    def sink(self, names: Sequence[str] = ("id", "unit", "seq", "text")) -> tuple[Sink, SinkCapabilities]:
        """The sink as the engine makes it: through a pickle."""
        table = table_of(key=self.key, names=names)
        options = resolved(self.factory, self.options)
        context = StepContext("sink", "conformance")
        made = self.factory.create(options, table, context)
        return pickle.loads(pickle.dumps(made)), self.factory.capabilities(options, table, context)


MADE = "it is made, and can be sent to a worker"


def check_sink(fresh: Callable[[int], SinkTarget]) -> Report:
    """Test everything that a sink promises. ``fresh`` makes a new, empty target for each number."""
    numbers = count()
    first = fresh(next(numbers))
    declared: list[SinkCapabilities] = []
    made = tried(MADE, lambda: declared.append(first.sink()[1]))
    if made.verdict is Verdict.BROKEN:
        return Report(first.factory.name, "nothing yet", (made,))
    (capabilities,) = declared
    guarantee = capabilities.guarantee
    once, two_phase = guarantee > Guarantee.AT_LEAST_ONCE, guarantee is Guarantee.TWO_PHASE_COMMIT
    with tempfile.TemporaryDirectory(prefix="conformance-") as root:

        def attempt(name: str, body: Callable[[_Try], None], promised: bool = True, why: str = "") -> Finding:
            if not promised:
                return Finding(name, Verdict.NOT_PROMISED, why)
            number = next(numbers)
            return tried(name, lambda: body(_Try(fresh(number), Path(root, str(number)))))

        weaker = f"it declares {guarantee.text}"
        findings = [
            attempt("every row is confirmed and arrives", _arrives),
            attempt("names and values with quotes and special characters are kept exactly", _hostile),
            attempt("no row is visible before the commit", _unseen, two_phase, weaker),
            attempt("an aborted unit leaves nothing", _given_up, two_phase, weaker),
            attempt("two attempts at the same rows count once", _two_attempts, once, weaker),
            attempt("a repeated commit has no further effect", _repeated, once, weaker),
            attempt("an abandoned run leaves nothing", _aborted, two_phase, weaker),
            attempt("a writer of an older driver is refused", _fenced, capabilities.fenced, "it declares no fence"),
        ]
        points, whole = _points(fresh(next(numbers)), Path(root, "points"), once)
        findings += [whole] if whole.verdict is Verdict.BROKEN else []
        if two_phase and not any(point.endswith(".commit.inside") for point in points):
            why = (
                'it has no failpoint there, so it was killed around it only: see "Try your promises" in docs/authors.md'
            )
            findings.append(Finding("it recovers from a kill inside of its commit", Verdict.NOT_PROMISED, why))
        for point in points:
            name = f"it recovers from a kill at {point}"
            findings.append(attempt(name, lambda trial, at=point: _killed(trial, at, once)))  # type: ignore[misc]
    return Report(first.factory.name, guarantee.text, tuple(findings))


class _Try:
    """A property under test: its target, its sink, a job of it."""

    def __init__(self, target: SinkTarget, folder: Path, names: Sequence[str] = ("id", "unit", "seq", "text")) -> None:
        folder.mkdir()
        self.target = target
        self.sink, _ = target.sink(names)
        self.job = KitJob(self.sink, table_of(key=target.key, names=names), folder)

    def set_up(self) -> Setup:
        setup = self.sink.plan_setup()
        self.sink.setup(setup)
        return setup

    def holds(self, wanted: Rows, *, once: bool = True) -> None:
        """Raise Broken unless exactly these rows are visible; if rows may be repeated, at least these."""
        found, expected = Counter(self.target.rows()), Counter(wanted)
        lost, more = expected - found, found - expected
        if not once:
            more = Counter({row: times for row, times in more.items() if row not in expected})
        if lost or more:
            shown = next(iter(lost or more))
            raise BrokenPropertyError(f"{lost.total()} rows are lost, {more.total()} are too many, such as {shown!r}")

    def nothing_left(self) -> None:
        if left := list(self.target.left_behind()):
            raise BrokenPropertyError(f"not cleaned up: {', '.join(map(str, left))}")


def _arrives(trial: _Try) -> None:
    setup = trial.set_up()
    pieces = [trial.job.write(unit, setup.data) for unit in CHECKPOINTS[0]]
    if [piece.rows for piece in pieces] != [len(rows_of(unit)) for unit in CHECKPOINTS[0]]:
        raise BrokenPropertyError(f"{[piece.rows for piece in pieces]} rows were confirmed")
    trial.job.commit(pieces, setup.data, 1, final=True)
    trial.holds([row for unit in CHECKPOINTS[0] for row in rows_of(unit)])
    trial.nothing_left()


def _hostile(trial: _Try) -> None:
    names = trial.target.names
    sink, _ = trial.target.sink(names)
    job = replace(trial.job, sink=sink, table=table_of(key=trial.target.key, names=names))
    setup = sink.plan_setup()
    sink.setup(setup)
    job.commit([job.write("b@", setup.data), job.write("a@", setup.data)], setup.data, 1, final=True)
    trial.holds([*rows_of("a@"), *rows_of("b@")])


def _unseen(trial: _Try) -> None:
    setup = trial.set_up()
    piece = trial.job.write("a@", setup.data)
    if setup.visible is Visible.STAGED:
        return  # the sink declares that rows are visible as soon as they are staged
    trial.holds([])
    if setup.visible is Visible.FINAL:
        trial.job.commit([piece], setup.data, 1)
        trial.holds([])
        return
    trial.job.commit([piece], setup.data, 1, final=True)
    trial.holds(rows_of("a@"))


def _given_up(trial: _Try) -> None:
    setup = trial.set_up()
    table = trial.job.table
    broken = replace(trial.job, table=replace(table, columns=table.columns[:-1]))
    try:
        broken.write("a@", setup.data)  # a batch that does not fit the table
    except BrokenPropertyError:
        raise
    except Exception:  # noqa: BLE001 - that it is refused is right; how is the plugin's
        pass
    trial.job.give_up("a@1", setup.data)
    trial.job.commit([trial.job.write("b@", setup.data)], setup.data, 1, final=True)
    trial.holds(rows_of("b@"))
    trial.nothing_left()


def _two_attempts(trial: _Try) -> None:
    setup = trial.set_up()
    trial.job.write("a@", setup.data)
    second = trial.job.write("a@", setup.data, attempt=1)
    trial.job.commit([second], setup.data, 1, final=True)
    trial.holds(rows_of("a@"))
    trial.nothing_left()


def _repeated(trial: _Try) -> None:
    setup = trial.set_up()
    first = [trial.job.write("a@", setup.data)]
    second = [trial.job.write("a@1", setup.data)]
    for pieces, checkpoint in ((first, 1), (first, 1), (second, 2), (first, 1), (second, 2)):
        trial.job.commit(pieces, setup.data, checkpoint, final=checkpoint == 2)
    trial.holds([*rows_of("a@"), *rows_of("a@1")])


def _aborted(trial: _Try) -> None:
    setup = trial.set_up()
    pieces = [trial.job.write(unit, setup.data) for unit in CHECKPOINTS[0]]
    trial.job.committer().abort(pieces, trial.job.context(setup.data, 1, final=True))
    if setup.visible is not Visible.STAGED:
        trial.holds([])
    trial.nothing_left()


def _fenced(trial: _Try) -> None:
    """Check that an old driver, which may not notice that a newer one has taken over, changes nothing."""
    setup = trial.set_up()
    newer = replace(trial.job, incarnation=2)
    newer.committer().recover(newer.context(setup.data, 0))
    with suppress(Exception):
        piece = trial.job.write("a@", setup.data)
        trial.job.commit([piece], setup.data, 1)
    newer.commit([newer.write("b@", setup.data, epoch=1)], setup.data, 2, final=True)
    trial.holds(rows_of("b@"))


KIT = "kit."
"""Prefix of the kit's own failpoints; all others belong to the sink."""


def _points(target: SinkTarget, folder: Path, once: bool) -> tuple[list[str], Finding]:
    """The failpoints that a whole run passes, and whether it reaches its end: it passes the data between its steps
    through a journal, as text."""

    def life() -> None:
        trial = _Try(target, folder)
        trial.job.run()
        trial.holds(all_rows(), once=once)

    with failpoints.watched() as seen:
        whole = tried("a whole run reaches its end, with its data passed through a journal", life)
    own = {point.partition(".")[2] for point in seen if not point.startswith(KIT)}
    passed = [point for point in seen if not (point.startswith(KIT) and point.removeprefix(KIT) in own)]
    return list(dict.fromkeys(passed)), whole


def _killed(trial: _Try, point: str, once: bool) -> None:
    if not trial.job.killed_at(point):
        raise BrokenPropertyError("the failpoint was not passed")
    replace(trial.job, incarnation=2).run()
    trial.holds(all_rows(), once=once)
    trial.nothing_left()
