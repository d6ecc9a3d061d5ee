"""One case: put back, damage one stored thing, go on with the job, look at every row."""

from __future__ import annotations

import io
import json
import random
import signal
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from e2e.crash_sweep.judge import content
from e2e.damage.naming import names
from e2e.damage.scenarios import Kept, Scenario
from e2e.damage.stores import JOB
from e2e.damage.things import damage
from seatunnel_py import app
from seatunnel_py.cli.commands.run import performed
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import FailureKind

SECONDS_MAX = 300  # a second on an idle machine


class Verdict(StrEnum):
    REFUSED = "refused"
    EXACT = "exact"
    LOST = "lost"
    DOUBLED = "doubled"
    UNNAMED = "unnamed"
    EXIT_CODE = "exit code"
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
    if verdict is Verdict.REFUSED and not names(said, scenario, done.touched(kept.things)):
        verdict = Verdict.UNNAMED
    return Outcome(scenario.name, seed, " > ".join(kept.chain), done.what, done.kind, verdict.value, said[-1200:])


def restored(scenario: Scenario, kept: Kept) -> tuple[Verdict, str]:
    """What became of it, and what was said."""
    try:
        with _at_most(SECONDS_MAX):
            code, said = _restore(scenario)
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        return Verdict.TRACEBACK, traceback.format_exc()[-900:]
    if code != (ExitCode.FAILED if said else ExitCode.SUCCESS):
        return Verdict.EXIT_CODE, f"{code}: {said}"
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


def _restore(scenario: Scenario) -> tuple[int, str]:
    """The exit code of the command, and all that it said of why it was refused; nothing where it has ended well. Raises
    what no plan foresees."""
    home = Home(scenario.place.home / ".seatunnel")
    options = app.RunOptions({}, JOB, restore=app.LATEST, local=True)

    def run(listen: Any, arm: Any) -> Receipt:
        receipt = app.run(scenario.place.home / "job.conf", options, home, listen, arm)
        for cause in (table.cause for table in receipt.tables):
            if cause is not None and cause.kind is FailureKind.UNEXPECTED:
                raise AssertionError(f"{cause.message}: {cause.trace[-600:]}")
        return receipt

    with redirect_stdout(io.StringIO()) as out:
        code = performed(home, run, lambda _: "", as_json=True)
    told = json.loads(out.getvalue())
    return code, "" if told["state"] == "SUCCESS" else "\n".join(_sentences(told))


def _sentences(told: dict[str, Any]) -> Iterator[str]:
    """Whatever a refusal says, to people too."""
    targets = [into for table in told.get("tables", ()) for into in table["targets"]]
    causes = [one["cause"] for one in (*told.get("tables", ()), *targets) if one["cause"]]
    for one in (told, *told.get("problems", ()), *causes):
        yield from filter(None, (one.get("message"), one.get("remedy")))
    yield from told.get("changes", ())
    assert causes or "tables" not in told, f"it failed without a cause: {told}"


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
