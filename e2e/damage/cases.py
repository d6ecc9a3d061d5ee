"""One case: put back, damage one stored thing, go on with the job, look at every row."""

from __future__ import annotations

import random
import signal
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from e2e.crash_sweep.judge import content
from e2e.damage.scenarios import Kept, Scenario
from e2e.damage.stores import JOB
from e2e.damage.things import damage
from seatunnel_py import app
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.home import Home
from seatunnel_py.work.unit import FailureKind

SECONDS_MAX = 300  # a second on an idle machine


class Verdict(StrEnum):
    REFUSED = "refused"
    EXACT = "exact"
    LOST = "lost"
    DOUBLED = "doubled"
    TRACEBACK = "traceback"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``what`` was damaged, and how; ``said``: what the restore said, or what is wrong with the rows."""

    scenario: str
    seed: int
    chain: str
    what: str
    kind: str
    verdict: str
    said: str


def case(scenario: Scenario, seed: int) -> Outcome:
    """The case of this number."""
    chance = random.Random(f"{scenario.name} {seed}")
    kept = scenario.chosen(chance)
    done = damage(chance, kept.things, scenario.others(kept))
    scenario.write(kept.things, done.things)
    verdict, said = restored(scenario, kept)
    return Outcome(scenario.name, seed, " > ".join(kept.chain), done.what, done.kind, verdict.value, said[-600:])


def restored(scenario: Scenario, kept: Kept) -> tuple[Verdict, str]:
    """What became of it, and what was said."""
    try:
        with _at_most(SECONDS_MAX):
            said = _restore(scenario)
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        return Verdict.TRACEBACK, traceback.format_exc()[-900:]
    wanted = Counter(scenario.damaged.recipe.wanted())
    surplus, missing = [], []
    for target, before in zip(scenario.damaged.recipe.targets, kept.rows, strict=True):
        there = Counter(target.rows(kept.place))
        surplus += content((), list((there - wanted).elements()))
        missing += content(((Counter(before) if said else wanted) - there).elements(), ())
    if surplus:
        return Verdict.DOUBLED, f"{'; '.join(surplus)}; {said}"
    if missing:
        return Verdict.LOST, f"{'; '.join(missing)}; {said}"
    return (Verdict.REFUSED, said) if said else (Verdict.EXACT, "")


def _restore(scenario: Scenario) -> str:
    """Why it was refused; nothing where it has ended well. Raises what no plan foresees."""
    home = Home(scenario.place.home / ".seatunnel")
    options = app.RunOptions({}, JOB, restore=app.LATEST, local=True)
    try:
        receipt = app.run(scenario.place.home / "job.conf", options, home, lambda _: None, lambda _: None)
    except app.NothingToDo:
        return ""
    except SeaTunnelError as refused:
        return refused.message or "refused without a word"
    if receipt.exit_code == ExitCode.SUCCESS:
        return ""
    causes = [table.cause for table in receipt.tables if table.cause is not None]
    for cause in causes:
        if cause.kind is FailureKind.UNEXPECTED:
            raise AssertionError(f"{cause.message}: {cause.trace[-600:]}")
    assert causes, f"it failed without a cause: {Counter(table.state for table in receipt.tables)}"
    return causes[0].message


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    """A restore that hangs is none that is refused."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
