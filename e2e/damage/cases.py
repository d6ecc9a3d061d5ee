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
from pathlib import Path
from typing import Any

from e2e.crash_sweep.judge import content
from e2e.damage.kinds import damaged
from e2e.damage.scenarios import Kept, Scenario
from e2e.damage.stores import JOB
from seatunnel_py import app
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.home import Home
from seatunnel_py.work.unit import FailureKind

SECONDS_MAX = 300  # a second on an idle machine
NOT_STORED = {"lock", "job.log"}
"""What a driver holds, and what Spark says: nothing is read from them."""


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
    kept = chance.choice(scenario.kept)
    scenario.put_back(kept)
    what, kind = _damage(scenario, kept, chance)
    verdict, said = restored(scenario, kept)
    return Outcome(scenario.name, seed, " > ".join(kept.chain), what, kind, verdict.value, said[-400:])


def _damage(scenario: Scenario, kept: Kept, chance: random.Random) -> tuple[str, str]:
    """One file of the job's directory, or one thing in its store."""
    files = sorted(path for path in scenario.job.rglob("*") if path.is_file() and path.name not in NOT_STORED)
    held = dict(kept.held)
    names: list[Any] = [*files, *held, *held]  # a store has few things, all of which count
    one = chance.choice(names)
    if isinstance(one, Path):
        older = [other.home / one.relative_to(scenario.place.home) for other in scenario.kept]
        beside = [path.read_bytes() for path in (*files, *older) if path != one and path.is_file()]
        kind, content = damaged(chance, one.read_bytes(), beside)
        if content is None:
            one.unlink()
        else:
            one.write_bytes(content)
    else:
        beside = [data for key, data in held.items() if key != one]
        beside += [other.held[one] for other in scenario.kept if one in other.held]
        kind, content = damaged(chance, held[one], beside)
        held = {key: data for key, data in held.items() if key != one} | ({} if content is None else {one: content})
    if scenario.at is not None:
        scenario.at.put(held)
    return (str(one.relative_to(scenario.job)) if isinstance(one, Path) else f"{one[0]}+{one[1]}"), kind


def restored(scenario: Scenario, kept: Kept) -> tuple[Verdict, str]:
    """What became of it, and what was said."""
    try:
        with _at_most(SECONDS_MAX):
            said = _restore(scenario)
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        return Verdict.TRACEBACK, traceback.format_exc()[-900:]
    place = scenario.target(kept)
    found = [wrong for target in scenario.recipe.targets for wrong in _wrong(scenario, list(target.rows(place)))]
    if doubled := [wrong for wrong in found if " lost: " not in wrong]:
        return Verdict.DOUBLED, f"{'; '.join(doubled)}; {said}"
    if said:
        return Verdict.REFUSED, said
    return (Verdict.LOST, "; ".join(found)) if found else (Verdict.EXACT, "")


def _wrong(scenario: Scenario, rows: list[Any]) -> list[str]:
    return content(scenario.recipe.wanted(), rows)


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
